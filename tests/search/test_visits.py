"""A node's candidates in several visits: the promising ones first, and nothing is lost for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.core.types import Candidate, Goal, Proposition, Rejected, Theorem
from burnqed.lean.fake import FakeEnvironment, Script
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.policy.portfolio import Portfolio
from burnqed.search.best_first import SearchResult, Settings, best_first
from burnqed.search.budget import Budget
from burnqed.search.script import script_of, tactics_of
from burnqed.search.tree import Status
from burnqed.search.trials import BUNCH
from burnqed.trajectories.labels import Labels, failed_for_certain
from tests.search.problems import ScriptedPolicy, as_data, provable
from tests.search.test_best_first import scripts

NO = Rejected("no", "tactic")
NOES = {f"no{i}": NO for i in range(BUNCH)}


class Priced(ScriptedPolicy):
    """Says the same at every goal, of the tactics that the script has there, and what tactics cost."""

    def __init__(self, said: Mapping[str, float], costs: Mapping[str, float] | None = None) -> None:
        super().__init__({}, said)
        self._costs = costs or {}
        self.script: Script | None = None

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        return [self._at(goals[0].target)[:n] for goals in states]

    def _at(self, target: str) -> list[Candidate]:
        here = self._for(target)
        if self.script is not None:
            here = [one for one in here if one.tactic in self.script.get(target, {})]
        return [replace(one, cost=self._costs.get(one.tactic, 0.0)) for one in here]


async def search(
    script: Script, policy: Priced, nodes: int = 50, candidates: int = 20, bunch: int = BUNCH,
    batch: int = 1,
) -> tuple[SearchResult, list[tuple[str, str]]]:  # fmt: skip
    environment = FakeEnvironment(script)
    policy.script = script
    with patch("burnqed.search.best_first.BUNCH", bunch):
        found = await best_first(
            Theorem("t", Proposition("root")), environment, policy, None,
            Budget(nodes=nodes, candidates=candidates),
            settings=Settings(batch=batch, by_visits=True),
        )  # fmt: skip
    found.tree.check_invariants()
    return found, environment.calls


def node_of(found: SearchResult, target: str) -> Status:
    (node,) = [node for node in found.tree.nodes if node.goals[0].target == target]
    return node.status


async def test_cheap_tactics_come_before_costly_ones_that_are_a_little_likelier() -> None:
    policy = Priced({"slow": -1.0, "quick": -1.5, "slow but likely": -0.1}, {"quick": -2.0})
    script: Script = {"root": dict.fromkeys(("slow", "quick", "slow but likely"), NO)}
    _, calls = await search(script, policy, bunch=1)
    assert [tactic for _, tactic in calls] == ["quick", "slow but likely", "slow"]


ON: Script = {"root": {"on": ("a",), "last": ()}, "a": {"on": ("b",)}, "b": {"on": NO}}


async def test_what_waits_comes_when_it_is_the_best_there_is_to_do() -> None:
    _, calls = await search(ON, Priced({"on": -0.1, "last": -2.0}), bunch=1)
    assert calls == [("root", "on"), ("a", "on"), ("b", "on"), ("root", "last")]
    _, calls = await search(ON, Priced({"on": -1.0, "last": -1.1}), bunch=1)
    assert calls == [("root", "on"), ("a", "on"), ("root", "last")]


async def test_a_costly_tactic_waits_longer() -> None:
    said = {"on": -1.0, "last": -1.1}
    _, calls = await search(ON, Priced(said, {"last": 2.0}), bunch=1)
    assert calls == [("root", "on"), ("a", "on"), ("b", "on"), ("root", "last")]


async def test_what_waits_is_no_dead_end_and_no_negative() -> None:
    chain: Script = {f"c{i}": {"on": (f"c{i + 1}",)} for i in range(9)}
    script: Script = {
        "root": {"to": ("a",), "along": ("c0",)}, **chain, "c9": {}, "a": {**NOES, "last": ()},
    }  # fmt: skip
    policy = Priced({"to": -0.1, "along": -0.2, "on": 0.0, **dict.fromkeys(NOES, -1.0), "last": -9.0})
    found, calls = await search(script, policy, nodes=4)
    assert ("a", "no0") in calls
    assert ("a", "last") not in calls
    assert (found.limit, node_of(found, "a")) == ("nodes", Status.EXPANDED)
    assert failed_for_certain(found.tree) == set()
    (to,) = [edge for edge in found.tree.root.edges if edge.candidate.tactic == "to"]
    assert Labels(found.tree, verified=False).label(to) == "unknown"
    more, _ = await search(script, policy)
    assert tactics_of(script_of(more.tree)) == ["to", "last"]


async def test_where_all_was_tried_in_vain_is_a_dead_end() -> None:
    script: Script = {"root": {"to": ("a",)}, "a": {**NOES, "last": NO}}
    policy = Priced({"to": -0.1, **dict.fromkeys(NOES, -1.0), "last": -9.0})
    found, _ = await search(script, policy)
    assert (found.limit, node_of(found, "a")) == ("candidates", Status.FAILED)
    assert failed_for_certain(found.tree) == {0, 1}


async def test_visits_are_parts_of_nodes() -> None:
    """With four of them at the root it has cost a node; what follows is the second node's."""
    noes = {f"no{i:02}": NO for i in range(4 * BUNCH - 1)}
    script: Script = {"root": {**noes, "on": ("a",)}, "a": {"close": ()}}
    said = {"on": -0.1, **dict.fromkeys(noes, -1.0), "close": -20.0}
    found, calls = await search(script, Priced(said), candidates=4 * BUNCH)
    assert calls[-1] == ("a", "close")
    assert (found.tree.proved, found.nodes, len(calls)) == (True, 2, 4 * BUNCH + 1)
    assert {edge.spent for edge in found.tree.root.edges} == {1}
    assert [edge.spent for edge in found.tree.edges() if edge.result == "closed"] == [2]
    one, calls = await search(script, Priced(said), nodes=1, candidates=4 * BUNCH)
    assert (one.limit, one.nodes, len(calls)) == ("nodes", 1, 4 * BUNCH)
    unlikely = {**said, **dict.fromkeys(noes, -30.0)}
    soon, calls = await search(script, Priced(unlikely), nodes=1, candidates=4 * BUNCH)
    assert (soon.tree.proved, soon.nodes, len(calls)) == (True, 1, BUNCH + 1)


