"""What a goal's text says. A misreading costs a rejected tactic; an exception would cost the search."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from burnqed.core.types import Goal, Hypothesis
from burnqed.policy.portfolio.portfolio import Portfolio, rate
from burnqed.policy.portfolio.reading import Reading, Said, premises
from burnqed.policy.portfolio.text_facts import form_of


def goal(target: str, *hypotheses: str) -> Goal:
    """A goal from lines as Lean prints them: `n m : Nat`, and `a✝ : p` for a name one cannot say."""
    found = []
    for line in hypotheses:
        names, _, type = line.partition(" : ")
        found += [Hypothesis(n, type, inaccessible="✝" in n) for n in names.split()]
    return Goal("g", target, tuple(found))


def read(target: str, *hypotheses: str) -> Reading:
    return Reading(goal(target, *hypotheses))


def said(text: str) -> Said:
    return Said(form_of(text), text)


@pytest.mark.parametrize(
    ("text", "kind", "sides"),
    [
        ("a = b", "eq", ["a", "b"]),
        ("a + 1 ≤ b * c", "le", ["a + 1", "b * c"]),
        ("a ∣ b ^ 2", "dvd", ["a", "b ^ 2"]),
        ("x ∈ xs ++ ys", "mem", ["x", "xs ++ ys"]),
        ("x ∉ xs", "not", ["x ∉ xs"]),
        ("p → q → r", "implies", ["p", "q → r"]),
        ("p ∧ q ∧ r", "and", ["p", "q ∧ r"]),
        ("p ∧ q ∨ r", "or", ["p ∧ q", "r"]),
        ("p ∨ q → r ↔ s", "iff", ["p ∨ q → r", "s"]),
        ("a = b ∧ c < d", "and", ["a = b", "c < d"]),
        ("(p → q) ∧ r", "and", ["p → q", "r"]),
        ("((p ∧ q))", "and", ["p", "q"]),
        ("¬p", "not", ["p"]),
        ("¬p ∨ q", "or", ["¬p", "q"]),
        ("False", "false", []),
        ("∀ (n : Nat), n = n", "forall", ["Nat", "n = n"]),
        ("∃ n, n = 3 ∧ p n", "exists", ["", "n = 3 ∧ p n"]),
        # The ∧ is inside of what exists, the → before it is not.
        ("p → ∃ n, q n ∧ r n", "implies", ["p", "∃ n, q n ∧ r n"]),
        ("f (a = b) < c", "lt", ["f (a = b)", "c"]),
        ("List.Nodup xs", "other", []),
        ("a\n  =\n  b", "eq", ["a", "b"]),
        ("(a == b) = true", "eq", ["(a == b)", "true"]),
    ],
)
def test_forms(text: str, kind: str, sides: list[str]) -> None:
    assert (said(text).kind, [part.text for part in said(text).parts]) == (kind, sides)


@pytest.mark.parametrize(
    ("text", "binders", "rest"),
    [
        ("n = n", [], "n = n"),
        ("∀ (n m : Nat), n = m", [("n", "Nat"), ("m", "Nat")], "n = m"),
        ("∀ n, p n", [("n", "")], "p n"),
        ("∀ {α : Type} [i : Add α] ⦃x : α⦄, p x", [("α", "Type"), ("i", "Add α"), ("x", "α")], "p x"),
        ("∀ (n : Nat), n < 3 → p n → q", [("n", "Nat"), (None, "n < 3"), (None, "p n")], "q"),
        ("∀ x ∈ xs, p x", [("x", ""), (None, "x ∈ xs")], "p x"),
        ("p → ∀ (n : Nat), q n", [(None, "p"), ("n", "Nat")], "q n"),
        ("p → ¬q", [(None, "p"), (None, "q")], None),
        ("∀ (f : Nat → Nat) (h : ∀ n, f n = 0), p", [("f", "Nat → Nat"), ("h", "∀ n, f n = 0")], "p"),
        ("(p → q) → r", [(None, "p → q")], "r"),
    ],
)  # fmt: skip
def test_what_intro_would_take(
    text: str, binders: list[tuple[str | None, str]], rest: str | None
) -> None:
    found, left = premises(said(text))
    assert [(binder.name, binder.type) for binder in found] == binders
    assert (left.text if left else None) == rest


def test_variables_and_facts() -> None:
    r = read(
        "p", "α : Type u_1", "p q : Prop", "n m : Nat", "f : Nat → Nat", "R : Nat → Nat → Prop",
        "h : n < m", "hp : p", "hr : R n m", "hn : ¬q", "hx : List.Nodup [n]", "hc : Nat.Coprime n m",
        "o : Option Nat", "ht : True", "a✝ : n = 0",
    )  # fmt: skip
    assert [v.name for v in r.variables] == ["α", "p", "q", "n", "m", "f", "R", "o"]
    assert list(r.facts) == ["h", "hp", "hr", "hn", "hx", "hc", "ht"]
    assert [v.name for v in r.of_type("Nat")] == ["n", "m"], "and no function of a Nat"
    assert [h.name for h in r.unnamed] == ["a✝"]


def test_a_name_that_comes_twice_is_the_later_one() -> None:
    r = read("p", "p : Prop", "h : Nat", "h : p")
    assert list(r.facts) == ["h"]
    assert [v.name for v in r.variables] == ["p"]


def test_constants() -> None:
    r = read(
        "t.height ≤ size t + Tree.leaf.height ∧ ∀ (y : Nat), foo y = h.1",
        "α : Type", "t : Tree α", "h : Nat × Nat",
    )  # fmt: skip
    assert "Tree.height" in r.constants, "what `t.height` stands for when t is a Tree"
    assert {"size", "foo"} <= set(r.constants)
    assert "t.height" not in r.constants
    assert not {"y", "t", "h", "α"} & set(r.constants)


@pytest.mark.parametrize(
    ("target", "constants"),
    [
        ("∀ x ∈ primes n, x < 5", ["primes"]),
        ("∀ x < limit 3, ok x", ["limit", "ok"]),
        ("∀ (α : Type u_1) {β : Type u_2} (xs ys : List α), glorp xs ys", ["List", "glorp"]),
        ("(fun (aa : Nat) (bb : Int) => bar aa bb) 1 2 = 3", ["Nat", "Int", "bar"]),
        ("∃ xx yy, xx < yy ∧ bar xx", ["bar"]),
        ("¬foo 3", ["foo"]),
        ("getElem t = if h₂ : bar k = true then v else foo", ["getElem", "bar", "foo"]),
        ("(do let lifted ← step; pure lifted) = foo || bar", ["step", "pure", "foo", "bar"]),
        ("List.Perm ?mk.l₂ foo", ["List.Perm", "foo"]),
    ],
)  # fmt: skip
def test_what_is_bound_is_no_constant(target: str, constants: list[str]) -> None:
    r = Reading(Goal("g", target))
    assert list(r.constants) == constants


@pytest.mark.parametrize(
    ("target", "tried"),
    [
        ("∀ (a b : Bool), (a && b) = (b && a)", True),
        ("∀ x < 5, x * x < 25", True),
        ("∀ (i : Fin 3), i < 3 → i ≠ 4", True),
        ("∀ (n : Nat), n + 0 = n", False),
        ("∀ (b : Bool) (n : Nat), cond b n n = n", False),
    ],
)
def test_decide_is_for_what_can_be_tried(target: str, tried: bool) -> None:
    tactics = [tactic for tactic, _ in rate(Goal("g", target))]
    assert ("decide" in tactics) == tried
    assert not any("fun_induction" in tactic for tactic in tactics), "a call of bound names"


def test_numerals() -> None:
    r = read("x + 12 < 7 * y ^ 2 + a1 + 12345678", "x y a1 : Nat", "h : x.1 = 30 ∧ y = 12")
    assert r.numerals == [2, 7, 12, 30]


def test_fresh_names() -> None:
    r = read("p", "h h1 : Nat", "a✝ : p")
    assert r.fresh("h") == "h2"
    assert r.fresh("k") == "k"
    assert r.fresh("a✝") not in ("a✝", "")


def test_a_name_is_mentioned_as_a_whole_word() -> None:
    r = read("n1 + m.succ = 0", "n n1 m : Nat")
    assert r.mentions("n1", r.target)
    assert r.mentions("m", r.target), "by its field"
    assert not r.mentions("n", r.target)
    assert not r.closed
    assert read("2 + 2 = 4", "n : Nat").closed
    assert not read("x✝ = 4", "x✝ : Nat").closed


# ------------------------------------------------------------------------- any text

TOKENS = """
    ∀ ∃ ∃! , → ↔ ∧ ∨ ¬ = ≠ ≤ < ≥ > ∣ ∈ ∉ ⊆ ~ == ( ) [ ] { } ⟨ ⟩ ⦃ ⦄ fun λ => if then else match with
    let := : + - * / % ^ :: ++ ∘ × ↑ | && . .. # " ' _ ✝ ² ① ₁ n m x xs f p S ih h.1 x✝ «a b» 0 1 2
    3 7 12 99999 1.5 111111111111111111111111111 Nat Int List Rat Bool Prop Type True False None
    t.height S.Nodup xs.length Tree.leaf List.range Nat.succ decide omega
