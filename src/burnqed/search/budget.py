"""The budget of a search, and its only clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

# Why a search ended without a proof: a budget ran out, or nothing was left to try within it.
Limit = Literal["nodes", "depth", "seconds", "candidates"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one search. A node is spent with all candidates of a state, or a share of several.

    `seconds` is off by default, so that a seed gives the same result on every machine.
    """

    nodes: int = 100
    depth: int = 50
    candidates: int = 8
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.depth < 1 or self.candidates < 1:
            raise ValueError("a budget has at least one node, one step of depth and one candidate")


class Meter:
    """Counts what a search has spent of its budget."""

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self._clock = clock
        self._begun = clock()
        self.nodes = 0  # with the one that is begun
        self._used = Fraction()

    def begin(self, share: Fraction) -> None:
        """A visit at which this share of a state's candidates are tried. It is part of one node."""
        self.nodes = int(self._used) + 1
        self._used += share

    @property
    def seconds(self) -> float:
        return self._clock() - self._begun

    @property
    def left(self) -> float | None:
        """Seconds that are left; None without a limit."""
        return None if self.budget.seconds is None else self.budget.seconds - self.seconds

    def spent(self) -> Limit | None:
        """The budget that allows no further node, if one is used up."""
        if self._used >= self.budget.nodes:
            return "nodes"
        if self.budget.seconds is not None and self.seconds >= self.budget.seconds:
            return "seconds"
        return None
