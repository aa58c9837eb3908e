"""The folder for what can be made or fetched again."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_root() -> Path:
    """Where burn-qed keeps what it can make again; BURN_QED_CACHE moves it."""
    given = os.environ.get("BURN_QED_CACHE")
    return Path(given) if given else Path(platformdirs.user_cache_dir("burn-qed"))
