"""Told at some states, free at others."""

from __future__ import annotations

from burnqed.core.types import Candidate, Goal
from burnqed.search.detour import Detour
from tests.search.problems import ScriptedPolicy


async def test_told_states_have_one_candidate_and_the_others_the_policys() -> None:
    free = ScriptedPolicy({}, {"a": -1.0, "b": -2.0})
    told = Candidate("go", -0.5)
    policy = Detour(free, {"⊢ here": told})
    states = [[Goal("g", target)] for target in ("before", "here", "after")]
    every = [Candidate("a", -1.0), Candidate("b", -2.0)]
    assert await policy.propose(states, 8, 0.0, 0) == [every, [told], every]
    assert free.asked == [["before", "after"]]


async def test_where_all_is_told_nobody_is_asked() -> None:
    free = ScriptedPolicy({}, {"a": -1.0})
    policy = Detour(free, {"⊢ here": Candidate("go", 0.0)})
    assert await policy.propose([[Goal("g", "here")]], 8, 0.0, 0) == [[Candidate("go", 0.0)]]
    assert free.asked == []
