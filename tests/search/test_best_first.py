"""The loop: what it finds, what it spends, and that it is the same every time."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.core.errors import LeanDied, LeanMemoryExceeded, StatementError
from burnqed.core.types import ProofState, Proposition, Rejected, StepResult, Theorem, TimedOut
from burnqed.lean.fake import FakeEnvironment, Script, Scripted, Suggests
from burnqed.search.best_first import Settings, best_first
from burnqed.search.budget import Budget, Meter
from burnqed.search.events import Event, Expanded, Started
from burnqed.search.scoring import Scoring, score
from burnqed.search.script import Script as Proof
from burnqed.search.script import script_of, tactics_of, way_to
from burnqed.search.tree import Status
from burnqed.trajectories.labels import failed_for_certain
from tests.search.problems import (
    BySize,
    ScriptedPolicy,
    as_data,
    assert_way_leads_to,
    closes,
    every_tactic,
    has_path,
    provable,
    search,
)

GOLDEN = Path(__file__).parent.parent / "golden"

# A goal that splits in two, of which one has a detour and a dead end; `b` comes up twice.
SPLIT: Script = {
    "root": {"split": ("a", "b"), "weak": ("a", "b", "c"), "loop": ("root",)},
    "a": {"close": (), "detour": ("b",)},
    "b": {"step": ("d",), "stuck": ("e",)},
    "c": {"nothing": Rejected("no", "tactic")},
    "d": {"close": (), "slow": TimedOut(1.0, deterministic=True)},
    "e": {},
}
# The cheapest way in is a dead end three steps deep.
LURE: Script = {
    "root": {"easy": ("l1",), "hard": ("h1",)},
    "l1": {"on": ("l2",)},
    "l2": {"on": ("l3",)},
    "l3": {},
    "h1": {"close": ()},
}
PROBLEMS = {
    "split": (SPLIT, every_tactic(SPLIT)),
    "lure": (LURE, ScriptedPolicy({"root": {"easy": -0.1, "hard": -3.0}}, {"on": -0.5, "close": -0.5})),
}


@pytest.mark.parametrize("name", PROBLEMS)
async def test_golden_tree(name: str) -> None:
    script, policy = PROBLEMS[name]
    searched, _ = await search(script, "root", policy)
    golden = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    assert as_data(searched.tree) == golden["tree"]
    assert tactics_of(script_of(searched.tree)) == golden["proof"]
    assert searched.nodes == golden["nodes"]


async def test_independent_goals_are_proved_separately() -> None:
    """Six goals, each with two ways to a step that does not end it: the sum, and not the product."""
    script: dict[str, dict[str, Scripted]] = {"root": {"split": tuple(f"g{i}.0" for i in range(6))}}
    for i in range(6):
        script[f"g{i}.0"] = {"on": (f"g{i}.1",), "also": (f"g{i}.1",)}
        script[f"g{i}.1"] = {"close": ()} if i < 5 else {}
    apart, _ = await search(script, "root", settings=Settings(merge=False))
    assert apart.nodes <= 1 + 6 * 3
    together, _ = await search(script, "root", settings=Settings(merge=False, split=False))
    assert together.nodes > 2**5


async def test_equal_states_are_one_node() -> None:
    script: Script = {
        "root": {"a": ("m",), "b": ("m",)},
        "m": {"on": ("n",)},
        "n": {"close": ()},
    }
    searched, _ = await search(script, "root")
    assert [node.goals[0].target for node in searched.tree.nodes] == ["root", "m", "n"]
    apart, _ = await search(script, "root", settings=Settings(merge=False))
    assert [n.goals[0].target for n in apart.tree.nodes].count("m") == 2


async def test_a_proof_on_the_last_step_of_the_budget_counts() -> None:
    chain: Script = {"g0": {"on": ("g1",)}, "g1": {"on": ("g2",)}, "g2": {"close": ()}}
    enough, _ = await search(chain, "g0", budget=Budget(nodes=3, candidates=1))
    assert enough.limit is None
    assert enough.nodes == 3
    short, _ = await search(chain, "g0", budget=Budget(nodes=2, candidates=1))
    assert short.limit == "nodes"


async def test_why_it_ended() -> None:
    endless: Script = {f"g{i}": {"on": (f"g{i + 1}",)} for i in range(100)}
    deep, _ = await search(endless, "g0", budget=Budget(nodes=99, depth=5))
    assert (deep.limit, deep.nodes) == ("depth", 5)
    nodes, _ = await search(endless, "g0", budget=Budget(nodes=7))
    assert (nodes.limit, nodes.nodes) == ("nodes", 7)
    nothing, _ = await search({"g": {"on": Rejected("no", "tactic")}}, "g")
    assert nothing.limit == "candidates"
    assert nothing.tree.root.status is Status.FAILED


def test_the_clock_is_the_budgets() -> None:
    times = iter([0.0, 1.0, 9.9, 10.0])
    meter = Meter(Budget(nodes=5, seconds=10.0), clock=lambda: next(times))
    assert [meter.spent() for _ in range(3)] == [None, None, "seconds"]


class Sleepy(FakeEnvironment):
    """Takes its time over every bunch of tactics but the first."""

    async def apply_batch(
        self,
        state: ProofState,
        tactics: Sequence[str],
        goals: Sequence[int] | None = None,
        heartbeats: int | None = None,
    ) -> list[StepResult]:
        if self.calls:
            await asyncio.sleep(60)
        return await super().apply_batch(state, tactics, goals, heartbeats)


async def test_a_node_is_cut_off_when_the_time_is_up() -> None:
    """And nothing is concluded from what was not tried there."""
    script: Script = {"g": {f"no{i}": Rejected("no", "tactic") for i in range(20)}}
    theorem, policy = Theorem("t", Proposition("g")), every_tactic(script)
    begun = time.monotonic()
    budget = Budget(nodes=5, candidates=20, seconds=0.3)
    found = await best_first(theorem, Sleepy(script), policy, None, budget)
    assert time.monotonic() - begun < 10
    assert (found.limit, found.conclusive) == ("seconds", True)
    results = [edge.result for edge in found.tree.root.edges]
    assert results == ["rejected"] * 6 + ["lost"] * 14
    assert failed_for_certain(found.tree) == set()


@pytest.mark.parametrize("bad", [{"nodes": 0}, {"depth": 0}, {"candidates": 0}])
def test_a_budget_of_nothing_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        Budget(**bad)


async def test_what_searches_is_replaced_by_what_it_suggests() -> None:
    script: Script = {
        "root": {"find?": Suggests((), ("exact h", "exact k")), "exact k": (), "exact h": ("x",)},
    }
    searched, _ = await search(script, "root", ScriptedPolicy({"root": {"find?": -1.0}}, {}))
    assert tactics_of(script_of(searched.tree)) == ["exact k"]
    assert "find?" not in {edge.candidate.tactic for edge in searched.tree.edges()}


async def test_a_tactic_that_kills_lean_is_not_tried_again() -> None:
    died = LeanDied("stack overflow", returncode=1)
    script: Script = {"root": {"bad": died, "on": ("g",)}, "g": {"bad": died, "close": ()}}
    searched, environment = await search(
        script, "root", ScriptedPolicy({}, {"bad": -1, "on": -2, "close": -3})
    )
    assert searched.tree.proved
    assert [tactic for _, tactic in environment.calls].count("bad") == 1
    assert [tactic for tactic, _ in searched.lost] == ["bad"]


async def test_a_lean_that_is_killed_again_and_again_is_an_error() -> None:
    killed = LeanDied("killed", returncode=-9)
    script: Script = {"root": {f"t{i}": killed for i in range(5)}}
    searched, _ = await search(script, "root")
    assert searched.failure is killed
    assert not searched.conclusive
    assert (searched.limit, searched.nodes, searched.lost_at) == (None, 1, 1)


async def test_a_proof_in_hand_is_not_lost_with_lean() -> None:
    """The third kill comes in the same breath as the step that closes the goal."""
    killed = LeanDied("killed", returncode=-9)
    script: Script = {"root": {"t0": killed, "t1": killed, "close": (), "t2": killed}}
    searched, _ = await search(script, "root")
    assert searched.tree.proved
    assert searched.failure is None
    assert searched.lost_at == 1


async def test_an_end_with_lost_steps_says_so() -> None:
    hungry, killed = LeanMemoryExceeded("too big"), LeanDied("killed", returncode=-9)
    chain: dict[str, dict[str, Scripted]] = {f"g{i}": {"on": (f"g{i + 1}",)} for i in range(50)}
    for error, conclusive in ((hungry, True), (killed, False)):
        chain["g0"] = {"on": ("g1",), "bad": error}
        searched, _ = await search(chain, "g0", budget=Budget(nodes=5))
        assert searched.limit == "nodes"
        assert searched.conclusive is conclusive
    only, _ = await search({"g": {"bad": hungry}}, "g")
    assert not only.conclusive, "the only thing there was to try was never tried"


async def test_where_all_candidates_failed_more_are_tried() -> None:
    """Twice as many, at the cost of a node, nothing twice, and only when nothing else is open."""
    script: Script = {
        "root": {
            "a": Rejected("no", "tactic"),
            "b": ("x",),
            "c": Rejected("no", "tactic"),
            "d": ("y",),
        },
        "x": {"a": Rejected("no", "tactic")},
        "y": {"a": Rejected("no", "tactic"), "b": Rejected("no", "tactic"), "c": ()},
    }
    policy = ScriptedPolicy({}, {"a": -0.1, "b": -0.2, "c": -0.3, "d": -0.4})
    searched, _ = await search(script, "root", policy, Budget(nodes=10, candidates=2))
    assert tactics_of(script_of(searched.tree)) == ["d", "c"]
    assert policy.asked == [["root"], ["x"], ["root"], ["y"], ["x"], ["y"]]
    assert searched.nodes == len(policy.asked)
    tried = [(edge.source.id, edge.candidate.tactic) for edge in searched.tree.edges()]
    assert len(tried) == len(set(tried))
    assert searched.nodes <= 10
    too_few, _ = await search(script, "root", policy, Budget(nodes=3, candidates=2))
    assert too_few.limit == "nodes"


async def test_more_candidates_are_tried_only_so_far() -> None:
    """A model that samples has something new to say for ever: there is an end all the same."""
    said = {f"t{i:03}": -float(i) for i in range(200)}
    policy = ScriptedPolicy({}, said)
    searched, _ = await search({"root": {}}, "root", policy, Budget(nodes=100, candidates=2))
    assert (searched.limit, searched.nodes) == ("candidates", 4)
    assert sum(1 for _ in searched.tree.edges()) == 16


async def test_a_search_without_anything_new_ends_the_same_at_every_budget() -> None:
    """What a smaller budget came to is read off a larger one: both must give the same reason."""
    script: Script = {"root": {"a": Rejected("no", "tactic"), "b": Rejected("no", "tactic")}}
    for nodes in (1, 2, 9):
        searched, _ = await search(script, "root", budget=Budget(nodes=nodes, candidates=2))
        assert (searched.limit, searched.nodes) == ("candidates", 1)


async def test_nothing_is_spent_beside_a_goal_that_nothing_can_be_done_about() -> None:
    """`p` has more candidates, but its sibling `q` has none left: a proof of `p` would be of no use."""
    no = Rejected("no", "tactic")
    script: Script = {
        "root": {"split": ("p", "q")},
        "p": {"a": no, "b": no, "c": ("on",), "d": no, "e": no, "f": no, "g": ()},
        "q": {"a": no},
    }
    searched, _ = await search(script, "root", budget=Budget(nodes=20, candidates=2))
    # The root; p, and p again, which leaves something open; q, and that is all.
    assert (searched.limit, searched.nodes) == ("candidates", 4)


async def test_events_come_in_order() -> None:
    seen: list[Event] = []
    searched = await best_first(
        Theorem("t", Proposition("root")), FakeEnvironment(SPLIT), every_tactic(SPLIT), None,
        Budget(nodes=50, candidates=9), events=seen.append,
    )  # fmt: skip
    assert isinstance(seen[0], Started)
    assert [e.nodes for e in seen[1:] if isinstance(e, Expanded)] == list(range(1, searched.nodes + 1))


async def test_a_bad_statement_is_raised() -> None:
    with pytest.raises(StatementError):
        await search({}, "nonsense")


async def test_the_energy_changes_the_order() -> None:
    script: Script = {
        "root": {"long": ("a very long goal",), "short": ("s",)},
        "a very long goal": {"close": ()},
        "s": {"close": ()},
    }
    policy = ScriptedPolicy({"root": {"long": -0.1, "short": -1.0}}, {"close": -1.0})
    plain, _ = await search(script, "root", policy)
    assert tactics_of(script_of(plain.tree)) == ["long", "close"]
    value = BySize()
    weighed = Settings(scoring=Scoring(energy_weight=1.0))
    guided, _ = await search(script, "root", policy, settings=weighed, value=value)
    assert tactics_of(script_of(guided.tree)) == ["short", "close"]
    assert value.asked == 3


async def test_several_nodes_can_be_asked_about_at_once() -> None:
    policy = every_tactic(SPLIT)
    searched, _ = await search(SPLIT, "root", policy, settings=Settings(batch=2))
    assert searched.tree.proved
    assert any(len(asked) == 2 for asked in policy.asked)


# ------------------------------------------------------------------------- any problem

names = st.sampled_from([f"g{i}" for i in range(7)])
outcomes = st.one_of(
    st.lists(names, max_size=3).map(tuple),
    st.just(Rejected("no", "tactic")),
    st.just(TimedOut(1.0, deterministic=True)),
)
scripts = st.dictionaries(
    names, st.dictionaries(st.sampled_from("abcd"), outcomes, max_size=4), min_size=1
).map(lambda script: {"g0": {}, **script})


@given(script=scripts, batch=st.integers(1, 3), candidates=st.integers(1, 4))
@settings(max_examples=300, deadline=None)
async def test_it_finds_what_there_is(script: Script, batch: int, candidates: int) -> None:
    """With a budget that suffices: a proof exactly when there is one, and one that works.

    Also with few candidates at a time: where they all fail, more are tried.
    """
    budget = Budget(nodes=1000, candidates=candidates)
    searched, _ = await search(script, "g0", budget=budget, settings=Settings(batch=batch))
    assert searched.tree.proved == provable(script, "g0")
    if searched.tree.proved:
        assert closes(script, "g0", script_of(searched.tree))
    else:
        assert searched.limit == "candidates"


@given(script=scripts, nodes=st.integers(1, 6), candidates=st.integers(1, 3))
@settings(max_examples=200, deadline=None)
async def test_any_budget_keeps_the_invariants_and_gives_the_same_tree(
    script: Script, nodes: int, candidates: int
) -> None:
    budget = Budget(nodes=nodes, depth=4, candidates=candidates)
    first, _ = await search(script, "g0", budget=budget)
    again, _ = await search(script, "g0", budget=budget)
    assert as_data(first.tree) == as_data(again.tree)
    assert first.nodes <= nodes
    assert (first.limit is None) == first.tree.proved


@given(script=scripts)
@settings(max_examples=150, deadline=None)
async def test_merging_and_splitting_change_what_it_costs_only(script: Script) -> None:
    both, _ = await search(script, "g0")
    for how in (Settings(merge=False), Settings(split=False)):
        other, _ = await search(script, "g0", budget=Budget(nodes=60, candidates=9), settings=how)
        if other.limit in (None, "candidates"):
            assert other.tree.proved == both.tree.proved
        if other.tree.proved:
            assert closes_flat(script, other.tree.root.goals[0].target, script_of(other.tree))


# Few goals that lead to each other a lot, by steps of very different likelihood.
tangles = st.fixed_dictionaries(
    {
        f"g{i}": st.dictionaries(
            st.sampled_from("abcd"),
            st.lists(st.sampled_from([f"g{i}" for i in range(5)]), min_size=1, max_size=2).map(tuple),
            max_size=3,
        )
        for i in range(5)
    }
)
likelihoods = st.fixed_dictionaries(
    {tactic: st.sampled_from([-0.01, -0.5, -1.0, -4.0]) for tactic in "abcd"}
)


@given(script=tangles, said=likelihoods, nodes=st.integers(1, 9), candidates=st.integers(1, 4))
@settings(max_examples=300, deadline=None)
async def test_depth_way_and_score_of_every_state_are_those_of_a_real_path(
    script: Script, said: dict[str, float], nodes: int, candidates: int
) -> None:
    """Where states are merged and steps lead back, and where more candidates are tried later, too."""
    policy = ScriptedPolicy({}, said)
    budget = Budget(nodes=nodes, candidates=candidates)
    searched, environment = await search(script, "g0", policy, budget)
    for node in searched.tree.nodes:
        await assert_way_leads_to(node, environment, Theorem("t", Proposition("g0")))
        assert node.score == score(Scoring(), node.logprob, node.length, None)
        assert has_path(searched.tree.root, node, node.length, node.logprob)


async def test_a_loop_is_not_told_as_a_way() -> None:
    """A step that leads back to the root used to be gone round until the path was 50 steps long."""
    script: Script = {"root": {"on": ("a",)}, "a": {"back": ("root",), "on": ("b",)}, "b": {}}
    searched, _ = await search(script, "root", budget=Budget(nodes=2))
    b = searched.tree.nodes[2]
    assert b.depth == 2
    assert [step.tactic for step in way_to(b)[0]] == ["on", "on"]


async def test_a_loop_of_likely_steps_makes_no_state_better() -> None:
    """`a` comes back to itself over `b` at next to no cost: the mean of such a way is better."""
    script: Script = {
        "root": {"rare": ("a",)},
        "a": {"to": ("b",)},
        "b": {"to": ("a",), "on": ("c",)},
        "c": {},
    }
    policy = ScriptedPolicy({"root": {"rare": -4.0}}, {"to": -0.01, "on": -0.5})
    searched, _ = await search(script, "root", policy, Budget(nodes=3))
    a = searched.tree.nodes[1]
    assert (a.logprob, a.length, a.score) == (-4.0, 1, -4.0)


def closes_flat(script: Script, target: str, proof: Proof) -> bool:
    """As `closes`, for scripts whose goals were kept together."""

    def run(goals: tuple[str, ...], proof: Proof) -> bool:
        after = script.get(goals[0], {}).get(proof.tactic)
        if not isinstance(after, tuple):
            return False
        new = (*after, *goals[1:])
        if not proof.rest:
            return not new
        parts = [tuple(new[i] for i in part) for part in proof.parts]
        return all(run(part, rest) for part, rest in zip(parts, proof.rest, strict=True))

    return run((target,), proof)
