"""What a page shows of a search tree: its states and the tactics that worked, with their times.

A record of a search gives it (`web/tree`), and so does a search that runs (`serve/growing`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LINE = 160  # characters of a goal in the tree; a node's own page has all of it
WORKED = ("closed", "advanced")


@dataclass(frozen=True, slots=True)
class Edge:
    """A tactic that worked at `source`. A closed goal has no children."""

    source: int
    children: tuple[int, ...]
    tactic: str
    logprob: float | None
    at: float
    on_proof: bool


@dataclass(frozen=True, slots=True)
class Node:
    """A state. The record keeps no goals of a state that was never expanded."""

    id: int
    parent: int | None
    depth: int
    line: str  # the target of its first goal; "" if never expanded
    goals: int
    score: float | None
    energy: float | None
    seen: float  # seconds from the beginning of the search
    expanded: float | None
    closed: float | None
    failed: float | None
    tried: int
    worked: int
    on_proof: bool


def number(value: float | None) -> float | None:
    """The value as JSON can hold it."""
    return value if value is not None and math.isfinite(value) else None


def line_of(goal: str) -> str:
    """The target of a goal in one line."""
    _, mark, target = goal.rpartition("\n⊢ ")
    line = " ".join((target if mark else goal).removeprefix("⊢ ").split())
    return line if len(line) <= LINE else line[: LINE - 1] + "…"