async def test_what_was_dropped_while_nothing_wanted_it_comes_back() -> None:
    """`t` is reached beside `s`, which fails; then alone, when `d` below it was dropped."""
    script: Script = {
        "root": {"both": ("t", "s"), "only": ("t",)},
        "t": {"go": ("d",)}, "s": {"no": NO}, "d": {"end": ()},
    }  # fmt: skip
    said = {"both": -0.1, "go": -1.0, "no": -0.1, "only": -9.0, "end": -0.1}
    found, calls = await search(script, Priced(said), bunch=1)
    assert ("s", "no") in calls[:3], "before `d`"
    assert tactics_of(script_of(found.tree)) == ["only", "go", "end"]


async def test_more_candidates_are_asked_for_after_what_waits() -> None:
    script: Script = {"root": {"a": NO, "b": NO, "c": ()}}
    found, calls = await search(script, Priced({"a": -1, "b": -2, "c": -3}), candidates=2, bunch=1)
    assert [tactic for _, tactic in calls] == ["a", "b", "c"]
    assert found.nodes == 2


@given(script=scripts, batch=st.integers(1, 3), candidates=st.integers(1, 4), bunch=st.integers(1, 3))
@settings(max_examples=300, deadline=None)
async def test_it_finds_what_there_is(script: Script, batch: int, candidates: int, bunch: int) -> None:
    """With a budget that suffices nothing is missed: visits only change the order."""
    script = {**script, "root": script["g0"]}
    policy = Priced(dict.fromkeys("abcd", -1.0), {"a": 2.0, "d": -2.0})
    found, _ = await search(script, policy, 1000, candidates, bunch, batch)
    assert found.tree.proved == provable(script, "root")
    assert found.tree.proved or found.limit == "candidates"


@given(script=scripts, nodes=st.integers(1, 6), bunch=st.integers(1, 3))
@settings(max_examples=200, deadline=None)
async def test_a_smaller_budget_is_the_beginning_of_a_larger_one(
    script: Script, nodes: int, bunch: int
) -> None:
    script = {**script, "root": script["g0"]}
    policy = Priced({"a": -0.1, "b": -0.7, "c": -1.5, "d": -3.0}, {"a": 1.0})
    small, calls = await search(script, policy, nodes, bunch=bunch)
    again, _ = await search(script, policy, nodes, bunch=bunch)
    large, more = await search(script, policy, nodes + 3, bunch=bunch)
    assert as_data(small.tree) == as_data(again.tree)
    assert calls == more[: len(calls)]
    assert small.tree.proved == (large.tree.proved and large.nodes <= nodes)
    assert small.nodes <= nodes


# ------------------------------------------------------------------------------------ in Lean


async def test_in_lean_what_waits_proves_it(lean_pool: Pool) -> None:
    """Rules alone: what they think of first is not enough, and the search comes back to the rest."""
    theorem = Theorem("t", Proposition("∀ n : Nat, n * (n + 1) % 2 = 0"))
    async with open_session(lean_pool, 4000) as session:
        with patch("burnqed.search.best_first.BUNCH", 1):
            found = await best_first(
                theorem, session, Portfolio(), None, Budget(nodes=5, candidates=32),
                settings=Settings(by_visits=True),
            )  # fmt: skip
    assert found.tree.proved
    visited = [edge.source.id for edge in found.tree.edges()]
    assert len(visited) > len(set(visited)), "a node was visited again"
