"""Terms of arithmetic as Lean prints them: parsed, and computed as Lean's Nat, Int and Rat are.

Rules use it to try a guess on small numbers before Lean is asked to prove it. What it cannot read it
refuses, and a wrong value costs a rejected tactic: nothing is believed because of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from burnqed.policy.names import IDENT

Kind = Literal["Nat", "Int", "Rat"]
Quantity = int | Fraction
Value = Quantity | Callable[..., Quantity]
Values = Mapping[str, Value]
Kinds = Mapping[str, Kind]  # of variables, and of what functions return

_MOST_BITS = 2000  # of a power
_MOST_DIGITS = 100  # of a numeral
_MOST_TOKENS = 200  # of a term: it is read and computed by functions that call themselves
_TOKEN = re.compile(rf"\s*({IDENT.pattern}|\d+|[-+*/%^()↑:])")
_BINARY = {"+": (65, 66), "-": (65, 66), "*": (70, 71), "/": (70, 71), "%": (70, 71), "^": (75, 75)}
_NEGATION = 75
_TIGHTEST = 1024
# A real number is tried as a rational one.
KINDS: dict[str, Kind] = {"Nat": "Nat", "Int": "Int", "Rat": "Rat", "ℝ": "Rat"}


class Unreadable(ValueError):
    """What is not a term of arithmetic, or has no value that is worth computing."""


@dataclass(frozen=True, slots=True)
class Number:
    value: int


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Negated:
    term: Term


@dataclass(frozen=True, slots=True)
class Typed:
    """`(t : Int)`."""

    term: Term
    kind: Kind


@dataclass(frozen=True, slots=True)
class Cast:
    """`↑t`: of what kind is to be seen from what stands beside it."""

    term: Term


Term = Number | Name | Call | Binary | Negated | Typed | Cast


# ------------------------------------------------------------------------------------ reading


def parse(text: str) -> Term:
    """Raises `Unreadable`."""
    parser = _Parser(_tokens(text))
    term = parser.term(0)
    if parser.next is not None:
        raise Unreadable(text)
    return term


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unreadable(text)
        found.append(match[1])
        at = match.end()
    if len(found) > _MOST_TOKENS or any(len(one) > _MOST_DIGITS for one in found if one.isdecimal()):
        raise Unreadable("a long term")
    return found


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def next(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, wanted: str | None = None) -> str:
        token = self.next
        if token is None or (wanted is not None and token != wanted):
            raise Unreadable(f"{wanted or 'a term'} is missing")
        self._at += 1
        return token

    def term(self, least: int) -> Term:
        if self.next == "-":
            self._take()
            left: Term = Negated(self.term(_NEGATION))
        else:
            left = self._applied()
        while self.next in _BINARY:
            operator = self.next
            binds, right = _BINARY[operator]
            if binds < least:
                break
            self._take()
            left = Binary(operator, left, self.term(right))
        return left

    def _applied(self) -> Term:
        head = self._atom()
        arguments: list[Term] = []
        while self.next is not None and (self.next in ("(", "↑") or self.next[0].isalnum()):
            arguments.append(self._atom())
        if not arguments:
            return head
        if not isinstance(head, Name):
            raise Unreadable("only a name is applied")
        return Call(head.name, tuple(arguments))

    def _atom(self) -> Term:
        token = self._take()
        if token == "↑":
            return Cast(self._atom())
        if token == "(":
            inside = self.term(0)
            if self.next == ":":
                self._take()
                kind = KINDS.get(self._take())
                if kind is None:
                    raise Unreadable("a type that is not computed with")
                inside = Typed(inside, kind)
            self._take(")")
            return inside
        if token.isdecimal():
            return Number(int(token))
        if IDENT.fullmatch(token):
            return Name(token)
        raise Unreadable(token)


# ---------------------------------------------------------------------------------- computing


def names_in(term: Term) -> set[str]:
    match term:
        case Number():
            return set()
        case Name(name):
            return {name}
        case Call(function, arguments):
            return {function}.union(*map(names_in, arguments))
        case Binary(_, left, right):
            return names_in(left) | names_in(right)
        case Negated(inner) | Typed(inner) | Cast(inner):
            return names_in(inner)


def kind_of(term: Term, kinds: Kinds) -> Kind | None:
    """None of numerals and casts alone. Raises `Unreadable` for a name that is no number."""
    match term:
        case Number() | Cast():
            return None
        case Name(name) | Call(name, _):
            if name not in kinds:
                raise Unreadable(name)
            return kinds[name]
        case Binary("^", left, _):
            return kind_of(left, kinds)
        case Binary(_, left, right):
            return _same(kind_of(left, kinds), kind_of(right, kinds))
        case Negated(inner):
            own = kind_of(inner, kinds)
            if own == "Nat":
                raise Unreadable("a Nat is not negated")
            return own or "Int"
        case Typed(_, kind):
            return kind


def _same(one: Kind | None, other: Kind | None) -> Kind | None:
    if one and other and one != other:
        raise Unreadable(f"{one} and {other} together")
    return one or other


def compute(term: Term, kind: Kind, kinds: Kinds, values: Values) -> Quantity:
    """Its value as a `kind`. Raises `Unreadable`."""
    match term:
        case Number(value):
            return value
        case Name(name):
            given = values.get(name)
            if given is None or callable(given):
                raise Unreadable(name)
            return given
        case Call(function, arguments):
            called = values.get(function)
            if not callable(called):
                raise Unreadable(function)
            return called(*(compute(a, kind_of(a, kinds) or "Nat", kinds, values) for a in arguments))
        case Typed(inner, own):
            return compute(inner, own, kinds, values)
        case Cast(inner):
            return compute(inner, kind_of(inner, kinds) or "Nat", kinds, values)
        case Negated(inner):
            return -compute(inner, kind, kinds, values)
        case Binary("^", left, right):
            base = compute(left, kind, kinds, values)
            exponent = compute(right, "Nat", kinds, values)
            if kind_of(right, kinds) not in (None, "Nat") or not isinstance(exponent, int):
                raise Unreadable("an exponent that is not a natural number")
            size = max(base.numerator.bit_length(), base.denominator.bit_length())
            if exponent * size > _MOST_BITS:
                raise Unreadable("a large power")
            return Fraction(base) ** exponent if kind == "Rat" else base**exponent
        case Binary(operator, left, right):
            a, b = compute(left, kind, kinds, values), compute(right, kind, kinds, values)
            return _BY_OPERATOR[operator](a, b, kind)


def magnitude(n: Quantity) -> Quantity:
    return n if n >= 0 else -n


def _difference(a: Quantity, b: Quantity, kind: Kind) -> Quantity:
    return max(0, a - b) if kind == "Nat" else a - b


def _remainder(a: Quantity, b: Quantity, kind: Kind) -> Quantity:
    if kind == "Rat":
        raise Unreadable("a remainder of rationals")
    return a % magnitude(b) if b else a


def _quotient(a: Quantity, b: Quantity, kind: Kind) -> Quantity:
    """Lean's: the remainder of integers is never negative, and nothing is divided by 0."""
    if not b:
        return 0
    return Fraction(a) / b if kind == "Rat" else (a - a % magnitude(b)) // b


