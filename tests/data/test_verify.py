"""Statements that are plainly false are told, with a proof that the kernel takes; no other ever is."""

from __future__ import annotations

import pytest

from burnqed.core.errors import LeanDied, StatementError
from burnqed.core.types import (
    Closed,
    LibraryConstant,
    Negation,
    ProofState,
    Proposition,
    Statement,
    Theorem,
    TheoremText,
    Unreadable,
)
from burnqed.data.verify import Verified, verify
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.session import Session, open_session

pytestmark = pytest.mark.lean

FALSE = [
    "∀ n : Nat, n + 1 = n",
    "∀ a b : Nat, a - b + b = a",
    "∀ n : Nat, n < 5",
    "∀ (a b : Int), a * b = a + b",
    "2 + 2 = 5",
    "∀ (xs : List Nat), xs.length > 0",
    "∀ p q : Prop, p → q",
    "theorem t (n : Nat) (h : 0 < n) : n = 1",
    "theorem t {α : Type u} (a b : α) : a = b",
    "theorem t {α : Type u} [Inhabited α] (xs : List α) (n : Nat) : xs.length = n",
    "theorem t (f : Nat → Nat) (h : ∀ x y, f x = f y) : f 0 = 1",
    "variable (n : Nat) (xs : List Nat)\ntheorem t (h : n ∈ xs) : n = 0",
    "def twice (n : Nat) := n + n\ntheorem t (n : Nat) : twice n = 2 * n + 1",
    "theorem t (x : Fin 3) (p : Nat × Bool) : p.1 = x.val",
    "theorem t (n : Nat) : (match n with | 0 => True | _ + 1 => False)",
]
# True, or nobody knows it in short time.
FINE = [
    "∀ n : Nat, n + 0 = n",
    "theorem t (a b c n : Nat) (hn : 2 < n) (ha : 0 < a) (hb : 0 < b) : a ^ n + b ^ n ≠ c ^ n",
    "theorem t (n : Nat) (h : n < n) : n = n + 1",
    "theorem t (p : Prop) (h : p) (k : ¬ p) : 1 = 2",
    # Were `n` not quantified under the negation, a false premise about it would do.
    "variable (n : Nat)\ntheorem t : n ≠ n + 1",
    "variable (p : Prop)\ntheorem t (h : ∀ q : Prop, q) : p",
    "∀ n : Nat, n * n + n + 41 ≠ 1681",  # false at 40
    "opaque P : Nat → Prop\n@[simp] axiom never (n : Nat) : ¬ P n\ntheorem t (n : Nat) : P n",
]


def statement(text: str) -> Statement:
    return TheoremText(text) if "theorem" in text else Proposition(text)


async def verdicts(pool: Pool, *statements: Statement) -> list[Verified]:
    return await verify(pool, [Theorem("t", s) for s in statements], lambda _: None)


async def test_what_is_plainly_false(lean_pool: Pool) -> None:
    found = await verdicts(lean_pool, *map(statement, FALSE))
    assert [text for text, v in zip(FALSE, found, strict=True) if v.verdict != "trivially false"] == []
    assert found[4].why == "this proves its negation: decide"


async def test_what_is_not(lean_pool: Pool) -> None:
    found = await verdicts(lean_pool, *map(statement, FINE))
    assert [(text, v) for text, v in zip(FINE, found, strict=True) if v.verdict != "fine"] == []


async def test_what_is_no_statement(lean_pool: Pool) -> None:
    wrong: list[tuple[Statement, str]] = [
        (Proposition("1 +"), "unexpected end of input"),
        (Proposition("no.such = 1"), "no.such"),
        (Proposition("Nat"), "it is not a proposition"),
        (TheoremText("theorem t : no.such = 1"), "1:12: Unknown identifier"),
        (LibraryConstant("Nat.no_such_theorem"), "Symbol not found"),
        (Unreadable("it was never read"), "it was never read"),
    ]
    found = await verdicts(lean_pool, *(s for s, _ in wrong))
    assert {v.verdict for v in found} == {"does not elaborate"}
    assert [told for (_, told), v in zip(wrong, found, strict=True) if told not in v.why] == []


async def test_the_library_is_not_disproved(lean_pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "apply_batch", None)
    (found,) = await verdicts(lean_pool, LibraryConstant("Nat.add_comm"))
    assert found == Verified("t", "fine")


async def test_the_order_is_kept_and_each_is_told(lean_pool: Pool) -> None:
    theorems = [Theorem(f"t{n}", Proposition(f"{n} = 3")) for n in range(6)]
    told: list[Verified] = []
    found = await verify(lean_pool, theorems, told.append)
    assert [v.name for v in found] == [t.name for t in theorems]
    assert sorted(told, key=lambda v: v.name) == found
    assert [v.name for v in found if v.verdict == "fine"] == ["t3"]


async def test_a_failure_of_lean_is_not_the_statements(
    lean_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(self: Session, theorem: Theorem) -> None:
        raise LeanDied("it died")

    monkeypatch.setattr(Session, "start", dies)
    assert await verdicts(lean_pool, Proposition("1 = 1")) == [Verified("t", "error", "it died")]


NEGATED = [
    (Proposition("∀ (α : Type u) (x : α), x = x", ("u",)), "⊢ ¬∀ (α : Type u) (x : α), x = x"),
    (
        TheoremText(
            "variable {α : Type u} (xs : List α) [Inhabited α] (n : Nat)\n"
            "theorem t (h : n = k) : xs.length = n → k = 0"
        ),
        "⊢ ¬∀ {α : Type u} (xs : List α) [Inhabited α] (n : Nat) {k : Nat}, n = k → "
        "xs.length = n → k = 0",
    ),
    (LibraryConstant("Nat.add_comm"), "⊢ ¬∀ (n m : Nat), n + m = m + n"),
]


@pytest.mark.parametrize(("negated", "shown"), NEGATED)
async def test_a_negation_is_of_all_that_is_said(
    lean_pool: Pool, negated: Proposition | TheoremText | LibraryConstant, shown: str
) -> None:
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", Negation(negated)))
        assert state.text == shown
        assert not isinstance(await session.apply(state, "grind"), Closed)


async def test_a_lean_that_is_killed_is_no_verdict(
    lean_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(self: Session, state: ProofState, tactics: list[str]) -> list[LeanDied]:
        return [LeanDied("killed", returncode=-9) for _ in tactics]

    monkeypatch.setattr(Session, "apply_batch", killed)
    (found,) = await verify(lean_pool, [Theorem("t", Proposition("1 = 2"))], lambda _: None)
    assert (found.verdict, found.why) == ("error", "killed")


async def test_the_judge_takes_no_negation(lean_pool: Pool) -> None:
    with pytest.raises(StatementError, match="a negation"):
        await judge_proof(lean_pool, Negation(Proposition("1 = 2")), ["decide"])
