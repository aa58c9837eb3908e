"""Finds and removes leftovers in the cache's folder for Lean, which this version does not use.

    CACHE/lean/ID            of another package, or rewritten by other code; with its snapshots
    CACHE/lean/new-*         of an interrupted installation
    …/snapshots/*            of another REPL or launcher, or with options; damaged; unfinished
    *.lock                   of files that no longer exist

Files that a running process has open, works in or was started with stay, and so do unfinished ones that
are being made.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from burnqed.core.errors import InfrastructureError
from burnqed.lean.embedded import install, snapshot
from burnqed.lean.embedded.install import Installation

Kind = Literal["installation", "snapshot", "REPL", "unfinished", "lock"]
_LOCK = ".lock"
UNFINISHED = "new-"  # the names of what is unfinished; whoever makes the next one removes it, too


@dataclass(frozen=True, slots=True)
class Leftover:
    """Files that belong together, and the locks that their maker holds.

    `holder` is a process that still needs them, if any. Then they stay.
    """

    kind: Kind
    paths: tuple[Path, ...]
    locks: tuple[Path, ...]
    size: int = 0
    holder: str = ""

    @property
    def name(self) -> str:
        return self.paths[0].name


def leftovers() -> list[Leftover]:
    """All leftovers of the embedded Lean, ordered by name."""
    current = install.location()
    used = used_by_processes(current.parent.resolve())
    found = [looked_at(one, used) for one in (*_installations(current), *_snapshots(current))]
    return sorted(found, key=lambda one: (one.kind, str(one.paths[0])))


def remove(one: Leftover) -> bool:
    """Remove it, unless it is held or being made by now. Whether it was removed."""
    if one.holder:
        return False
    try:
        with _holding(one.locks):
            for path in one.paths:
                _remove(path)
    except Timeout:
        return False
    except OSError as error:
        raise InfrastructureError(
            f"cannot remove {error.filename or one.paths[0]}: {error.strerror}",
            hint="ask its owner to remove it",
        ) from error
    return True


@contextmanager
def _holding(locks: Iterable[Path]) -> Iterator[None]:
    """Hold these locks. Raises `Timeout` if somebody else does."""
    with ExitStack() as stack:
        for path in locks:
            if path.exists():
                stack.enter_context(FileLock(path, timeout=0))
        yield


def _remove(path: Path) -> None:
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    # Rename first: a half-removed folder must not look like an installation.
    aside = path.with_name(f"{UNFINISHED}removed-{os.getpid()}-{path.name}")
    path.rename(aside)
    shutil.rmtree(aside)


# ----------------------------------------------------------------------------------- what is unused


def _installations(current: Path) -> Iterator[Leftover]:
    """Leftovers in the folder of all installations; `_snapshots` handles the current one."""
    there = listed(current.parent)
    locks = tuple(path for path in there if path.name.endswith(_LOCK))
    for path in there:
        if path.name.startswith(UNFINISHED):
            yield Leftover("unfinished", (path,), locks)  # whichever is being made there
        elif path not in locks and path != current:
            yield Leftover("installation", _existing(path, lock_of(path)), (lock_of(path),))
        elif path in locks and path != lock_of(current) and not _locked(path).exists():
            yield Leftover("lock", (path,), (path,))


def _snapshots(current: Path) -> Iterator[Leftover]:
    """Leftovers in the current installation: unused files, by what they belong to."""
    installation = Installation(current)
    by_name: dict[str, list[Path]] = {}
    for path in listed(installation.snapshots):
        by_name.setdefault(path.name.removesuffix(_LOCK).rsplit(".", 1)[0], []).append(path)
    for name, paths in by_name.items():
        main = snapshot.belongs_to(installation.snapshots, name)
        lock = lock_of(main)
        modules = tuple(name.rpartition("-")[0].split("-"))
        used = (
            snapshot.snapshot_path(installation, snapshot.Wanted(modules)),
            snapshot.code_path(installation),
        )
        if main in used and snapshot.is_whole(main):
            kept = (main, main.with_suffix(".json"), lock)
            paths = [path for path in paths if path not in kept]
        paths.sort(key=lambda path: (path != main, path == lock))  # what it is called by, first
        kind: Kind = "snapshot" if main in paths else "lock" if paths == [lock] else "unfinished"
        if paths:
            yield Leftover(kind, tuple(paths), (lock,))


def listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _existing(*paths: Path) -> tuple[Path, ...]:
    return tuple(path for path in paths if path.exists())


def lock_of(path: Path) -> Path:
    return path.with_name(path.name + _LOCK)


def _locked(lock: Path) -> Path:
    return lock.with_name(lock.name.removesuffix(_LOCK))


def _size(path: Path) -> int:
    inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    return sum(one.lstat().st_size for one in inside if one.is_symlink() or not one.is_dir())


# ------------------------------------------------------------------------------------- what is held


def looked_at(one: Leftover, used: Mapping[int, set[Path]]) -> Leftover:
    size = sum(map(_size, one.paths))
    ours = [path.resolve() for path in one.paths]
    for process, paths in used.items():
        if any(path == own or own in path.parents for path in paths for own in ours):
            return replace(one, size=size, holder=f"process {process}")
    try:
        with _holding(one.locks):
            return replace(one, size=size)
    except Timeout as taken:
        return replace(one, size=size, holder=f"whoever holds {Path(taken.lock_file).name}")
    except OSError:  # it belongs to another user: removing it will report that
        return replace(one, size=size)


def used_by_processes(folder: Path) -> dict[int, set[Path]]:
    """The files in a folder that processes have open or mapped, work in, or were started with."""
    found: dict[int, set[Path]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        used = {path for path in _paths_of(process, str(folder)) if folder in path.parents}
        if used and int(process.name) != os.getpid():
            found[int(process.name)] = used
    return found


def _paths_of(process: Path, folder: str) -> Iterator[Path]:
    """The paths that a process uses, as far as we may see them. It may end meanwhile."""
    with suppress(OSError):
        for word in (process / "cmdline").read_bytes().split(b"\0"):
            if b"/" in word and len(word) < 4096:  # alone, or as in --option=/…
                text = os.fsdecode(word)
                yield Path(os.path.realpath(text[text.index("/") :]))
    with suppress(OSError):
        yield (process / "cwd").readlink()
    with suppress(OSError):
        for handle in (process / "fd").iterdir():
            with suppress(OSError):
                yield handle.readlink()
    with suppress(OSError):
        for line in (process / "maps").read_text(errors="replace").splitlines():
            if folder in line:
                yield Path(line[line.index("/") :])
