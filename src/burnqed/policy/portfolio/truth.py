"""Whether a proposition about numbers holds, for given values of its variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from burnqed.policy.portfolio.arithmetic import (
    KINDS,
    Kind,
    Kinds,
    Quantity,
    Term,
    Unreadable,
    Values,
    compute,
    kind_of,
    parse,
)
from burnqed.policy.portfolio.reading import Said

Test = Callable[[Values], bool | None]  # None: it cannot be said

# What a ∀ or an inner ∃ is tried for.
_TRIED: dict[Kind, Sequence[Quantity]] = {
    "Nat": range(13),
    "Int": range(-6, 7),
    "Rat": [Fraction(n, 2) for n in range(-6, 7)],
}


@dataclass(slots=True)
class Effort:
    """How many more comparisons may be made. They are counted, so that a rule always says the same."""

    left: int = 10_000

    @property
    def is_spent(self) -> bool:
        return self.left <= 0


def number_kind(type: str) -> Kind | None:
    """Of what a variable ranges over, if those are numbers."""
    return "Rat" if type == "Real" else KINDS.get(type)


def truth_of(said: Said, kinds: Kinds, effort: Effort) -> Test:
    """What says whether it holds. A ∀ is tried for a few values only, and so is an inner ∃.

    A part that is not about numbers says nothing, and neither does what depends on it. Nor
    does anything when the effort is spent.
    """
    match said.kind:
        case "true":
            return lambda values: True
        case "false":
            return lambda values: False
        case "and" | "or" | "implies" | "iff":
            left, right = (truth_of(part, kinds, effort) for part in said.parts)
            return _JOINS[said.kind](left, right)
        case "not":
            return _denied(truth_of(said.parts[0], kinds, effort))
        case "forall" | "exists":
            return _quantified(said, kinds, effort)
        case "mem":
            return _listed(said, kinds, effort)
        case kind if kind in _COMPARISONS:
            return _compared(said, kinds, effort)
    return lambda values: None


def relation(said: Said, kinds: Kinds) -> tuple[Term, Term, Kind] | None:
    """The two sides of a comparison, and what they are compared as."""
    try:
        left, right = parse(said.left), parse(said.right)
        one, other = kind_of(left, kinds), kind_of(right, kinds)
    except Unreadable:
        return None
    if one and other and one != other:
        return None
    return left, right, one or other or ("Int" if "↑" in said.text else "Nat")


def _compared(said: Said, kinds: Kinds, effort: Effort) -> Test:
    sides = relation(said, kinds)
    if sides is None:
        return lambda values: None
    left, right, kind = sides
    compare = _COMPARISONS[said.kind]

    def test(values: Values) -> bool | None:
        if effort.is_spent:
            return None
        effort.left -= 1
        try:
            a, b = compute(left, kind, kinds, values), compute(right, kind, kinds, values)
        except Unreadable:
            return None
        return compare(a, b)

    return test


def _quantified(said: Said, kinds: Kinds, effort: Effort) -> Test:
    type, body = said.parts
    kind = number_kind(type.text)
    if kind is None:
        return lambda values: None
    test = truth_of(body, {**kinds, said.name: kind}, effort)
    tried = _TRIED[kind]
    universal = said.kind == "forall"

    def tested(values: Values) -> bool | None:
        found: bool | None = True if universal else None
        for n in tried:
            if effort.is_spent:
                return None
            match test({**values, said.name: n}):
                case None:
                    found = None
                case bool(one) if one is not universal:
                    return one
        return found

    return tested


def _listed(said: Said, kinds: Kinds, effort: Effort) -> Test:
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
        if effort.is_spent:
            return None
        effort.left -= 1
        try:
            wanted = compute(one, kind, kinds, values)
            return wanted in [compute(term, kind, kinds, values) for term in all]
        except Unreadable:
            return None

    return test


def _denied(one: Test) -> Test:
    def test(values: Values) -> bool | None:
        found = one(values)
        return None if found is None else not found

    return test


def _all(one: Test, other: Test) -> Test:
    def test(values: Values) -> bool | None:
        first = one(values)
        if first is False:
            return False
        second = other(values)
        return False if second is False else (None if first is None else second)

    return test


def _any(one: Test, other: Test) -> Test:
    return _denied(_all(_denied(one), _denied(other)))


def _implied(one: Test, other: Test) -> Test:
    return _any(_denied(one), other)


def _equal(one: Test, other: Test) -> Test:
    return _all(_implied(one, other), _implied(other, one))


_JOINS: dict[str, Callable[[Test, Test], Test]] = {
    "and": _all,
    "or": _any,
    "implies": _implied,
    "iff": _equal,
}
_COMPARISONS: dict[str, Callable[[Quantity, Quantity], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "dvd": lambda a, b: b % a == 0 if a else b == 0,  # of integers
}
