"""Splits a state's goals into parts that can be proved independently."""

from __future__ import annotations

from collections.abc import Sequence

from burnqed.core.types import Goal

Part = tuple[int, ...]


def independent(goals: Sequence[Goal]) -> tuple[Part, ...]:
    """The goals in parts, by index: goals are together if they share metavariables.

    The parts are in the order of their first goals. A goal that is itself a metavariable of another one
    (`?w` in `p ?w`) is coupled with it. If Lean did not report what a goal depends on, all goals stay
    together.
    """
    if len(goals) <= 1 or any(goal.holes is None for goal in goals):
        return (tuple(range(len(goals))),)
    held = {hole for goal in goals for hole in goal.holes or ()}
    coupled = tuple(i for i, goal in enumerate(goals) if goal.holes or goal.name in held)
    parts: list[Part] = [(i,) for i in range(len(goals)) if i not in coupled]
    if coupled:
        parts.append(coupled)
    return tuple(sorted(parts))
