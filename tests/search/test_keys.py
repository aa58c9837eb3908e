"""Equal up to names and order, and nothing else; and the way back to the names."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.core.types import Advanced, Closed, Goal, Hypothesis, Proposition, Theorem
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.search.keys import bridge, key_of


def goal(target: str, *hypotheses: str) -> Goal:
    """`goal("a < b", "a : Nat", "b : Nat", "h✝ : a = b")`."""
    parsed = [text.split(" : ", 1) for text in hypotheses]
    context = tuple(Hypothesis(n, t, inaccessible="✝" in n) for n, t in parsed)
    return Goal("g", target, context, holes=())


def same(a: Goal, b: Goal) -> bool:
    return key_of([a]).text == key_of([b]).text


def test_names_and_order_do_not_matter() -> None:
    a = goal("a < b", "a : Nat", "b : Nat", "h : a = b", "k : 0 < a")
    b = goal("x < y", "y : Nat", "x : Nat", "u : 0 < x", "v : x = y")
    assert same(a, b)


@pytest.mark.parametrize(
    "other",
    [
        goal("b < a", "a : Nat", "b : Nat", "h : a = b", "k : 0 < a"),
        goal("a < b", "a : Nat", "b : Int", "h : a = b", "k : 0 < a"),
        goal("a < b", "a : Nat", "b : Nat", "h : a = b", "k : 0 < b"),
        goal("a < b", "a : Nat", "b : Nat", "h : a = b"),
        goal("a ≤ b", "a : Nat", "b : Nat", "h : a = b", "k : 0 < a"),
    ],
)
def test_what_is_said_does(other: Goal) -> None:
    assert not same(goal("a < b", "a : Nat", "b : Nat", "h : a = b", "k : 0 < a"), other)


def test_a_field_is_not_a_hypothesis_of_that_name() -> None:
    a = goal("p.fst = 1", "fst : Nat", "p : Nat × Nat")
    b = goal("p.fst = 1", "snd : Nat", "p : Nat × Nat")
    assert same(a, b)
    assert "fst" in key_of([a]).text


def test_hypotheses_without_names_keep_their_order() -> None:
    """`rename_i` names them by it, so swapping two of them makes another state."""
    a = goal("True", "x✝ : Nat", "y✝ : Int")
    assert not same(a, goal("True", "y✝ : Int", "x✝ : Nat"))
    assert same(a, goal("True", "u✝ : Nat", "v✝ : Int"))


def test_coupled_goals_count_their_metavariables() -> None:
    def pair(first: str, second: str) -> list[Goal]:
        return [goal(f"p {first}"), goal(f"q {second}")]

    assert key_of(pair("?m.1", "?m.1")).text == key_of(pair("?m.7", "?m.7")).text
    assert key_of(pair("?m.1", "?m.1")).text != key_of(pair("?m.1", "?m.2")).text


letters = st.sampled_from("abcde")


@st.composite
def goals(draw: st.DrawFn) -> Goal:
    variables = draw(st.lists(letters, unique=True, min_size=1))
    context = [f"{v} : {draw(st.sampled_from(['Nat', 'Int']))}" for v in variables]
    some = st.sampled_from(variables)
    facts = draw(st.lists(st.tuples(some, some), max_size=3))
    context += [f"h{i} : {a} < {b}" for i, (a, b) in enumerate(facts)]
    return goal(f"{draw(some)} = {draw(some)}", *context)


@given(this=goals(), seed=st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_any_renaming_has_a_bridge_back(this: Goal, seed: int) -> None:
    """Renamed one-to-one: if the keys are equal, the names correspond, hypothesis by hypothesis."""
    new = {h.name: f"z{i}" for i, h in enumerate(this.hypotheses)}
    rename = {ord(old): name for old, name in new.items() if len(old) == 1}
    context = [
        Hypothesis(new[h.name], h.type.translate(rename) if "<" in h.type else h.type)
        for h in this.hypotheses
    ]
    other = Goal("g", this.target.translate(rename), tuple(context), holes=())
    mine, its = key_of([this]), key_of([other])
    assert mine.text == its.text
    text = bridge([this], mine, its)
    assert text.startswith("revert ")
    random.Random(seed).shuffle(context)
    shuffled = Goal("g", other.target, tuple(context), holes=())
    if key_of([shuffled]).text == its.text:
        assert sorted(key_of([shuffled]).names) == sorted(its.names)


def test_no_bridge_where_no_name_differs() -> None:
    a, b = goal("a < b", "a : Nat", "b : Nat"), goal("a < b", "b : Nat", "a : Nat")
    assert bridge([a], key_of([a]), key_of([b])) == ""


@pytest.mark.lean
async def test_a_bridge_works_in_lean(lean_pool: Pool) -> None:
    """A proof of one state, written with its names, proves the other behind the bridge."""
    statement = Proposition("∀ (a b : Nat), a < b → (a = 0 ∨ b = 1) → 0 < b")
    async with open_session(lean_pool) as session:
        root = await session.start(Theorem("t", statement))
        one = await session.apply(root, "intro a b h k")
        assert isinstance(one, Advanced)
        for names in ("x y u v", "b a k h"):
            other = await session.apply(root, f"intro {names}")
            assert isinstance(other, Advanced)
            known, here = key_of(one.state.goals), key_of(other.state.goals)
            assert known.text == here.text
            text = bridge(other.state.goals, here, known)
            renamed = await session.apply(other.state, text)
            assert isinstance(renamed, Advanced)
            closed = await session.apply(renamed.state, "exact Nat.lt_of_le_of_lt (Nat.zero_le a) h")
            assert isinstance(closed, Closed)
