"""The shape of embeddings: where provable states and others lie, and in how many directions.

`separation` says whether the two kinds can be told apart. These figures say why, or why not: whether
siblings are as far apart as strangers, whether a few directions hold everything, and whether places
are decided by the label or merely by the theorem or the depth.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from burnqed.value.sample import Sample
from burnqed.value.separation import separation

DEEPEST = 8  # deeper states are counted with these
_SAME = 1e-5  # of the usual distance: closer states are one to any head
_MOST_PAIRS = 20_000

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Distances:
    """Of states on a path to siblings that were searched in vain, and to such states of others."""

    siblings: Array
    strangers: Array


@dataclass(frozen=True, slots=True)
class AtDepth:
    """The states at one depth. Where there is only one kind, it has no distance from the other."""

    depth: int
    positives: int
    negatives: int
    centroid_l2: float | None  # between the means of both kinds
    sibling_l2: float | None  # the mean, of the pairs whose positive is here
    spread: float  # the root mean square distance from the states' own mean
    apart: float | None  # of their mean from that of all other depths


@dataclass(frozen=True, slots=True)
class Explained:
    """The shares of the variance that belong to the label, the depth and the theorem.

    Corrected for the number of groups: what says nothing is about 0, and may be a little below. None
    where there are as many groups as states, or one.
    """

    label: float | None
    depth: float | None
    theorem: float | None


@dataclass(frozen=True, slots=True)
class Geometry:
    """All figures of one encoder."""

    states: int
    theorems: int
    positives: int
    negatives: int
    both_labels: int
    centroid_l2: float
    probe: float | None
    norm_positive: float
    norm_negative: float
    norm_gap: float  # positive minus negative, in means
    sibling_l2: float
    stranger_l2: float | None
    same_as_sibling: float  # share of the pairs that no head can tell apart
    effective_rank: float  # exp of the entropy of the shares of variance
    directions_90: int  # that hold 90% of the variance
    first_direction: float  # share of the largest
    explained: Explained
    by_depth: tuple[AtDepth, ...]


def geometry(
    embeddings: NDArray[np.float32], sample: Sample, spectrum: Array, apart: Distances
) -> Geometry:
    """Of a row for each state of the sample; `spectrum` and `apart` as made here, from the same."""
    rows = embeddings.astype(np.float64)
    positive = np.array(sample.on_path)
    found = separation(embeddings, sample.on_path, sample.theorems)
    norms = np.linalg.norm(rows, axis=1)
    usual = float(np.sqrt(rows.var(axis=0).sum()))
    on_path, others = float(norms[positive].mean()), float(norms[~positive].mean())
    return Geometry(
        states=len(sample),
        theorems=len(set(sample.theorems)),
        positives=found.positives,
        negatives=found.negatives,
        both_labels=sample.both,
        centroid_l2=found.centroid_l2,
        probe=found.probe,
        norm_positive=on_path,
        norm_negative=others,
        norm_gap=on_path - others,
        sibling_l2=float(apart.siblings.mean()),
        stranger_l2=float(apart.strangers.mean()) if len(apart.strangers) else None,
        same_as_sibling=float((apart.siblings <= _SAME * usual).mean()),
        effective_rank=effective_rank(spectrum),
        directions_90=_directions(spectrum, 0.9),
        first_direction=float(spectrum[0]),
        explained=Explained(
            label=explained(rows, sample.on_path),
            depth=explained(rows, sample.depths),
            theorem=explained(rows, sample.theorems),
        ),
        by_depth=tuple(_by_depth(rows, positive, sample, apart)),
    )


def distances(embeddings: NDArray[np.float32], sample: Sample, seed: int = 0) -> Distances:
    """Each pair of siblings; and each of their positives with a negative of another theorem."""
    chance = random.Random(seed)
    negatives = [i for i, on_path in enumerate(sample.on_path) if not on_path]
    strangers: list[tuple[int, int]] = []
    for one, _ in sample.pairs[:_MOST_PAIRS]:
        other = chance.choice(negatives)
        if sample.theorems[other] != sample.theorems[one]:
            strangers.append((one, other))
    return Distances(_between(embeddings, sample.pairs), _between(embeddings, strangers))


def variance_spectrum(embeddings: NDArray[np.float32]) -> Array:
    """The shares of variance along its principal directions, the largest first."""
    rows = embeddings.astype(np.float64)
    rows -= rows.mean(axis=0)
    gram = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    values = np.clip(np.linalg.eigvalsh(gram)[::-1], 0.0, None)
    total = values.sum()
    return np.asarray(values / total if total > 0 else values)


def effective_rank(spectrum: Array) -> float:
    """How many directions there would be if all that count held the same (Roy and Vetterli)."""
    held = spectrum[spectrum > 0]
    return float(np.exp(-(held * np.log(held)).sum())) if len(held) else 0.0


def _directions(spectrum: Array, share: float) -> int:
    """How many of the largest hold this share of the variance."""
    return int(np.searchsorted(np.cumsum(spectrum), share)) + 1 if spectrum.any() else 0


def explained(rows: Array, groups: Sequence[Hashable]) -> float | None:
    """The share of the variance between groups, corrected for their number (epsilon squared)."""
    members: dict[Hashable, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    free = len(rows) - len(members)
    total = float(((rows - rows.mean(axis=0)) ** 2).sum())
    if free < 1 or len(members) < 2 or total == 0:
        return None
    within = sum(float(((rows[own] - rows[own].mean(axis=0)) ** 2).sum()) for own in members.values())
    return 1 - (within / free) / (total / (len(rows) - 1))


def _between(embeddings: NDArray[np.float32], pairs: Sequence[tuple[int, int]]) -> Array:
    left, right = [one for one, _ in pairs], [other for _, other in pairs]
    return np.array(np.linalg.norm(embeddings[left] - embeddings[right], axis=1), dtype=np.float64)


def _by_depth(
    rows: Array, positive: NDArray[np.bool_], sample: Sample, apart: Distances
) -> Iterable[AtDepth]:
    depths = np.minimum(sample.depths, DEEPEST)
    of_pair = depths[[one for one, _ in sample.pairs]]
    for depth in sorted(set(depths.tolist())):
        here = depths == depth
        own, mean = rows[here], rows[here].mean(axis=0)
        both = [rows[here & kind] for kind in (positive, ~positive)]
        siblings = apart.siblings[of_pair == depth]
        yield AtDepth(
            depth=depth,
            positives=len(both[0]),
            negatives=len(both[1]),
            centroid_l2=_means_apart(*both),
            sibling_l2=float(siblings.mean()) if len(siblings) else None,
            spread=float(np.sqrt(((own - mean) ** 2).sum(axis=1).mean())),
            apart=_means_apart(own, rows[~here]),
        )


def _means_apart(one: Array, other: Array) -> float | None:
    if not len(one) or not len(other):
        return None
    return float(np.linalg.norm(one.mean(axis=0) - other.mean(axis=0)))
