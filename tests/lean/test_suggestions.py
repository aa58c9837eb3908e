"""What `Try this` says, as Lean 4.28 writes it, as it was written before, and in Lean itself."""

import pytest

from burnqed.core.types import Advanced, Closed, Proposition, Theorem
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.lean.suggestions import suggestions

GRIND = "grind =>\n  cases #ef78\n  · lia\n  · cases #6b2f\n    · lia\n    · cases #ad79 <;> lia"
MESSAGES = [
    ("exact?", "Try this:\n  [apply] exact Nat.le_trans h k", ["exact Nat.le_trans h k"]),
    (
        "apply? with goals left",
        "Try this:\n  [apply] refine Nat.le_antisymm ?_ ?_\n  -- Remaining subgoals:\n"
        "  -- ⊢ a ≤ b\n  -- ⊢ b ≤ a",
        ["refine Nat.le_antisymm ?_ ?_"],
    ),
    (
        "rw?",
        "Try this:\n  [apply] rw [List.length_append]\n  -- xs.length + ys.length = 1",
        ["rw [List.length_append]"],
    ),
    (
        "simp? over two lines",
        "Try this:\n  [apply] simp only [Nat.add_comm, implies_true,\n    ne_eq, true_and]",
        ["simp only [Nat.add_comm, implies_true,\n  ne_eq, true_and]"],
    ),
    (
        "try?",
        "Try these:\n  [apply] grind\n  [apply] grind only [#ef78, #6b2f, #ad79]\n  [apply] grind =>\n"
        "    cases #ef78\n    · lia\n    · cases #6b2f\n      · lia\n      · cases #ad79 <;> lia\n"
        "  [apply] simp_all",
        ["grind", "grind only [#ef78, #6b2f, #ad79]", GRIND, "simp_all"],
    ),
    ("the older form", "Try this: exact h", ["exact h"]),
    ("the older form, two lines", "Try this: simp only [a,\n  b]", ["simp only [a,\n  b]"]),
    (
        "the older form, goals left",
        "Try this: refine f ?_\n-- Remaining subgoals:\n-- ⊢ p",
        ["refine f ?_"],
    ),
    ("the older form, several", "Try these:\n• exact a\n• exact b\n  c", ["exact a", "exact b\nc"]),
    (
        "what did not work",
        "found a partial proof, but the corresponding tactic failed:\n  (expose_names; exact f)",
        [],
    ),
    ("something else", "I would Try this: exact h", []),
    ("nothing", "Try this:", []),
]


@pytest.mark.parametrize(("text", "tactics"), [m[1:] for m in MESSAGES], ids=[m[0] for m in MESSAGES])
def test_a_message(text: str, tactics: list[str]) -> None:
    assert suggestions([text]) == tuple(tactics)


def test_several_messages_keep_their_order() -> None:
    texts = ["Try this:\n  [apply] simp only [a]", "linter", "Try this: simp only [b]"]
    assert suggestions(texts) == ("simp only [a]", "simp only [b]")


LE = "∀ (a b c : Nat), a ≤ b → b ≤ c → a ≤ c"
AND = "∀ (p q : Prop), p ∧ q → q ∧ p"
LENGTH = "∀ (xs ys : List Nat), (xs ++ ys).length = ys.length + xs.length"
PAIR = "∀ (a b : Nat), (a, b).1 + 0 = a"
MANY = (
    "∀ (a b c d e f : Nat), a + b + c + d + e + f = 0 → b + c + d + e + f + a = 0 ∧ (a = 0 ∨ b = 1) ∧"
    " c + 0 = 0 ∧ d * 1 = 0 ∧ (e = 0 → True) ∧ ¬ (f ≠ 0)"
)


@pytest.mark.lean
@pytest.mark.parametrize(
    ("goal", "tactic", "first"),
    [
        (LE, "exact?", "exact Nat.le_trans h k"),
        (LE, "apply?", "exact Nat.le_trans h k"),
        (LE, "grind?", "grind only"),
        (LE, "try?", "grind"),
        (AND, "simp_all?", "simp_all only [and_self]"),
        (AND, "show_term (exact ⟨h.2, h.1⟩)", "exact ⟨h.right, h.left⟩"),
        (LENGTH, "simp?", "simp only [List.length_append]"),
        (LENGTH, "rw?", "rw [List.length_append]"),
        (PAIR, "dsimp?", "dsimp only [Nat.add_zero]"),
        (MANY, "grind?", "grind only"),
        (MANY, "simp? [Nat.add_comm, Nat.add_left_comm]", "simp only [Nat.add_comm"),
    ],
    ids=lambda value: value if len(value) < 12 else "",
)
async def test_lean(lean_pool: Pool, goal: str, tactic: str, first: str) -> None:
    """Each suggestion does, where it stands, what the tactic that searched for it did."""
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", Proposition(goal)))
        names = {LE: "a b c h k", AND: "p q h", MANY: "a b c d e f h"}.get(goal, "x y")
        intro = await session.apply(state, f"intro {names}")
        assert isinstance(intro, Advanced)
        outcome = await session.apply(intro.state, tactic)
        assert isinstance(outcome, Advanced | Closed), outcome
        assert outcome.suggestions[0].startswith(first)
        wanted = outcome.suggestions[:1] if tactic == "rw?" else outcome.suggestions
        for again in await session.apply_batch(intro.state, wanted):
            assert isinstance(again, Advanced | Closed), again
            assert not again.suggestions
            assert [g.target for g in again.state.goals] == [g.target for g in outcome.state.goals]
