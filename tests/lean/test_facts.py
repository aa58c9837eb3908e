"""What Lean says of a goal beside its text, and that the places in it are those of the text."""

from __future__ import annotations

import pytest

from burnqed.core.facts import Facts, Form
from burnqed.core.types import Advanced, Goal, Theorem, TheoremText
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session

pytestmark = pytest.mark.lean

TREE = """inductive Tree (α : Type) where
  | leaf : Tree α
  | node : Tree α → α → Tree α → Tree α

def Tree.size {α : Type} : Tree α → Nat
  | .leaf => 0
  | .node l _ r => l.size + r.size + 1

def twice (n : Nat) : Nat := n + n

"""


async def first_goal(pool: Pool, statement: str, tactic: str = "", given: str = "") -> Goal:
    async with open_session(pool) as session:
        state = await session.start(Theorem("t", TheoremText(f"{given}theorem t {statement}")))
        if tactic:
            outcome = await session.apply(state, tactic)
            assert isinstance(outcome, Advanced), outcome
            state = outcome.state
        return state.goals[0]


def facts_of(goal: Goal) -> Facts:
    assert goal.facts is not None
    assert len(goal.facts.hypotheses) == len(goal.hypotheses)
    return goal.facts


def spelt(form: Form, text: str) -> str:
    """A form with its parts' texts, as one would write it down."""
    name = f" {form.name}" if form.name else ""
    if form.parts:
        return f"{form.kind}{name}({'; '.join(spelt(part, text) for part in form.parts)})"
    said = " ".join(text[form.start : form.stop].split()) if form.apart is None else form.apart
    return said if form.kind in ("term", "type") else f"{form.kind} {said}"


@pytest.mark.parametrize(
    ("target", "form"),
    [
        ("2 + 2 = 4", "eq(2 + 2; 4)"),
        ("1 ≠ 2", "ne(1; 2)"),
        ("1 < 2 ∧ 2 ≥ 1 ∧ 3 > 0 ∧ 3 ≤ 4", "and(lt(1; 2); and(ge(2; 1); and(gt(3; 0); le(3; 4))))"),
        ("2 ∣ 4 ∨ ¬ 3 ∣ 4", "or(dvd(2; 4); not(dvd(3; 4)))"),
        ("2 ∈ [1, 2] ↔ 3 ∉ [1]", "iff(mem(2; [1, 2]); not(mem(3; [1])))"),
        ("(True → False) → False", "implies(implies(true True; false False); false False)"),
        ("∀ (n m : Nat), n < m → n ≠ m", "forall n(Nat; forall m(Nat; implies(lt(n; m); ne(n; m))))"),
        ("∃ k l, k = l + 1", "exists k(Nat; exists l(Nat; eq(k; l + 1)))"),
        ("∀ x ∈ [1], x = 1", "forall x(Nat; implies(mem(x; [1]); eq(x; 1)))"),
        ("∃ x ∈ [1], x = 1", "exists x(Nat; and(mem(x; [1]); eq(x; 1)))"),
        ("∀ h : 0 < 1, (⟨0, h⟩ : Fin 1) = 0", "forall h(premise 0 < 1; eq(⟨0, h⟩; 0))"),
        ("[1].Nodup", "other [1].Nodup"),
        ("(fun n : Nat => n) = id", "eq((fun n => n); id)"),
        # The text alone would be read as an inequality, and as a conjunction.
        ("[1] <+: [1, 2]", "other [1] <+: [1, 2]"),
        ("(if 1 = 2 ∧ 2 = 3 then True else False) → 1 = 2", "implies(other (if 1 = 2 ∧ 2 = 3 then"
         " True else False); eq(1; 2))"),
    ],
)  # fmt: skip
async def test_the_form_of_a_target(lean_pool: Pool, target: str, form: str) -> None:
    goal = await first_goal(lean_pool, f": {target}")
    assert spelt(facts_of(goal).target.form, goal.target) == form


async def test_places_are_those_of_a_text_of_many_lines(lean_pool: Pool) -> None:
    side = " + ".join(f"(αβγ{i} * αβγ{i})" for i in range(9))
    names = " ".join(f"αβγ{i}" for i in range(9))
    goal = await first_goal(lean_pool, f"({names} : Nat) : 0 = 1 ∧ {side} = 7 ∧ 2 = 3")
    assert "\n" in goal.target
    bare = side.replace("(", "").replace(")", "")
    assert (
        spelt(facts_of(goal).target.form, goal.target) == f"and(eq(0; 1); and(eq({bare}; 7); eq(2; 3)))"
    )


