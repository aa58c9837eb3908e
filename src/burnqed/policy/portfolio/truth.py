"""Whether a proposition about numbers holds, for given values of its variables."""

from __future__ import annotations

from collections.abc import Callable

from burnqed.policy.portfolio.arithmetic import (
    Kind,
    Kinds,
    Term,
    Unreadable,
    Values,
    compute,
    kind_of,
    parse,
)
from burnqed.policy.portfolio.reading import Said

Test = Callable[[Values], bool | None]  # None: it cannot be said

_NATURALS = range(13)
_INTEGERS = range(-6, 7)
_KINDS: dict[str, Kind] = {"Nat": "Nat", "Int": "Int"}


def number_kind(type: str) -> Kind | None:
    """Of what a variable ranges over, if those are numbers."""
    return _KINDS.get(type)


def test_of(said: Said, kinds: Kinds) -> Test:
    """What says whether it holds. A ∀ is tried for a few values only, and so is an inner ∃.

    A part that is not about numbers says nothing, and neither does what depends on it.
    """
    match said.kind:
        case "true":
            return lambda values: True
        case "false":
            return lambda values: False
        case "and" | "or" | "implies" | "iff":
            left, right = (test_of(part, kinds) for part in said.parts)
            join = _JOINS[said.kind]
            return lambda values: join(left(values), right(values))
        case "not":
            inner = test_of(said.parts[0], kinds)
            return lambda values: _denied(inner(values))
        case "forall" | "exists":
            return _quantified(said, kinds)
        case "mem":
            return _listed(said, kinds)
        case kind if kind in _COMPARISONS:
            return _compared(said, kinds)
    return lambda values: None


def relation(said: Said, kinds: Kinds) -> tuple[Term, Term, Kind] | None:
    """The two sides of a comparison, and what they are compared as."""
    try:
        left, right = parse(said.left), parse(said.right)
        one, other = kind_of(left, kinds), kind_of(right, kinds)
    except Unreadable:
        return None
    return (left, right, one or other or "Nat") if not (one and other and one != other) else None


def _compared(said: Said, kinds: Kinds) -> Test:
    sides = relation(said, kinds)
    if sides is None:
        return lambda values: None
    left, right, kind = sides
    compare = _COMPARISONS[said.kind]

    def test(values: Values) -> bool | None:
        try:
            a, b = compute(left, kind, kinds, values), compute(right, kind, kinds, values)
        except Unreadable:
            return None
        return compare(a, b)

    return test


def _quantified(said: Said, kinds: Kinds) -> Test:
    type, body = said.parts
    kind = number_kind(type.text)
    if kind is None:
        return lambda values: None
    test = test_of(body, {**kinds, said.name: kind})
    tried = _NATURALS if kind == "Nat" else _INTEGERS
    universal = said.kind == "forall"

    def tested(values: Values) -> bool | None:
        outcomes = [test({**values, said.name: n}) for n in tried]
        if universal:
            return False if False in outcomes else (None if None in outcomes else True)
        return True if True in outcomes else None

    return tested


def _listed(said: Said, kinds: Kinds) -> Test:
    """`x ∈ [1, 2, 3]`."""
    text = said.right
    if not (text.startswith("[") and text.endswith("]") and "[" not in text[1:]):
        return lambda values: None
    try:
        one, all = parse(said.left), [parse(part) for part in text[1:-1].split(",") if part.strip()]
        kind = kind_of(one, kinds) or "Nat"
    except Unreadable:
        return lambda values: None

    def test(values: Values) -> bool | None:
        try:
            wanted = compute(one, kind, kinds, values)
            return wanted in [compute(term, kind, kinds, values) for term in all]
        except Unreadable:
            return None

    return test


def _denied(one: bool | None) -> bool | None:
    return None if one is None else not one


def _all(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _any(one: bool | None, other: bool | None) -> bool | None:
    return _denied(_all(_denied(one), _denied(other)))


_JOINS: dict[str, Callable[[bool | None, bool | None], bool | None]] = {
    "and": _all,
    "or": _any,
    "implies": lambda one, other: _any(_denied(one), other),
    "iff": lambda one, other: None if one is None or other is None else one == other,
}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "dvd": lambda a, b: b % a == 0 if a else b == 0,
}
