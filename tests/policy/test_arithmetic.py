"""Terms of arithmetic: read and written as Lean does, and computed with Lean's own results."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.core.types import Closed, Theorem, TheoremText
from burnqed.evaluation.prove import HEARTBEATS
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.policy.portfolio.arithmetic import (
    Binary,
    Call,
    Cast,
    Kind,
    Name,
    Negated,
    Number,
    Quantity,
    Term,
    Typed,
    Unreadable,
    compute,
    isolated,
    kind_of,
    names_in,
    parse,
    written,
)

TERMS: st.SearchStrategy[Term] = st.recursive(
    st.builds(Number, st.integers(0, 99)) | st.builds(Name, st.sampled_from(["x", "n₁", "h'"])),
    lambda inner: (
        st.builds(Binary, st.sampled_from("+-*/%^"), inner, inner)
        | st.builds(Negated, inner)
        | st.builds(Typed, inner, st.sampled_from(["Int", "Rat"]))
        | st.builds(Cast, inner)
        | st.builds(Call, st.just("f"), st.tuples(inner) | st.tuples(inner, inner))
    ),
    max_leaves=12,
)


@given(TERMS)
def test_what_is_written_is_read_again(term: Term) -> None:
    assert parse(written(term)) == term


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a - b - c", "(a - b) - c"),
        ("a ^ b ^ c", "a ^ (b ^ c)"),
        ("-a ^ 2", "-(a ^ 2)"),
        ("a * b % c / d", "((a * b) % c) / d"),
        ("f a + 1", "(f a) + 1"),
        ("2 * f (a + 1) b", "2 * (f (a + 1) b)"),
    ],
)
def test_operators_bind_as_in_lean(text: str, meant: str) -> None:
    assert parse(text) == parse(meant)


@pytest.mark.parametrize(
    "text",
    ["", "a +", "(a", "a)", "a = b", "fun x => x", "a ++ b", "xs[0]", "(a : Real)", "3 4", "∑"],
)
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


OPERATORS = ["+", "-", "*", "/", "%"]
NUMBERS: dict[Kind, list[Quantity]] = {
    "Nat": [0, 1, 3, 7],
    "Int": [-7, -3, 0, 2, 5],
    "Rat": [0, 2, Fraction(-3, 2), Fraction(5, 7)],
}


@pytest.mark.lean
@pytest.mark.parametrize("kind", NUMBERS)
async def test_values_are_leans(lean_pool: Pool, kind: Kind) -> None:
    """Truncated differences, division by zero and by negative numbers included."""
    claims = [
        f"(({a}) : {kind}) {op} ({b}) = ({compute(parse(f'x {op} y'), kind, {}, {'x': a, 'y': b})})"
        for op in (OPERATORS if kind != "Rat" else OPERATORS[:-1])
        for a in NUMBERS[kind]
        for b in NUMBERS[kind]
    ]
    claims += [
        f"(({a}) : {kind}) ^ 3 = ({compute(parse('x ^ 3'), kind, {}, {'x': a})})" for a in NUMBERS[kind]
    ]
    text = f"theorem t : {' ∧ '.join(claims)}"
    async with open_session(lean_pool, 50 * HEARTBEATS) as session:
        state = await session.start(Theorem("t", TheoremText(text)))
        assert isinstance(await session.apply(state, "and_intros <;> first | decide | grind"), Closed)


def test_kinds_are_never_mixed() -> None:
    kinds: dict[str, Kind] = {"n": "Nat", "z": "Int", "q": "Rat"}
    assert kind_of(parse("n + 1"), kinds) == "Nat"
    assert kind_of(parse("↑n * z"), kinds) == "Int"
    assert kind_of(parse("↑n * q + ↑z"), kinds) == "Rat"
    assert kind_of(parse("2 + 3"), kinds) is None
    for text in ("n + z", "z + q", "-n", "m"):
        with pytest.raises(Unreadable):
            kind_of(parse(text), kinds)
    # A difference of naturals that is cast is truncated before.
    assert compute(parse("↑(n - 5) + z"), "Int", kinds, {"n": 3, "z": -1}) == -1


def test_no_large_power_is_computed() -> None:
    with pytest.raises(Unreadable):
        compute(parse("2 ^ n"), "Nat", {"n": "Nat"}, {"n": 10**9})
    with pytest.raises(Unreadable):
        compute(parse("9 ^ 9 ^ 9 ^ 9"), "Nat", {}, {})


@pytest.mark.parametrize("text", ["2 ^ q", "2 ^ (z - 3)", "q ^ (q - 1)"])
def test_only_naturals_are_exponents(text: str) -> None:
    """Else a power would be a float, or divide by zero, and end the search."""
    kinds: dict[str, Kind] = {"q": "Rat", "z": "Int"}
    with pytest.raises(Unreadable):
        compute(parse(text), "Rat", kinds, {"q": Fraction(1, 2), "z": 0})


@pytest.mark.parametrize("text", ["(" * 5000 + "x" + ")" * 5000, "x" + " + x" * 5000, "9" * 5000])
def test_what_is_long_is_not_read(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


@pytest.mark.parametrize(
    ("term", "other", "found"),
    [
        ("3 * x + 5", "n", "(n - 5) / 3"),
        ("a - x", "7", "a - 7"),
        ("x - a", "7", "7 + a"),
        ("x / 4", "n", "n * 4"),
        ("x * x", "n", None),
        ("2 ^ x", "n", None),
    ],
)
def test_one_name_is_solved_for(term: str, other: str, found: str | None) -> None:
    given = isolated("x", parse(term), parse(other))
    assert (None if given is None else written(given)) == found
    assert given is None or "x" not in names_in(given)
