"""How well energies distinguish states on a proof's path from their siblings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Group:
    """The energies of a state on a path and of its siblings."""

    positive: float
    negatives: tuple[float, ...]
    depth: int

    def __post_init__(self) -> None:
        if not self.negatives:
            raise ValueError("a group needs siblings")


@dataclass(frozen=True, slots=True)
class Metrics:
    """Figures over some groups. A tie is half a success, so that a constant energy equals chance."""

    groups: int
    energy_gap: float  # mean of the negatives minus the positive
    rank1: float  # share of groups whose positive is lowest
    chance: float  # what `rank1` would be by chance
    discrimination: float  # share of pairs in the right order
    active: float  # share of groups within a margin of 1


def metrics(groups: Sequence[Group]) -> Metrics:
    """All figures over groups, of which there must be at least one."""
    pairs = [(g.positive, n) for g in groups for n in g.negatives]
    return Metrics(
        groups=len(groups),
        energy_gap=fmean(fmean(g.negatives) - g.positive for g in groups),
        rank1=fmean(rank1(g) for g in groups),
        chance=fmean(1 / (1 + len(g.negatives)) for g in groups),
        discrimination=fmean(1.0 if p < n else 0.5 if p == n else 0.0 for p, n in pairs),
        active=fmean(min(g.negatives) < g.positive + 1 for g in groups),
    )


def by_depth(groups: Sequence[Group], deepest: int = 4) -> Mapping[int, Metrics]:
    """The figures for each depth, with those from `deepest` on together."""
    found: dict[int, list[Group]] = {}
    for group in groups:
        found.setdefault(min(group.depth, deepest), []).append(group)
    return {depth: metrics(found[depth]) for depth in sorted(found)}


def rank1(group: Group) -> float:
    best = min(group.negatives)
    if group.positive < best:
        return 1.0
    tied = sum(n == best for n in group.negatives)
    return 1 / (1 + tied) if group.positive == best else 0.0
