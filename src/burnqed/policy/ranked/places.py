"""Where a ranker is: its files, and what a name means. Nothing is loaded here."""

from __future__ import annotations

from pathlib import Path

from burnqed.core.cache import brought

BEST = "best"  # in a training's directory, the ranker that it left
WEIGHTS, CARD = "ranker.safetensors", "config.json"


def is_ranker(directory: Path) -> bool:
    return (directory / WEIGHTS).is_file()


def find_ranker(name: str) -> Path:
    """A ranker's directory: itself, that of its training, or a name that a bundle brought it under."""
    path = Path(name)
    if is_ranker(path / BEST):
        return path / BEST
    carried = None if is_ranker(path) else brought("models", name)
    return carried or path
