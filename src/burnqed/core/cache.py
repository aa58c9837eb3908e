"""The folder for what can be made or fetched again."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Literal

import platformdirs
from filelock import FileLock, Timeout

from burnqed.core.errors import SetupError
from burnqed.core.storage import remedy

LOCK_SECONDS = 3600.0


def cache_root() -> Path:
    """Where burn-qed keeps what it can make again; BURN_QED_CACHE moves it."""
    given = os.environ.get("BURN_QED_CACHE")
    return Path(given) if given else Path(platformdirs.user_cache_dir("burn-qed"))


def brought(kind: Literal["sets", "models", "values"], name: str) -> Path | None:
    """What a bundle brought under this name, if there is such a thing."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0] == "/":
        return None
    path = cache_root() / "brought" / kind / (f"{name}.json" if kind == "sets" else name)
    return path if os.path.exists(path) else None  # noqa: PTH110  (a name may be too long for one)


def lock(path: Path) -> FileLock:
    """Held while something is made, so that two processes do not make it at once."""
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
