"""Negations as texts: the binders go below the `¬`, and Lean's own negation is the same."""

from __future__ import annotations

import pytest

from burnqed.core.errors import StatementError
from burnqed.core.types import FileHole, Proposition, Statement, Theorem, TheoremText
from burnqed.lean.judge import judge_proof
from burnqed.lean.negation import named, negated, negation_of, text_of
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session


@pytest.mark.parametrize(
    ("text", "negation"),
    [
        ("theorem t : 1 = 2", "theorem t.negation : ¬ (1 = 2)"),
        (
            "theorem t (n) {m : Nat} : n = m := by sorry",
            "theorem t.negation : ¬ (∀ (n) {m : Nat}, n = m)",
        ),
        (
            "@[simp] theorem a.b.{u} (α : Sort u) : α = α",
            "@[simp] theorem a.b.negation.{u} : ¬ (∀ (α : Sort u), α = α)",
        ),
        (
            "theorem «a b» (f : (x : Nat) → x = x) : True := sorry",
            "theorem «a b».negation : ¬ (∀ (f : (x : Nat) → x = x), True)",
        ),
        (
            "theorem t (n : Nat) -- so\n  : n = 0",
            "theorem t.negation : ¬ (∀ (n : Nat) -- so\n, n = 0)",
        ),
        ("theorem t : -- is\n  1 = 2", "theorem t.negation : ¬ (-- is\n  1 = 2)"),
        (
            "open Nat in\ntheorem t : let n := 1; n = 2",
            "open Nat in\ntheorem t.negation : ¬ (let n := 1; n = 2)",
        ),
    ],
)  # fmt: skip
def test_binders_go_below_it(text: str, negation: str) -> None:
    assert negation_of(TheoremText(text)) == TheoremText(negation)


def test_a_comment_swallows_nothing() -> None:
    assert negation_of(Proposition("1 = 2 -- so")) == Proposition("¬ (1 = 2 -- so\n)")
    assert negation_of(Proposition("1 = 2"), ["(n : Nat) -- a"]).text.count("\n, ") == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["theorem : 1 = 2", "private theorem t : 1 = 2", "theorem t := 1"])
def test_what_is_no_theorem_has_none(text: str) -> None:
    with pytest.raises(StatementError):
        negation_of(TheoremText(text))


# Each false, and a proof of its negation.
FALSE = [
    (Proposition("∀ n : Nat, n = 0"), "intro h; exact absurd (h 1) (by decide)"),
    (
        Proposition("∀ (α : Type u) (x y : α), x = y", ("u",)),
        "intro h; cases h _ (ULift.up true) (ULift.up false)",
    ),
    (TheoremText("theorem t (n : Nat) (h : 0 < n) : n = 1"), "intro h; have := h 2; omega"),
    (TheoremText("theorem t (xs : List α) : xs = []"), "intro h; cases @h PUnit [.unit]"),
    (TheoremText("variable (n : Nat)\ntheorem t : n = 0"), "intro h; exact absurd (h 1) (by decide)"),
    (
        TheoremText("variable {α : Type} [Inhabited α]\ntheorem t : (default : α) ≠ default"),
        "intro h; exact @h Bool _ rfl",
    ),
    (TheoremText("def two := 2\ntheorem t : two = 3"), "decide"),
]  # fmt: skip


@pytest.mark.lean
@pytest.mark.parametrize(("statement", "proof"), FALSE)
async def test_the_judge_accepts_proofs_of_it(
    lean_pool: Pool, statement: Proposition | TheoremText, proof: str
) -> None:
    async with open_session(lean_pool) as session:
        negation = await negated(session, Theorem("t", statement))
    assert "¬ (" in text_of(negation)
    assert isinstance(negation.statement, Proposition | TheoremText)
    assert negation.name == (named(negation.statement) or "t")
    verdict = await judge_proof(lean_pool, negation.statement, [proof])
    assert verdict.accepted, verdict.reason
    assert not (await judge_proof(lean_pool, statement, [proof])).accepted


@pytest.mark.lean
async def test_what_lean_does_not_accept_is_refused(lean_pool: Pool) -> None:
    wrong: dict[str, Statement] = {
        "unknown": Proposition("∀ n : Nat, n = foo"),
        "cannot be written": TheoremText("variable {m : Nat} (n : Nat)\ntheorem t : n = m"),
        "only a proposition": FileHole("theorem t : 1 = 2 := by sorry", 0),
    }
    for said, statement in wrong.items():
        async with open_session(lean_pool) as session:
            with pytest.raises(StatementError, match=f"(?i){said}"):
                await negated(session, Theorem("t", statement))
