"""Files and directories are there whole, or as they were before."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from burnqed.core import files
from burnqed.core.errors import CorruptError, InfrastructureError, InputError
from burnqed.core.files import (
    publish,
    publish_directory,
    publish_json,
    read_object,
    recover,
    sole_writer,
)


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow beyond 100 bytes. Python ignores the signal, so that a write fails.

    For as short as can be: what pytest itself writes may go to a file that is larger.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_publish_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "made" / "file.json"
    publish(path, "a longer text")
    publish(path, "∀ short")
    assert path.read_text(encoding="utf-8") == "∀ short"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]


def test_a_folder_that_may_not_be_read_can_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.open

    def closed(path: object, flags: int, *more: object, **named: object) -> int:
        if path == tmp_path:
            raise PermissionError(13, "Permission denied")
        return really(path, flags, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", closed)
    publish(tmp_path / "file.json", "{}")
    assert (tmp_path / "file.json").read_text() == "{}"


def test_a_full_disk_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    publish(path, "before")
    told = f"cannot write {path}: File too large"
    with pytest.raises(InfrastructureError, match=told) as caught, full_disk():
        publish(path, "x" * 1000)
    assert "ulimit -f" in caught.value.hint
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_a_rename_that_fails_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(InfrastructureError, match="cannot write"):
        publish(tmp_path / "taken", "text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_a_file_where_a_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write"):
        publish(tmp_path / "file" / "manifest.json", "{}")


def test_text_that_cannot_be_written_leaves_no_temporary_file(tmp_path: Path) -> None:
    """Not the disk's fault, so it is not an InfrastructureError; and it leaves no litter either."""
    with pytest.raises(UnicodeEncodeError):
        publish(tmp_path / "file.json", "\ud800")
    assert list(tmp_path.iterdir()) == []


def test_two_processes_do_not_write_the_same_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    replace = Path.replace

    def look(self: Path, target: Path) -> Path:
        seen.add(self.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", look)
    for pid in (1, 2):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        publish(tmp_path / "file.json", json.dumps(pid))
    assert len(seen) == 2


def test_json_that_people_can_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    publish_json(path, {"∀": [1]})
    assert path.read_text(encoding="utf-8") == '{\n  "∀": [\n    1\n  ]\n}\n'
    assert read_object(path) == {"∀": [1]}


@pytest.mark.parametrize("damage", [b"", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_object_is_told(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "file.json").write_bytes(damage)
    with pytest.raises(CorruptError, match=r"cannot read .*file\.json") as caught:
        read_object(tmp_path / "file.json", "make it again", InputError("absent"))
    assert caught.value.hint == "make it again"


def test_what_is_not_there_is_told_as_the_caller_wants(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        read_object(tmp_path / "file.json", absent=InputError("absent"))
    with pytest.raises(CorruptError, match="No such file"):
        read_object(tmp_path / "file.json")


def test_there_is_one_writer(tmp_path: Path) -> None:
    lock = tmp_path / "made" / ".lock"
    another = pytest.raises(InputError, match=f"{tmp_path} is being written by another")
    with sole_writer(lock, tmp_path), another, sole_writer(lock, tmp_path):
        pass
    with sole_writer(lock, tmp_path):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write to"):
        sole_writer(tmp_path / "file" / ".lock", tmp_path).__enter__()


def test_a_directory_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "checkpoint"

    def write(text: str) -> Any:
        return lambda directory: (directory / "file").write_text(text)

    def fails(directory: Path) -> None:
        (directory / "file").write_text("half")
        raise OSError(28, "No space left on device")

    publish_directory(target, write("one"))
    with pytest.raises(InfrastructureError, match="No space left"):
        publish_directory(target, fails)
    assert (target / "file").read_text() == "one"
    publish_directory(target, write("two"))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    # Killed between the two renames: the old one is taken back.
    target.rename(files._beside(target, "old"))
    write("half")(_made(files._beside(target, "new")))
    recover(target)
    assert (target / "file").read_text() == "two"
    publish_directory(target, write("three"))
    assert (target / "file").read_text() == "three"
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory
