"""A smaller budget read off a larger search is what a search with the smaller budget comes to."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest.mock import patch

import pytest

from burnqed.core.errors import LeanDied, LeanMemoryExceeded
from burnqed.core.types import Proposition, Rejected, Theorem, TimedOut
from burnqed.evaluation.prove import Attempt, Prover, prove
from burnqed.evaluation.reading import CLOCK_COLUMNS, Clock, Reading, read_clock, read_off
from burnqed.evaluation.run import record_of
from burnqed.lean.fake import FakeEnvironment, Script, Scripted
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.policy.portfolio import Portfolio
from burnqed.search.best_first import SearchResult, Settings, best_first
from burnqed.search.budget import Budget
from burnqed.search.tree import EARLY, SPENT
from burnqed.trajectories.record import Provenance, rows_of
from burnqed.trajectories.schema import TheoremRecord
from burnqed.trajectories.tables import to_table
from tests.search.problems import ScriptedPolicy

LARGE = 40
KILLED = LeanDied("killed", returncode=-9)
HUNGRY = LeanMemoryExceeded("too big")


def problem(seed: int) -> tuple[Script, ScriptedPolicy]:
    """Goals that lead to each other, with tactics that fail, time out, or take Lean along."""
    chance = random.Random(seed)
    goals = [f"g{i}" for i in range(30)]
    script: dict[str, dict[str, Scripted]] = {goal: {} for goal in goals}
    said: dict[str, dict[str, float]] = {goal: {} for goal in goals}
    for goal in goals:
        for tactic in range(5):
            name = f"{goal}.t{tactic}" if chance.random() < 0.9 else f"shared{tactic}"
            after: Scripted = tuple(chance.choices(goals, k=chance.choice([1, 1, 1, 2])))
            script[goal][name] = chance.choices(
                [after, (), Rejected("no", "tactic"), TimedOut(1.0, True), HUNGRY, KILLED],
                [50, 1, 30, 3, 3, 2 if seed % 2 else 0],
            )[0]
            said[goal][name] = -chance.random() * 3
    return script, ScriptedPolicy(said, {})


async def searched(seed: int, nodes: int, batch: int, bunch: int | None = None) -> SearchResult:
    """`bunch`: in visits of so many tactics."""
    script, policy = problem(seed)
    theorem, budget = Theorem("t", Proposition("g0")), Budget(nodes=nodes, depth=12, candidates=8)
    # In visits with a small effort first, too little for every third tactic.
    effort = None if bunch is None else 500
    names = sorted({tactic for tactics in script.values() for tactic in tactics})
    settings = Settings(batch=batch, by_visits=bunch is not None, effort=effort)
    with patch("burnqed.search.best_first.BUNCH", bunch):
        return await best_first(
            theorem, FakeEnvironment(script, dict.fromkeys(names[::3], 900)), policy, None, budget,
            seed, settings=settings,
        )  # fmt: skip


def attempt_of(found: SearchResult) -> Attempt:
    """As `prove` says it, for a judge that agrees."""
    theorem = Theorem("t", Proposition("g0"))
    if found.tree.proved:
        return Attempt(theorem, "proved", searched=found)
    if found.failure is not None:
        return Attempt(theorem, "error", type(found.failure).__name__, "", found)
    if not found.conclusive:
        return Attempt(theorem, "error", type(found.lost[0][1]).__name__, "", found)
    return Attempt(theorem, "exhausted", found.limit or "", "", found)


@pytest.mark.parametrize(("batch", "bunch"), [(1, None), (3, None), (1, 2), (3, 1)])
async def test_read_off_and_searched_again_agree(batch: int, bunch: int | None) -> None:
    seen = set()
    for seed in range(60):
        large = record_of(attempt_of(await searched(seed, LARGE, batch, bunch)), seed)
        for nodes in (1, 2, 3, 5, 8, 13, 21, 34, LARGE):
            small = record_of(attempt_of(await searched(seed, nodes, batch, bunch)), seed)
            told = read_off(large, (), nodes)
            assert (told.outcome, told.nodes) == (small.outcome, small.nodes), (seed, nodes)
            assert told.reason == small.reason or told.outcome == "error", (seed, nodes)
            seen.add((large.outcome, told.outcome))
    assert {("proved", "exhausted"), ("error", "exhausted"), ("proved", "proved")} <= seen
    assert {("exhausted", "exhausted"), ("error", "error")} <= seen, "or this test shows little"


def record(**changes: object) -> TheoremRecord:
    plain = record_of(Attempt(Theorem("t", Proposition("p")), "exhausted", "nodes"), 0)
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_what_went_wrong_later_did_not_happen() -> None:
    died = record(outcome="error", reason="LeanDied", nodes=50, lost_at=20, lost_kind="LeanDied")
    assert read_off(died, (), 19) == Reading("exhausted", "nodes", "", 19, 0.0)
    assert read_off(died, (), 20).outcome == "error"
    assert read_off(died, (), 100).outcome == "error"


def test_a_loss_on_the_way_to_a_proof_is_an_error_until_there_is_one() -> None:
    found = record(outcome="proved", nodes=50, lost_at=20, lost_kind="LeanDied")
    outcomes = [read_off(found, (), budget).outcome for budget in (19, 20, 49, 50, 51)]
    assert outcomes == ["exhausted", "error", "error", "proved", "proved"]
    assert read_off(found, (), 20).reason == "LeanDied"


def test_the_time_is_that_of_the_nodes() -> None:
    found = record(outcome="proved", nodes=4, seconds=9.0)
    ends = [0.5, 1.5, 4.0, 8.5]
    assert [read_off(found, ends, budget).seconds for budget in (1, 2, 3, 4, 5)] == [
        0.5,
        1.5,
        4.0,
        9.0,
        9.0,
    ]


async def test_the_clock_of_a_search() -> None:
    found = await searched(3, LARGE, 1)
    rows = rows_of(found.tree, "t", False, Provenance("r"))
    rows = [replace(row, seconds=float(row.node), spent=None) for row in rows]  # as older files have it
    rows[0] = replace(rows[0], outcome="timeout", error="30.0 s")
    rows[1] = replace(rows[1], outcome="timeout", error=SPENT)
    rows[2] = replace(rows[2], outcome="timeout", error=EARLY)
    clock = read_clock(to_table(rows).select(CLOCK_COLUMNS).to_batches())
    assert clock == Clock({"t": sorted({float(row.node) for row in rows})}, 1)
    assert len(clock.ends["t"]) == found.nodes


async def test_the_clock_of_a_search_in_visits() -> None:
    """A node ends with the last tactic that was tried in it, at whatever state."""
    found = await searched(4, LARGE, 1, 2)
    rows = rows_of(found.tree, "t", False, Provenance("r"))
    visited = [(row.spent, row.seconds) for row in rows]
    (ends,) = read_clock(to_table(rows).select(CLOCK_COLUMNS).to_batches()).ends.values()
    assert len(ends) == found.nodes
    for number, end in enumerate(ends, 1):
        assert end == max(seconds for spent, seconds in visited if (spent or 0) <= number)


# ------------------------------------------------------------------------------------ in Lean

STATEMENTS = [
    "∀ a b : Nat, (a + b) * (a + b) = a * a + 2 * a * b + b * b",
    "∀ (p q r : Prop), (p → q) → (q → r) → ¬ r → ¬ p",
    "∀ (xs ys : List Nat), (xs ++ ys).reverse = ys.reverse ++ xs.reverse",
    "∀ n : Nat, 3 ∣ n * (n + 1) * (n + 2)",
    "∀ (f : Nat → Nat), (∀ n, f (n + 1) = f n + 2) → f 0 = 1 → ∀ n, f n = 2 * n + 1",
    "∀ n : Nat, ∃ m, n < m * m ∧ m ≤ n + 1",
]


@pytest.mark.lean
@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_read_off_and_searched_again_agree_in_lean(
    lean_pool: Pool, lean_launch: LaunchSpec
) -> None:
    async with Pool(lean_launch, 2) as judges:
        prover = Prover(lean_pool, judges, Portfolio(), Budget(nodes=8, candidates=16))
        seen = set()
        for number, text in enumerate(STATEMENTS):
            theorem = Theorem(f"t{number}", Proposition(text))
            large = record_of(await prove(prover, theorem, 0), 0)
            for nodes in (1, 3):
                budget = replace(prover.budget, nodes=nodes)
                small = record_of(await prove(replace(prover, budget=budget), theorem, 0), 0)
                told = read_off(large, (), nodes)
                assert (told.outcome, told.reason, told.nodes) == (
                    small.outcome,
                    small.reason,
                    small.nodes,
                )
                if small.outcome == "proved":
                    assert small.proof == large.proof
                seen.add((large.outcome, small.outcome))
    assert len(seen) > 1, "or this test shows little"
