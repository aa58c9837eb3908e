"""What a session knows of a state: how it was made, and where Lean has it now."""

from __future__ import annotations

import re
from dataclasses import dataclass

from burnqed.core.types import Goal, Theorem

_METAVARIABLE = re.compile(r"\?[\w.✝]+")

NOWHERE = (0, 0)  # workers count their processes from 1


@dataclass(frozen=True, slots=True)
class Step:
    parent: int
    goals: tuple[int, ...] | None  # by index, in the order given to the tactic; None: all
    tactic: str


@dataclass(slots=True)
class Record:
    """How a state was made, and where it is now."""

    origin: Theorem | Step
    goals: tuple[Goal, ...]
    home: tuple[int, int]  # (worker generation, Lean's id there)
    children: int = 0  # records that would be replayed through this one
    freed: bool = False


def shape_of(goals: tuple[Goal, ...]) -> list[str]:
    """What must be equal after a replay: the printed goals, up to names of metavariables."""
    return [_METAVARIABLE.sub("?", goal.text) for goal in goals]


def one_or_all(goals: tuple[int, ...] | None, count: int) -> tuple[int, bool]:
    """The goals for `goal.tactic`: the one to act on, and whether the others are included."""
    if goals is None:
        return 0, True
    first, *others = goals
    if others and others != [index for index in range(count) if index != first]:
        raise ValueError("Pantograph's own REPL gives a tactic one goal, or all of them")
    return first, bool(others)
