"""The cache: a folder of files that can be made or downloaded again."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Literal

import platformdirs
from filelock import FileLock, Timeout

from burnqed.core.errors import SetupError
from burnqed.core.storage import remedy

LOCK_SECONDS = 3600.0


def cache_root() -> Path:
    """The folder of the cache. BURN_QED_CACHE moves it."""
    given = os.environ.get("BURN_QED_CACHE")
    return Path(given) if given else Path(platformdirs.user_cache_dir("burn-qed"))


def brought(kind: Literal["sets", "models", "values"], name: str) -> Path | None:
    """What a bundle brought under this name, if anything."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0] == "/":
        return None
    path = cache_root() / "brought" / kind / (f"{name}.json" if kind == "sets" else name)
    return path if os.path.exists(path) else None  # noqa: PTH110  (a name may be too long for one)


def lock(path: Path) -> FileLock:
    """A lock, so that two processes do not make the same thing at once."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(f"{path}.lock", timeout=LOCK_SECONDS)
        held.acquire()
    except Timeout:
        raise SetupError(
            f"another process has been setting up {path.name} for an hour",
            hint=f"if none is running, delete {path}.lock",
        ) from None
    except OSError as error:
        raise SetupError(
            f"cannot write to the cache {path.parent}: {error.strerror}",
            hint=remedy(error, path, "set BURN_QED_CACHE to another folder"),
        ) from error
    return held


@contextmanager
def scratch_in(folder: Path, needed: float, what: str) -> Iterator[Path]:
    """A folder to make something in before it gets its name; there is room for so many bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SetupError(
            f"{free / 1e9:.1f} GB are free at {folder}, {what} needs {needed / 1e9:.1f}",
            hint="free some, or set BURN_QED_CACHE to another folder",
        )
    for old in folder.glob("new-*"):  # what was interrupted
        shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=folder) as scratch:
        yield Path(scratch)


@contextmanager
def making(root: Path, needed: float, what: str) -> Iterator[Path]:
    """A scratch folder; what is in its `made` at the end becomes `root`."""
    with scratch_in(root.parent, needed, what) as scratch:
        yield scratch
        if root.exists():
            shutil.rmtree(root)
        (scratch / "made").rename(root)
