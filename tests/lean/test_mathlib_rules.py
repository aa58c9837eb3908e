"""Rules that speak of Mathlib's tactics, in a Lean that has tactics of those names: a stand-in.

What they prove with the real Mathlib is not tested here: it cannot be had.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from burnqed.core.types import Advanced, Goal, Proposition, Theorem
from burnqed.lean import requests
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.process import LaunchSpec
from burnqed.lean.session import open_session
from burnqed.lean.tactic_words import beginnings, own_tactics
from burnqed.policy.portfolio import Portfolio
from burnqed.policy.portfolio.mathlib import TACTICS
from burnqed.policy.portfolio.portfolio import rate
from burnqed.policy.portfolio.reading import Reading
from burnqed.search.best_first import best_first
from burnqed.search.budget import Budget

pytestmark = pytest.mark.lean

PROJECT = Path(__file__).with_name("mathlib_project")
STATEMENTS = {
    "squares": "∀ a b : ℝ, 2 * a * b ≤ a ^ 2 + b ^ 2",
    "gauss": "∀ n : ℕ, 2 * ∑ i ∈ Finset.range (n + 1), i = n * (n + 1)",
    "between": "∀ x y : ℝ, x < y → ∃ z : ℝ, x < z ∧ z < y",
    "quotients": "∀ a b : ℝ, 0 < a → 0 < b → 1 / a + 1 / b ≥ 4 / (a + b)",
    "roots": "∀ x : ℝ, x ^ 2 - 5 * x + 6 = 0 → x = 2 ∨ x = 3",
    "system": "∀ x y : ℝ, x + y = 7 → x - y = 1 → x = 4",
    "complex": "∀ z w : ℂ, z.re = w.re → z.im = w.im → z = w",
    "cases": "∀ n : ℕ, 2 < n → n < 6 → n % 2 = 1 → n = 3 ∨ n = 5",
    "casts": "∀ m n : ℕ, ((m + n : ℕ) : ℝ) = (m : ℝ) + (n : ℝ)",
    "sets": "∀ (α : Type) (s t : Set α), s ∩ t ⊆ s",
    "negation": "∀ f : ℕ → ℕ, ¬(∀ x, f x = 0) → ∃ x, f x ≠ 0",
    "finite": "∀ x : Fin 3, x.val * x.val < 5",
}


@pytest.fixture(scope="module")
async def pool(lean_launch: LaunchSpec) -> AsyncIterator[Pool]:
    """One worker, in which the stand-in's text was elaborated."""
    async with Pool(lean_launch, 1, spares=0) as made:
        async with made.lease() as worker:
            text = (PROJECT / "Mathlib.lean").read_text(encoding="utf-8")
            line = json.dumps({"file": text, "inheritEnv": True}, ensure_ascii=False)
            reply = await worker.request(f"frontend.process {line}", timeout=200)
            said = [m for unit in reply["units"] for m in unit["messages"]]
            assert not [m["data"] for m in said if m["severity"] == "error"]
        yield made


async def states(pool: Pool, name: str) -> tuple[Goal, Goal]:
    """A statement's goal, and the one behind its binders."""
    async with open_session(pool) as session:
        root = await session.start(Theorem(name, Proposition(STATEMENTS[name])))
        step = next(tactic for tactic, _ in rate(root.goals[0]) if tactic.startswith("intro "))
        after = await session.apply(root, step)
        assert isinstance(after, Advanced)
        return root.goals[0], after.state.goals[0]


async def test_lean_is_asked_which_tactics_it_has(pool: Pool, lean_pool: Pool) -> None:
    async with pool.lease() as worker:
        assert await beginnings(worker, TACTICS) == TACTICS
    async with lean_pool.lease() as worker:
        assert await beginnings(worker, TACTICS) == frozenset()
    assert await own_tactics(pool, ("Init", "Mathlib"), TACTICS) == TACTICS
    assert await own_tactics(pool, ("Init", "Std.Data"), TACTICS) == frozenset()


@pytest.mark.parametrize("name", STATEMENTS)
async def test_all_that_is_proposed_parses(pool: Pool, name: str) -> None:
    for goal in await states(pool, name):
        proposed = {tactic for tactic, _ in rate(goal, TACTICS)}
        more = proposed - {tactic for tactic, _ in rate(goal)}
        assert more
        async with pool.lease() as worker:
            wrong = {t: why for t in sorted(more) if (why := await unreadable(worker, t))}
        assert not wrong


async def unreadable(worker: Worker, tactic: str) -> str:
    block = "by\n  " + tactic.replace("\n", "\n  ")
    reply = await worker.request(requests.Parse(block, "term").line, trusted=True)
    if "pos" in reply and reply["pos"] < len(block.encode()):
        return f"read up to {reply['pos']} of {len(block.encode())}"
    return str(reply.get("desc", ""))


async def test_types_are_read_by_what_lean_says(pool: Pool) -> None:
    _, goal = await states(pool, "casts")
    assert [(v.name, v.type, v.head) for v in Reading(goal).variables] == [
        ("m", "Nat", "Nat"), ("n", "Nat", "Nat"),
    ]  # fmt: skip
    _, goal = await states(pool, "squares")
    assert [(v.type, v.head) for v in Reading(goal).variables] == [("ℝ", "Real")] * 2
    _, goal = await states(pool, "gauss")
    assert Reading(goal).shape.kind == "eq"


PROVED = ["squares", "gauss", "between", "system", "complex", "cases", "sets"]


@pytest.mark.parametrize("name", PROVED)
async def test_a_search_proves_with_them(pool: Pool, name: str) -> None:
    async with open_session(pool, 4_000) as session:
        theorem = Theorem(name, Proposition(STATEMENTS[name]))
        found = await best_first(
            theorem, session, Portfolio(TACTICS), None, Budget(nodes=20, candidates=32)
        )
    assert found.tree.proved
