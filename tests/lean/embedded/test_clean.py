"""`burn-qed lean clean`: what this version does not use goes, what somebody uses stays."""

from __future__ import annotations

import json
import mmap
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from burnqed.lean.embedded import clean, install, snapshot
from tests.cli.in_process import burn_qed

OLD = "4.27.0-0123456789ab"


@pytest.fixture
def current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of this version, as far as files go, with two snapshots; all else is to go."""
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    root = install.location()
    (root / "library").mkdir(parents=True)
    (root / "library" / "Init.olean").write_bytes(b"i" * 100)
    snapshots = root / "snapshots"
    snapshots.mkdir()
    installation = install.Installation(root)
    lists = (("Init",), ("Init", "Std.Data"))
    memories = (snapshot.snapshot_path(installation, snapshot.Wanted(modules)) for modules in lists)
    for path in (snapshot.code_path(installation), *memories):
        path.write_bytes(b"m" * 1000)
        path.with_suffix(".json").write_text(json.dumps(install.record(path)))
        path.with_name(path.name + ".lock").touch()
    install.write_manifest(root)
    root.with_name(root.name + ".lock").touch()
    return root


def litter(current: Path) -> set[Path]:
    """One of each kind; the paths that should go."""
    folder, snapshots = current.parent, current / "snapshots"
    old = folder / OLD
    (old / "snapshots").mkdir(parents=True)
    (old / "snapshots" / "Init-aaaaaaaaaaaa.memory").write_bytes(b"o" * 5000)
    made = folder / "new-half"
    made.mkdir()
    (made / "library.tar.gz").write_bytes(b"n" * 300)
    files = [
        folder / f"{OLD}.lock",
        folder / "4.26.0-000000000000.lock",
        snapshots / "Init-bbbbbbbbbbbb.memory",
        snapshots / "Init-bbbbbbbbbbbb.json",
        snapshots / "Init-bbbbbbbbbbbb.memory.lock",
        snapshots / "Init-Std-cccccccccccc.memory.lock",
        snapshots / "Repl-eeeeeeeeeeee.code",
        snapshots / "Repl-eeeeeeeeeeee.json",
        snapshots / "Repl-eeeeeeeeeeee.code.lock",
        snapshots / "Repl-ffffffffffff.lean",
        snapshots / "Init-dddddddddddd.new",
        snapshots / "Init-dddddddddddd.lean",
        next(snapshots.glob("Init-Std.Data-*.memory")).with_suffix(".new"),
    ]
    for file in files:
        file.write_bytes(b"x" * 10)
    return {old, made, *files}


def everything(folder: Path) -> dict[Path, bytes | None]:
    return {path: None if path.is_dir() else path.read_bytes() for path in folder.rglob("*")}


def cleaned(*options: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(burn_qed("lean", "clean", "--json", *options, code=code).stdout)
    return found


def test_what_is_not_used_goes_and_nothing_else(current: Path) -> None:
    before = everything(current.parent)
    gone = litter(current)
    with_litter = everything(current.parent)
    shown = cleaned("--dry-run")
    assert everything(current.parent) == with_litter
    assert {path for one in shown["found"] for path in one["paths"]} == set(map(str, gone))
    kinds = sorted(one["kind"] for one in shown["found"])
    assert kinds == ["installation", "lock", "lock", "snapshot", "snapshot", *["unfinished"] * 4]
    sizes = {one["name"]: one["bytes"] for one in shown["found"]}
    assert (sizes[OLD], sizes["new-half"], sizes["Init-bbbbbbbbbbbb.memory"]) == (5010, 300, 30)
    done = cleaned("--yes")
    assert all(one["removed"] and not one["held_by"] for one in done["found"])
    assert everything(current.parent) == before
    assert cleaned("--yes")["found"] == []
    assert "nothing to remove" in burn_qed("lean", "clean").stdout
    assert install.faults(current, thorough=True) == []


@pytest.mark.parametrize("name", ["Init-Std.Data-*.memory", "Repl-*.code"])
def test_a_damaged_snapshot_is_not_kept(current: Path, name: str) -> None:
    damaged = next((current / "snapshots").glob(name))
    damaged.write_bytes(b"short")
    assert [one["name"] for one in cleaned("--yes")["found"]] == [damaged.name]
    assert not damaged.exists()


def test_nothing_is_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    assert cleaned("--yes")["found"] == []
    assert not (tmp_path / "cache").exists()


# ---------------------------------------------------------------------------------- what is used

WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"


@contextmanager
def process(code: str, *arguments: str, cwd: Path | None = None) -> Iterator[int]:
    """A process that has done what the code says, until the end."""
    command = [sys.executable, "-c", f"{code}\n{WAIT}", *arguments]
    with subprocess.Popen(
        command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child.pid
        child.communicate(timeout=30)


def works_in(old: Path) -> Any:
    return process("", cwd=old)


def has_open(old: Path) -> Any:
    return process(f"kept = open({str(old / 'file')!r})")


def has_mapped(old: Path) -> Any:
    code = f"import mmap; file = open({str(old / 'file')!r})\n"
    return process(code + "kept = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); file.close()")


def was_started_with(old: Path) -> Any:
    return process("", f"--allow-fs-read={old}")


@pytest.mark.parametrize("use", [works_in, has_open, has_mapped, was_started_with])
def test_what_a_process_uses_stays(current: Path, use: Callable[[Path], Any]) -> None:
    litter(current)
    old = current.parent / OLD
    (old / "file").write_bytes(b"f" * mmap.PAGESIZE)
    with use(old) as pid:
        done = cleaned("--yes", code=1)
        held = [one for one in done["found"] if not one["removed"]]
        assert [(one["name"], one["held_by"]) for one in held] == [(OLD, f"process {pid}")]
        assert (old / "file").exists()
    cleaned("--yes")
    assert not old.exists()


@pytest.mark.parametrize(
    ("lock", "kept"),
    [
        (f"{OLD}.lock", {OLD, "new-half"}),  # that set-up may be in any such folder
        ("CURRENT/snapshots/Init-dddddddddddd.memory.lock", {"Init-dddddddddddd.lean"}),
        ("CURRENT/snapshots/Repl-ffffffffffff.code.lock", {"Repl-ffffffffffff.lean"}),
    ],
)
def test_what_is_being_made_stays(current: Path, lock: str, kept: set[str]) -> None:
    litter(current)
    path = current.parent / lock.replace("CURRENT", current.name)
    code = f"from filelock import FileLock; held = FileLock({str(path)!r}); held.acquire()"
    with process(code):
        done = cleaned("--yes", code=1)
        assert {one["name"] for one in done["found"] if not one["removed"]} == kept
        assert all(one["held_by"] for one in done["found"] if not one["removed"])
    cleaned("--yes")
    assert cleaned("--yes")["found"] == []


def test_made_between_looking_and_removing(current: Path) -> None:
    litter(current)
    found = next(one for one in clean.leftovers() if one.kind == "installation")
    with process(
        "from filelock import FileLock\n"
        f"held = FileLock({str(current.parent / f'{OLD}.lock')!r}); held.acquire()"
    ):
        assert not clean.remove(found)
        assert (current.parent / OLD).is_dir()
    assert clean.remove(found)


def test_an_interrupted_removal_is_finished_next_time(
    current: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    litter(current)

    def fails(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", fails)
        done = burn_qed("lean", "clean", "--yes", code=3)
    assert "cannot remove" in done.stderr
    assert "Permission denied" in done.stderr
    assert not (current.parent / OLD).exists(), "what is half removed has no name that is used"
    cleaned("--yes")
    assert sorted(path.name for path in current.parent.iterdir()) == [
        current.name, f"{current.name}.lock",
    ]  # fmt: skip


# ---------------------------------------------------------------------------------- who is asked


def test_where_nobody_can_be_asked_nothing_is_removed(current: Path) -> None:
    gone = litter(current)
    for options in ((), ("--json",)):
        assert "--yes" in burn_qed("lean", "clean", *options, code=2).stderr
    assert all(path.exists() for path in gone)


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_it_asks(current: Path, answer: str, code: int) -> None:
    gone = litter(current)
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    command = [sys.executable, "-m", "burnqed", "lean", "clean"]
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code, done
    assert OLD in done.stdout
    assert "Remove 0.0 MB (9 items)?" in done.stdout
    assert all(path.exists() for path in gone) == (answer == "n")