async def test_hypotheses_are_propositions_or_data(lean_pool: Pool) -> None:
    goal = await first_goal(
        lean_pool,
        "{α : Type} [Add α] (t : Tree α) (x : α) (f : Nat → Nat) (p : Prop) (z : Nat × Nat) (i : Fin 8)"
        " (R : Nat → Nat → Prop) [LawfulBEq Nat] (h : R 2 30) (hp : p) (ha : ∀ n, f n = 0) : p",
        given=TREE,
    )
    known = dict(zip([h.name for h in goal.hypotheses], facts_of(goal).hypotheses, strict=True))
    data = {name: one.data for name, one in known.items() if one.proposition is None}
    heads = {name: (one.head, one.inductive) for name, one in data.items() if one}
    assert heads == {
        "α": ("Type", False), "inst✝¹": ("Add", False), "inst✝": ("LawfulBEq", False),
        "t": ("Tree", True), "x": ("α", False),
        "f": ("Function", False), "p": ("Prop", False), "z": ("Prod", True), "i": ("Fin", True),
        "R": ("Function", False),
    }  # fmt: skip
    assert [name for name, one in known.items() if one.proposition] == ["h", "hp", "ha"]
    said = known["ha"].proposition
    assert said is not None
    assert spelt(said.form, goal.hypotheses[-1].type) == "forall n(Nat; eq(f n; 0))"
    assert known["h"].proposition is not None
    assert known["h"].proposition.numerals == (2, 30)


async def test_definitions_and_where_they_are_applied(lean_pool: Pool) -> None:
    goal = await first_goal(
        lean_pool,
        "(t : Tree Nat) (n : Nat) : t.size + twice (n + 3) = 2 ∧ ∀ k, twice k = Nat.succ k",
        given=TREE,
    )
    definitions = facts_of(goal).target.definitions
    texts = {
        one.name: goal.target[one.start : one.stop] for one in definitions if one.start is not None
    }
    assert texts == {"Tree.size": "t.size", "twice": "twice (n + 3)"}
    assert [one.name for one in definitions] == ["Tree.size", "twice"], "and no constructor or notation"
    assert facts_of(goal).target.numerals == (3, 2)
    bound = await first_goal(lean_pool, ": ∀ k, twice k = k + k", given=TREE)
    (only,) = facts_of(bound).target.definitions
    assert (only.name, only.start) == ("twice", None), "it is applied to what no tactic can say"


async def test_a_definition_has_the_shortest_name_that_means_it(lean_pool: Pool) -> None:
    context = (
        "namespace A.B\ndef f (n : Nat) := n\ndef id (n : Nat) := n\nprotected def g (n : Nat) := n\n"
    )
    given = f"{context}end A.B\nopen A\nnamespace A.B\n"
    goal = await first_goal(lean_pool, ": f (A.B.id (A.B.g 1)) = 1", given=given)
    names = [one.name for one in facts_of(goal).target.definitions]
    assert names == ["f", "B.id", "B.g"], "`id` would be another one's, and `g` is protected"


async def test_a_numeral_of_any_length_is_no_trouble(lean_pool: Pool) -> None:
    goal = await first_goal(lean_pool, f": {'9' * 6000} ≠ 7")
    assert len(goal.target) > 6000
    assert facts_of(goal).target.numerals == (7,)


async def test_arguments_by_default_are_not_in_the_text(lean_pool: Pool) -> None:
    goal = await first_goal(lean_pool, "(a : Array Nat) : a.filter (· < 3) = a")
    assert facts_of(goal).target.numerals == (3,)


async def test_facts_follow_a_goal_through_steps(lean_pool: Pool) -> None:
    goal = await first_goal(
        lean_pool, "(n : Nat) : 0 < n → n ≠ 0", "intro h; have k : n = n + 0 := rfl"
    )
    forms = [
        spelt(one.proposition.form, hypothesis.type)
        for hypothesis, one in zip(goal.hypotheses, facts_of(goal).hypotheses, strict=True)
        if one.proposition
    ]
    assert forms == ["lt(0; n)", "eq(n; n + 0)"]
    assert spelt(facts_of(goal).target.form, goal.target) == "ne(n; 0)"
