"""Where a ranker is: its files, and what a name means. Nothing is loaded here."""

from __future__ import annotations

from pathlib import Path

from burnqed.core.cache import brought

BEST = "best"  # in a training's directory, the ranker that it left
WEIGHTS, CARD = "ranker.safetensors", "config.json"
CORE = "core"  # the ranker that comes with the package: what the library of core Lean taught
SHIPPED = Path(__file__).parent / CORE


def is_ranker(directory: Path) -> bool:
    return (directory / WEIGHTS).is_file()


def find_ranker(name: str) -> Path:
    """A ranker's directory: itself, that of its training, a name that a bundle brought it under, or
    that of the package's own.
    """
    path = Path(name)
    if is_ranker(path / BEST):
        return path / BEST
    if is_ranker(path):
        return path
    return brought("models", name) or (SHIPPED if name == CORE else path)
