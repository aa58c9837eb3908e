"""The forms a statement may have, started in real Lean, proved, certified and judged."""

from __future__ import annotations

import pytest

from burnqed.core.errors import StatementError
from burnqed.core.types import (
    Closed,
    LibraryConstant,
    Proposition,
    Rejected,
    Statement,
    Theorem,
    TheoremText,
)
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session

pytestmark = pytest.mark.lean

CONTEXT = """open Nat
universe u
variable {α : Type u} (xs : List α)
namespace Deep
local instance : Add (List Nat) := ⟨fun a b => a ++ b⟩
def twice : List α := xs ++ xs
"""
FORMS: list[tuple[str, Statement, str, list[str]]] = [
    ("proposition", Proposition("∀ a b : Nat, a ≤ b → a < b + 1"), "⊢ ∀ (a b : Nat)", ["omega"]),
    ("universes", Proposition("∀ (α : Type u) (x : α), x = x", ("u",)), "⊢ ∀ (α", ["intro α x", "rfl"]),
    ("bare theorem", TheoremText("theorem t (n : Nat) (h : 0 < n) : n ≠ 0"), "h : 0 < n", ["omega"]),
    (
        "with sorry",
        TheoremText("theorem t (p : Prop) : p → p := by\n  sorry\n-- end"),
        "p : Prop",
        ["exact id"],
    ),
    (
        "with its context",
        TheoremText(CONTEXT + "theorem len : (twice xs).length = xs.length + xs.length := sorry"),
        "xs : List α",
        ["simp [twice]"],
    ),
    ("let in the type", TheoremText("theorem t : let n := 3; n + 1 = 4"), "⊢ ", ["intro n", "rfl"]),
    (
        "library",
        LibraryConstant("Nat.succ_le_of_lt", "self"),
        "⊢ ∀ {n m : Nat}",
        ["intro n m h", "exact h"],
    ),
]


@pytest.mark.parametrize(
    ("statement", "shown", "tactics"), [f[1:] for f in FORMS], ids=[f[0] for f in FORMS]
)
async def test_a_form(lean_pool: Pool, statement: Statement, shown: str, tactics: list[str]) -> None:
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", statement))
        assert shown in state.text
        for tactic in tactics:
            outcome = await session.apply(state, tactic)
            assert not isinstance(outcome, Rejected), outcome.error
            state = getattr(outcome, "state", state)
        assert isinstance(outcome, Closed)
        certificate = await session.certify(state)
        assert certificate.ok, certificate.desc
    verdict = await judge_proof(lean_pool, statement, tactics)
    assert verdict.reason == ""


@pytest.mark.parametrize("name", ["List.length_map", "List.reverse_reverse"])
async def test_a_library_theorem_is_hidden_from_automation(lean_pool: Pool, name: str) -> None:
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem(name, LibraryConstant(name, "self")))
        plain = await session.start(Theorem(name, Proposition(state.goals[0].target, ("u_1", "u_2"))))
        for tactic in ("(intros; simp)", "(intros; grind)"):
            assert isinstance(await session.apply(plain, tactic), Closed)
            outcome = await session.apply(state, tactic)
            # It does not find the theorem; were it to find it, that would be a leak.
            assert isinstance(outcome, Rejected)
            assert outcome.kind == "tactic"


async def test_what_is_no_statement(lean_pool: Pool) -> None:
    for statement in (
        Proposition("1 + "),
        Proposition("no_such_constant = 1"),
        TheoremText("theorem t : 1 = 1 := rfl"),
        TheoremText("def x := 1"),
        TheoremText("theorem t : No.such = 1"),
        LibraryConstant("Nat.no_such_theorem"),
    ):
        async with open_session(lean_pool) as session:
            with pytest.raises(StatementError):
                await session.start(Theorem("t", statement))


async def test_code_is_refused_before_lean_sees_it(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", Proposition("True")))
        outcome = await session.apply(state, 'run_tac Lean.logInfo m!"here"')
        assert isinstance(outcome, Rejected)
        assert outcome.kind == "forbidden"
        both = await session.apply_batch(state, ["native_decide", "trivial"])
        assert [type(entry) for entry in both] == [Rejected, Closed]
