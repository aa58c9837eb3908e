"""A small effort first: what it stops waits until nothing better is left, and is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.core.types import Cost, Proposition, Rejected, StepResult, Theorem, TimedOut
from burnqed.lean.fake import FakeEnvironment, Script
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.policy.portfolio import Portfolio
from burnqed.search.best_first import SearchResult, Settings, best_first
from burnqed.search.budget import Budget
from burnqed.search.script import script_of, tactics_of
from burnqed.search.tree import EARLY, SPENT, Status
from burnqed.trajectories.labels import Labels, failed_for_certain
from tests.search.problems import ScriptedPolicy, as_data, provable
from tests.search.test_best_first import scripts

EFFORT = Settings(by_visits=True, effort=500)
NO = Rejected("no", "tactic")


async def search(
    script: Script,
    said: Mapping[str, float],
    needs: Mapping[str, int],
    nodes: int = 50,
    candidates: int = 9,
    batch: int = 1,
) -> SearchResult:
    found = await best_first(
        Theorem("t", Proposition("root")), FakeEnvironment(script, needs), ScriptedPolicy({}, said),
        None, Budget(nodes=nodes, candidates=candidates), settings=replace(EFFORT, batch=batch),
    )  # fmt: skip
    found.tree.check_invariants()
    return found


def told(found: SearchResult, target: str) -> list[tuple[str, str, str]]:
    (node,) = [n for n in found.tree.nodes if n.goals[0].target == target]
    return [(e.candidate.tactic, e.result, e.error) for e in node.edges]


async def test_a_cheap_proof_spares_the_costly_tactics() -> None:
    script: Script = {"root": {"quick": (), "slow": ()}}
    found = await search(script, {"slow": -1.0, "quick": -2.0}, {"slow": 900})
    assert tactics_of(script_of(found.tree)) == ["quick"]
    assert [result for _, result, _ in told(found, "root")] == ["timeout", "closed"]


async def test_what_was_stopped_waits_for_its_turn_and_then_has_all() -> None:
    script: Script = {"root": {"to": ("a",), "slow": ()}, "a": {"quick": NO}}
    found = await search(script, {"to": -0.1, "slow": -2.0, "quick": -0.5}, {"slow": 900})
    assert tactics_of(script_of(found.tree)) == ["slow"]
    assert told(found, "a"), "the new state was better"
    assert told(found, "root")[-1] == ("slow", "closed", "")
    assert ("slow", "timeout", EARLY) in told(found, "root")


def labels(found: SearchResult) -> dict[tuple[str, str, str], str]:
    """By the goal, the tactic, and its result or what stopped it."""
    of = Labels(found.tree, verified=False)
    return {
        (e.source.goals[0].target, e.candidate.tactic, e.error if e.result == "timeout" else e.result):
            of.label(e)
        for e in found.tree.edges()
    }  # fmt: skip


async def test_what_waits_is_no_dead_end_and_no_negative() -> None:
    script: Script = {"root": {"to": ("a",)}, "a": {"slow": NO}}
    found = await search(script, {"to": -0.1, "slow": -0.2}, {"slow": 900}, nodes=1)
    assert (found.limit, found.tree.root.status) == ("nodes", Status.EXPANDED)
    of = labels(found)
    assert of["root", "to", "advanced"] == "unknown"
    assert of["root", "slow", EARLY] == "unknown"
    assert failed_for_certain(found.tree) == set()


async def test_tried_again_in_vain_it_is_a_dead_end() -> None:
    script: Script = {"root": {"to": ("a",)}, "a": {"slow": NO}}
    found = await search(script, {"to": -0.1, "slow": -0.2}, {"slow": 900})
    assert found.limit == "candidates"
    assert [node.status for node in found.tree.nodes] == [Status.FAILED, Status.FAILED]
    assert set(labels(found).values()) == {"negative"}
    assert failed_for_certain(found.tree) == {0, 1}


async def test_stopped_again_by_all_heartbeats_it_is_unknown() -> None:
    never = TimedOut(1.0, deterministic=True)
    script: Script = {"root": {"to": ("a",)}, "a": {"slow": never}}
    found = await search(script, {"to": -0.1, "slow": -0.2}, {"slow": 9000})
    assert ("slow", "timeout", SPENT) in told(found, "a")
    assert failed_for_certain(found.tree) == set()
    of = labels(found)
    assert of["a", "slow", SPENT] == of["a", "slow", EARLY] == of["root", "to", "advanced"]
    assert of["root", "to", "advanced"] == "unknown"


# The heartbeats that a stopped tactic reports say which limit stopped it.
@pytest.mark.parametrize(
    ("heartbeats", "early"), [(None, True), (500, True), (4000, True), (499, False), (20, False)]
)
async def test_a_limit_of_its_own_is_not_the_efforts(heartbeats: int | None, early: bool) -> None:
    class Environment(FakeEnvironment):
        async def apply_batch(self, *args: object, **kwargs: object) -> list[StepResult]:
            return [TimedOut(0.1, True, cost=Cost(0.1, heartbeats))]

    theorem, policy = Theorem("t", Proposition("g")), ScriptedPolicy({}, {"slow": -1.0})
    found = await best_first(
        theorem, Environment({"g": {}}), policy, None, Budget(nodes=1), settings=EFFORT
    )
    assert found.tree.root.edges[0].early is early


# `exact?` ends when a tenth of its heartbeats is left, and says only that it found nothing.
@pytest.mark.parametrize(("heartbeats", "early"), [(None, False), (300, False), (451, True)])
async def test_a_failure_near_the_limit_says_nothing(heartbeats: int | None, early: bool) -> None:
    class Environment(FakeEnvironment):
        async def apply_batch(self, *args: object, **kwargs: object) -> list[StepResult]:
            return [Rejected("could not close the goal", "tactic", cost=Cost(0.1, heartbeats))]

    theorem, policy = Theorem("t", Proposition("g")), ScriptedPolicy({}, {"exact?": -1.0})
    one, more = [
        await best_first(
            theorem, Environment({"g": {}}), policy, None, Budget(nodes=nodes), settings=EFFORT
        )
        for nodes in (1, 9)
    ]
    assert (one.tree.root.edges[0].early, bool(failed_for_certain(one.tree))) == (early, not early)
    assert [edge.result for edge in more.tree.root.edges][-1] == "rejected", "in the end it has all"


needs = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([100, 900]))


@given(script=scripts, needs=needs, candidates=st.integers(1, 4))
@settings(max_examples=200, deadline=None)
async def test_it_finds_what_there_is(script: Script, needs: dict[str, int], candidates: int) -> None:
    """With a budget that suffices nothing is missed: effort only changes the order."""
    script = {**script, "root": script["g0"]}
    found = await search(script, dict.fromkeys("abcd", -1.0), needs, 1000, candidates)
    assert found.tree.proved == provable(script, "root")
    assert found.tree.proved or found.limit == "candidates"


@given(
    script=scripts, needs=needs, nodes=st.integers(1, 6), candidates=st.integers(1, 4),
    bunch=st.integers(1, 3), batch=st.integers(1, 3),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
async def test_a_smaller_budget_is_the_beginning_of_a_larger_one(
    script: Script, needs: dict[str, int], nodes: int, candidates: int, bunch: int, batch: int
) -> None:
    script = {**script, "root": script["g0"]}
    said = {"a": -0.1, "b": -0.7, "c": -1.5, "d": -3.0}
    with patch("burnqed.search.best_first.BUNCH", bunch):
        small, again, large = [
            await search(script, said, needs, most, candidates, batch)
            for most in (nodes, nodes, nodes + 3)
        ]
    assert as_data(small.tree) == as_data(again.tree)
    assert small.tree.proved == (large.tree.proved and large.nodes <= nodes)
    assert tried(small, nodes) == tried(small, nodes + 3) == tried(large, nodes)


def tried(found: SearchResult, nodes: int) -> list[tuple[str, str, str]]:
    """What was tried at which goals within so many nodes of the budget, and what came of it."""
    return [
        (edge.source.goals[0].target, edge.candidate.tactic, edge.error or edge.result)
        for edge in found.tree.edges()
        if edge.spent <= nodes
    ]


# ------------------------------------------------------------------------------------ in Lean


async def test_lean_stops_early_and_proves_with_all(lean_pool: Pool) -> None:
    """With so small an effort much is stopped; the proof is found all the same."""
    theorem = Theorem("t", Proposition("∀ a b : Nat, (a + b) * (a + b) = a * a + 2 * a * b + b * b"))
    async with open_session(lean_pool, 4000) as session:
        found = await best_first(
            theorem, session, Portfolio(), None, Budget(nodes=20, candidates=12),
            settings=Settings(by_visits=True, effort=1),
        )  # fmt: skip
    assert found.tree.proved
    early = [edge for edge in found.tree.edges() if edge.early]
    assert any(edge.retried for edge in early)
    assert all(edge.cost is not None and (edge.cost.heartbeats or 0) >= 1 for edge in early)
