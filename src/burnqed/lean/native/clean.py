"""Finds REPLs in the cache that were compiled and are not used any more.

CACHE/native/DIGEST      of a Lean that is gone or was replaced, or of another REPL
CACHE/native/new-*       of an interrupted compilation
CACHE/repl               of versions that elaborated the REPL at each start
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from burnqed.core.cache import cache_root
from burnqed.lean.embedded.clean import (
    UNFINISHED,
    Leftover,
    listed,
    lock_of,
    looked_at,
    used_by_processes,
)
from burnqed.lean.native import program
from burnqed.lean.native.found import NativeLean


def leftovers() -> list[Leftover]:
    """All leftovers, ordered by name."""
    used = used_by_processes(cache_root().resolve())
    return [looked_at(one, used) for one in _leftovers()]


def _leftovers() -> Iterator[Leftover]:
    lock = lock_of(program.compile_lock())
    for path in listed(program.folder()):
        if path.name.startswith(UNFINISHED):
            yield Leftover("unfinished", (path,), (lock,))
        elif path != lock and not _is_current(path):
            yield Leftover("REPL", (path,), (lock,))
    if (older := cache_root() / "repl").is_dir():
        yield Leftover("REPL", (older,), ())


def _is_current(path: Path) -> bool:
    """Whether it is whole, and what its Lean would start now."""
    if (known := program.manifest(path)) is None:
        return False
    try:
        lean = NativeLean(Path(known["binary"]), Path(known["prefix"]), known["lean"], {})
        return program.location(lean) == path
    except (OSError, KeyError):
        return False
