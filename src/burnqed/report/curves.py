"""The curves of theorems proved against cost, as numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from burnqed.evaluation.metrics import wilson
from burnqed.evaluation.results import IterationResult


@dataclass(frozen=True, slots=True)
class Curve:
    """A step function: from `x[i]` on, `solved[i]` of `total` theorems are proved. The first x is 0.

    `total` includes theorems with errors: a curve without them would rise when something breaks.
    """

    x: tuple[float, ...]
    solved: tuple[int, ...]
    total: int

    @property
    def end(self) -> float:
        return self.x[-1]

    @property
    def rates(self) -> list[float]:
        return [solved / self.total if self.total else 0.0 for solved in self.solved]

    @property
    def band(self) -> list[tuple[float, float]]:
        """Wilson's 95% interval at each step."""
        return [wilson(solved, self.total) for solved in self.solved]


def by_nodes(result: IterationResult) -> Curve:
    """The curve against nodes per attempt, up to the largest budget."""
    theorems = result.largest.per_theorem
    proved = (float(t.nodes_used) for t in theorems if t.proved)
    return _curve(proved, result.largest.total, float(result.largest.budget))


def by_seconds(result: IterationResult) -> Curve:
    """The curve against seconds, up to the longest time of a theorem, proved or not."""
    theorems = result.largest.per_theorem
    proved = (t.time_secs for t in theorems if t.proved)
    return _curve(proved, result.largest.total, max((t.time_secs for t in theorems), default=0.0))


def _curve(costs: Iterable[float], total: int, end: float) -> Curve:
    ordered = sorted(costs)
    x = sorted({0.0, end, *ordered})
    return Curve(tuple(x), tuple(bisect_right(ordered, at) for at in x), total)
