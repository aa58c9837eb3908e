"""Labels of results in tables and plots."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from burnqed.evaluation.results import RESULT


def labels_of(paths: Sequence[Path]) -> list[str]:
    """The shortest endings that distinguish the paths, without the ending that all share.

    A path that is given twice gets a number.
    """
    parts = [_parts(path) for path in paths]
    while len(set(parts)) > 1 and all(len(p) > 2 for p in parts) and len({p[-1] for p in parts}) == 1:
        parts = [p[:-1] for p in parts]
    labels: list[str] = []
    for mine in parts:
        others = [other for other in parts if other != mine]
        label = str(Path(*mine[-_needed(mine, others) :]))
        numbers = (f"{label} ({number})" for number in range(2, len(parts) + 1))
        labels.append(label if label not in labels else next(n for n in numbers if n not in labels))
    return labels


def _parts(path: Path) -> tuple[str, ...]:
    # Not `resolve`: users know a link by its own name.
    whole = Path(os.path.abspath(path))  # noqa: PTH100
    if whole.name == RESULT:
        return whole.parent.parts
    return whole.with_suffix("").parts if whole.suffix == ".json" else whole.parts


def _needed(mine: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> int:
    """How many trailing parts it takes to differ from every other path."""
    enough = (k for k in range(1, len(mine)) if all(other[-k:] != mine[-k:] for other in others))
    return next(enough, len(mine))
