"""This machine's Lean as one file, which nodes set theirs up from."""

from __future__ import annotations

from pathlib import Path

from burnqed.core.cache import cache_root, lock
from burnqed.lean.embedded import bundle, install
from burnqed.lean.embedded.progress import Progress


def packed_lean(progress: Progress) -> Path:
    """The bundle, made once and kept in the cache. Its sums are written last."""
    items = bundle.lean_items(install.ensure(progress))
    name = "-".join(Path(item.place).name for item in items)
    path = cache_root() / "cluster" / f"{name}.tar"
    held = lock(path)
    try:
        if not path.with_name(path.name + bundle.SUMS).is_file():
            bundle.pack(items, path, 0, progress)
    finally:
        held.release()
    return path
