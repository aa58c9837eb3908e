"""The fix for a file that cannot be written is that of the error, and of the place that is to blame."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from burnqed.core.storage import open_to_all_as_usual, remedy
from tests.cli.in_process import burn_qed
from tests.rights import bound_by_permissions


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "free some space at {here}, or write elsewhere"),
        (errno.EDQUOT, "free some space at {here}, or write elsewhere"),
        (errno.EACCES, "you may not write to {here}: change its permissions, or write elsewhere"),
        (errno.EPERM, "you may not write to {here}: change its permissions, or write elsewhere"),
        (errno.EROFS, "{here} is on a file system that is read-only: write elsewhere"),
        (errno.ENOTDIR, "{here} is not a folder: write elsewhere"),
        (errno.EISDIR, "{here}/new/file is a folder: write elsewhere"),
        (errno.ENAMETOOLONG, "give it a shorter name"),
        (errno.EIO, "write elsewhere"),
    ],
)
def test_each_error_has_its_own_fix(tmp_path: Path, number: int, told: str) -> None:
    found = remedy(OSError(number, os.strerror(number)), tmp_path / "new" / "file", "write elsewhere")
    assert found == told.format(here=tmp_path)
    assert ("space" in found) == (number in (errno.ENOSPC, errno.EDQUOT))


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_files_get_what_the_umask_gives(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        (tmp_path / "deep").mkdir()
        made = [tmp_path / "weights", tmp_path / "deep" / "weights"]
        for path in made:
            path.touch(mode=0o600)
        open_to_all_as_usual(tmp_path)
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in made] == [0o666 & ~umask] * 2
    assert {path.name for path in tmp_path.iterdir()} == {"weights", "deep"}


def test_of_a_read_only_folder_nobody_says_that_it_is_full(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text(
        '{"name": "a", "formal_statement": "theorem a : 1 = 1 := by"}\n'
    )
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    out = closed / "deep" / "set.json"
    with bound_by_permissions():
        done = burn_qed("data", "index", "--jsonl", tmp_path / "some.jsonl", "--out", out, code=3)
    assert f"cannot write {out}: Permission denied" in done.stderr
    assert f"fix: you may not write to {closed}: change its permissions" in done.stderr
    assert "space" not in done.stderr