_BY_OPERATOR: dict[str, Callable[[Quantity, Quantity, Kind], Quantity]] = {
    "+": lambda a, b, _: a + b,
    "*": lambda a, b, _: a * b,
    "-": _difference,
    "/": _quotient,
    "%": _remainder,
}


# ------------------------------------------------------------------------------------ writing


def written(term: Term, least: int = 0) -> str:
    """As Lean reads it, in brackets if it binds less than `least`."""
    match term:
        case Number(value):
            return str(value)
        case Name(name):
            return name
        case Cast(inner):
            return f"↑{written(inner, _TIGHTEST)}"
        case Typed(inner, kind):
            return f"({written(inner)} : {kind})"
        case Call(function, arguments):
            words = [function, *(written(one, _TIGHTEST) for one in arguments)]
            return _bracketed(" ".join(words), _TIGHTEST - 1, least)
        case Negated(inner):
            return _bracketed(f"-{written(inner, _NEGATION)}", _NEGATION, least)
        case Binary(operator, left, right):
            own, after = _BINARY[operator]
            before = own + (operator == "^")  # which is grouped to the right
            text = f"{written(left, before)} {operator} {written(right, after)}"
            return _bracketed(text, own, least)


def _bracketed(text: str, own: int, least: int) -> str:
    return f"({text})" if own < least else text


def isolated(name: str, term: Term, other: Term) -> Term | None:
    """What `name` should be for `term` to equal `other`, if it stands in it once.

    Division may round, so this is a guess.
    """
    match term:
        case Name(found) if found == name:
            return other
        case Binary(operator, left, right) if operator in _INVERSES:
            if (name in names_in(left)) == (name in names_in(right)):
                return None
            on_left = name in names_in(left)
            inside, rest = (left, right) if on_left else (right, left)
            undone = _INVERSES[operator][0 if on_left else 1]
            turned = Binary(undone, rest, other) if undone == operator else Binary(undone, other, rest)
            return isolated(name, inside, turned)
    return None


# What undoes an operator whose left side, or right side, is looked for.
_INVERSES = {"+": ("-", "-"), "-": ("+", "-"), "*": ("/", "/"), "/": ("*", "/")}
