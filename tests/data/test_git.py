"""Files of a commit, as they were committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError, NetworkError, SetupError
from burnqed.data.fetch import fetch
from burnqed.data.git import fetch_commit, has_commit, read_commit
from tests.data.repositories import (
    ABSENT,
    FILES,
    committed,
    names,
    of_lean_files,
)

pytestmark = pytest.mark.usefixtures("folder")


def test_files_of_a_commit_by_path(folder: Path) -> None:
    files: dict[str, Any] = {"a/ü b.lean": "-- ∀\n", "a/sub/c.lean": "", "ab.lean": "x", "d": "no end"}
    commit = committed(folder / "upstream", files)
    assert fetch_commit(str(folder / "upstream"), commit, ["a"]) == {
        "a/sub/c.lean": "",
        "a/ü b.lean": "-- ∀\n",
    }
    assert read_commit(folder / "upstream", commit, ["d", "ab.lean"]) == {"ab.lean": "x", "d": "no end"}
    assert has_commit(folder / "upstream", commit)
    assert not has_commit(folder / "upstream", ABSENT)
    assert not has_commit(folder / "upstream" / "d", commit)
    assert not has_commit(folder / "absent", commit)


def test_a_file_that_is_no_text(folder: Path) -> None:
    (folder / "upstream").mkdir()
    (folder / "upstream" / "a.bin").write_bytes(b"\xff\x00")
    commit = committed(folder / "upstream", {"b": ""})
    with pytest.raises(InputError, match="is not text"):
        read_commit(folder / "upstream", commit, ["a.bin"])


def test_without_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be downloaded, nor any checkout be checked; a copy is still a copy."""
    commit = committed(folder / "upstream", FILES)
    benchmark = of_lean_files(folder / "upstream", commit)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(SetupError, match="there is no git") as caught:
        fetch(benchmark, None)
    assert not isinstance(caught.value, NetworkError)
    assert "--from" in caught.value.hint
    index = fetch(benchmark, folder / "upstream")
    assert names(index) == ["aime_1983_p9", "mathd_algebra_44"]
    assert "not checked" in index.revision
