"""How far apart an encoder keeps states on proofs' paths and states that were searched in vain.

A head can only tell apart what its encoder does. Training the encoder further may move the two kinds
closer together until no head can, and these figures show it before a search does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_FOLDS = 5
_RIDGE = 0.1  # of the probe, relative to the mean square of a feature times the states
_LEAST_SIGMA = 1e-6

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Separation:
    """Of positive and negative states: the distance of their means, and how well a line divides them.

    `probe` is the balanced accuracy (0.5 is chance) of a linear probe on theorems that it did not learn
    from; None where there are too few theorems to say.
    """

    positives: int
    negatives: int
    centroid_l2: float
    probe: float | None


def separation(
    embeddings: NDArray[np.float32], on_path: Sequence[bool], theorems: Sequence[str]
) -> Separation:
    """Of these states, a row each: whether it is on a proof's path, and of which theorem it is."""
    rows, positive = embeddings.astype(np.float64), np.array(on_path, dtype=bool)
    if positive.all() or not positive.any():
        raise ValueError("states of both kinds are needed")
    apart = rows[positive].mean(0) - rows[~positive].mean(0)
    return Separation(
        positives=int(positive.sum()),
        negatives=int((~positive).sum()),
        centroid_l2=float(np.linalg.norm(apart)),
        probe=probe_accuracy(rows, positive, theorems),
    )


def probe_accuracy(rows: Array, positive: NDArray[np.bool_], theorems: Sequence[str]) -> float | None:
    """Balanced accuracy of a linear probe, cross-validated: no theorem is in two folds."""
    folds = np.array([_fold(theorem) for theorem in theorems])
    right: list[NDArray[np.bool_]] = []
    asked: list[NDArray[np.bool_]] = []
    for fold in range(_FOLDS):
        inside, outside = folds == fold, folds != fold
        if not inside.any() or len(set(positive[outside])) < 2:
            continue
        said = _probe(rows[outside], positive[outside], rows[inside])
        right.append(said == positive[inside])
        asked.append(positive[inside])
    if not asked:
        return None
    correct, kind = np.concatenate(right), np.concatenate(asked)
    if kind.all() or not kind.any():
        return None
    return float((correct[kind].mean() + correct[~kind].mean()) / 2)


def _probe(known: Array, positive: NDArray[np.bool_], asked: Array) -> NDArray[np.bool_]:
    """Which states a least-squares line, drawn between known ones, takes for positive.

    Each kind weighs the same however many states it has. Solved in the smaller of both dimensions.
    """
    weight = np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum())
    mean = weight @ known
    sigma = np.sqrt(weight @ (known - mean) ** 2)
    usable = sigma > _LEAST_SIGMA * max(float(sigma.max()), _LEAST_SIGMA)
    scale = np.where(usable, 1 / np.where(usable, sigma, 1.0), 0.0)
    root = np.sqrt(weight)[:, None]
    x, y = (known - mean) * scale * root, np.where(positive, 1.0, -1.0) * root[:, 0]
    width = x.shape[1]
    ridge = _RIDGE * max(1.0, width / len(x))
    if len(x) < width:
        line = x.T @ np.linalg.solve(x @ x.T + ridge * np.eye(len(x)), y)
    else:
        line = np.linalg.solve(x.T @ x + ridge * np.eye(width), x.T @ y)
    return np.asarray((asked - mean) * scale @ line > 0)


def _fold(theorem: str) -> int:
    return int.from_bytes(hashlib.sha256(f"probe {theorem}".encode()).digest()[:4], "big") % _FOLDS
