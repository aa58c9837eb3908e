"""How far a second encoder has moved the same states.

Some figures need both to have the same directions (a model and its continued training); the others
only compare which states are near to which, and are meant for any two encoders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NEAREST = 10
_MOST_COMPARED = 2000  # states whose neighbours are looked up: among these, all with all
_AT_ONCE = 1000  # states whose distances from all others are held in memory

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Drift:
    """From one encoder to another. `cosine` and `moved` are None where their widths differ."""

    cosine: float | None  # the mean over states
    cosine_low: float | None  # of the twentieth that turned most
    moved: float | None  # the mean distance moved, relative to the spread before
    cka: float  # linear centred kernel alignment: 1 is the same up to rotation and scale
    neighbours: float  # share of a state's nearest states that still are


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of each state. `cosine` is None where the encoders' widths differ."""

    cosine: Array | None
    neighbours: Array  # the share of its nearest, among these states, that still are


def moved_each(before: NDArray[np.float32], after: NDArray[np.float32]) -> Moved:
    """Of the same states, a row each."""
    one, other = before.astype(np.float64), after.astype(np.float64)
    return Moved(_cosines(one, other) if one.shape == other.shape else None, _kept(one, other))


def drift(before: NDArray[np.float32], after: NDArray[np.float32]) -> Drift:
    """Of the same states, a row each."""
    if len(before) != len(after) or len(before) < 2:
        raise ValueError("the same states are needed, and two at least")
    one, other = before.astype(np.float64), after.astype(np.float64)
    cosine = cosine_low = moved = None
    if one.shape == other.shape:
        turned = _cosines(one, other)
        cosine, cosine_low = float(turned.mean()), float(np.quantile(turned, 0.05))
        spread = float(np.linalg.norm(one - one.mean(axis=0), axis=1).mean())
        if spread > 0:
            moved = float(np.linalg.norm(other - one, axis=1).mean()) / spread
    return Drift(cosine, cosine_low, moved, _cka(one, other), _neighbours(one, other))


def _cosines(one: Array, other: Array) -> Array:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray((one * other).sum(axis=1) / lengths)


def _cka(one: Array, other: Array) -> float:
    x, y = one - one.mean(axis=0), other - other.mean(axis=0)
    if len(x) < max(x.shape[1], y.shape[1]):
        like_x, like_y = x @ x.T, y @ y.T
        shared = float((like_x * like_y).sum())
        own = float(np.linalg.norm(like_x) * np.linalg.norm(like_y))
    else:
        shared = float((np.linalg.norm(y.T @ x)) ** 2)
        own = float(np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))
    return shared / own if own > 0 else 0.0


def _neighbours(one: Array, other: Array) -> float:
    some = np.linspace(0, len(one) - 1, min(len(one), _MOST_COMPARED)).astype(int)
    return float(_kept(one[some], other[some]).mean())


def _kept(one: Array, other: Array) -> Array:
    count = min(NEAREST, len(one) - 1)
    first, second = _nearest(one, count), _nearest(other, count)
    kept = [len(set(a) & set(b)) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    return np.array(kept, dtype=np.float64) / count


def _nearest(rows: Array, count: int) -> NDArray[np.intp]:
    squares = (rows**2).sum(axis=1)
    found = []
    for begin in range(0, len(rows), _AT_ONCE):
        some = np.arange(begin, min(begin + _AT_ONCE, len(rows)))
        apart = squares[some, None] + squares[None, :] - 2 * rows[some] @ rows.T
        apart[some - begin, some] = np.inf
        found.append(np.argpartition(apart, count - 1, axis=1)[:, :count])
    return np.concatenate(found)