"""
TEXTS = st.builds(
    lambda words, gap: gap.join(words),
    st.lists(st.sampled_from([*TOKENS.split(), "\n"]), max_size=14),
    st.sampled_from([" ", " ", ""]),
)
NAMES = st.sampled_from(["n", "m", "x", "xs", "f", "h", "ih", "k", "S", "«(»", "α", "a✝"])
TYPES = (
    st.sampled_from(["Nat", "Int", "List Nat", "Rat", "Prop", "Type u", "Tree α", "Nat × Nat", "Fin 8"])
    | TEXTS
    | TEXTS.map(lambda text: f"∀ {text}")
    | TEXTS.map(lambda text: f"∃ {text}")
    | st.builds("{} {} {}".format, NAMES, st.sampled_from(["<", "≤", ">", "≥", "∣", "="]), TEXTS)
)  # fmt: skip
HYPOTHESES = st.builds(lambda name, type: Hypothesis(name, type, None, "✝" in name), NAMES, TYPES)
GOALS = st.builds(lambda t, hs: Goal("g", t, tuple(hs)), TEXTS, st.lists(HYPOTHESES, max_size=6))


@settings(max_examples=500, deadline=None)
@given(GOALS)
@example(goal("p", "h : ∀ x"))  # a ∀ that has no body
@example(goal("n", "n : "))
@example(goal("n = 2", "n : Nat", "h : n ≤ ²"))  # a digit to Python, and no number
@example(goal("n % 7 = 2", "n : Nat", f"h : n ≤ {'9' * 5000} ∧ n % {'9' * 5000} = 0"))
@example(goal("«(» * x < 3", "«(» x : Int", "h : «(» < 3 ∧ x < 3", "k : «(» = x"))
@example(goal(""))
@example(goal("(" * 300 + "p ∧ q" + ")" * 300))
def test_any_text_gets_tactics(any_goal: Goal) -> None:
    rated = rate(any_goal)
    assert rated
    assert all(tactic.strip() and weight < 5 for tactic, weight in rated)


async def test_the_portfolio_reads_the_first_goal() -> None:
    one, two = goal("p ∧ q", "p q : Prop"), goal("∀ (n : Nat), n = n")
    alone = await Portfolio().propose([[one], [two]], 5, 0.0, 0)
    assert alone == await Portfolio().propose([[one, two], [two, one]], 5, 0.0, 7)
    assert [len(found) for found in alone] == [5, 5]
    assert alone[1][0].tactic == "intro n"
