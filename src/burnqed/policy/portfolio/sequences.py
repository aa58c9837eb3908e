"""Sequences as hypotheses give them: terms that are stated, and a rule for the terms that follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from burnqed.policy.portfolio.arithmetic import (
    Binary,
    Call,
    Kind,
    Name,
    Number,
    Quantity,
    Term,
    Unreadable,
    compute,
    parse,
    written,
)
from burnqed.policy.portfolio.reading import Binder, Reading, Said, premises
from burnqed.policy.portfolio.truth import number_kind

_MOST_BITS = 400  # of a term of a sequence


@dataclass(frozen=True, slots=True)
class Recurrence:
    """`x (m + width) = rule` for all m from `begin` on, where terms are stated.

    The rule is over `x 0`, `x 1`, … for the terms from m on. `fact` has it at the index of the new term
    less `back`; where it says so, only from `least` on.
    """

    name: str
    kind: Kind
    width: int
    begin: int
    rule: Term
    fact: str
    back: int
    least: int | None
    stated: dict[int, str]  # the facts, by index
    values: dict[int, Quantity]

    def following(self, window: Sequence[Quantity]) -> Quantity:
        """Raises `Unreadable` where it has no value that is worth computing."""

        def at(index: Quantity) -> Quantity:
            return window[int(index)]

        value = compute(self.rule, self.kind, {self.name: self.kind}, {self.name: at})
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
            raise Unreadable("a large term")
        return value

    def equation(self, m: str, k: int) -> str:
        """`x (m + k) = …`, from what is there: a term of Lean's with its type."""
        proof = f"{self.fact} {place(m, k - self.back)}"
        if self.least is not None:
            proof += f" {self._bounded(m, k - self.back)}"
        rule = self.ruled(lambda j: f"{self.name} {place(m, k - self.width + j)}")
        return f"(show {self.name} {place(m, k)} = {rule} from {proof})"

    def _bounded(self, m: str, offset: int) -> str:
        """That `m + offset` is not below where the recurrence begins to hold, from `hm : begin ≤ m`."""
        if not m:
            return "(by decide)"
        above = f"Nat.add_le_add_right hm {offset}" if offset else "hm"
        return f"(Nat.le_trans (by decide : {self.least} ≤ {self.begin + offset}) ({above}))"

    def ruled(self, term: Callable[[int], str]) -> str:
        """The rule with these in the place of the window's terms."""
        pattern = rf"(?<![\w.]){re.escape(self.name)} (\d+)"
        return re.sub(pattern, lambda match: term(int(match[1])), written(self.rule))

    def used(self) -> list[int]:
        """Which terms of the window it speaks of."""
        found: list[int] = []
        self.ruled(lambda j: found.append(j) or "")  # type: ignore[func-returns-value]
        return sorted(set(found))


def place(m: str, k: int) -> str:
    """An index: of a number, or of a variable and what is added to it."""
    if not m:
        return str(k)
    return f"({m} + {k})" if k else m


def sequences(r: Reading) -> Iterator[Recurrence]:
    for variable in r.of_type("Function"):
        kind = number_kind(variable.type.removeprefix("Nat → "))
        if not variable.type.startswith("Nat → ") or kind is None:
            continue
        stated: dict[int, str] = {}
        values: dict[int, Quantity] = {}
        for fact, said in r.fact_shapes.items():
            match = re.fullmatch(rf"{re.escape(variable.name)} (\d{{1,5}})", said.left)
            if said.kind != "eq" or not match:
                continue
            try:
                values[int(match[1])] = compute(parse(said.right), kind, {}, {})
            except Unreadable:
                continue
            stated[int(match[1])] = fact
        for fact, said in r.fact_shapes.items():
            found = _recurrence(variable.name, fact, said)
            if found is None:
                continue
            width, first, rule, back, least = found
            for begin in sorted(stated):
                if begin >= first and all(begin + j in stated for j in range(width)):
                    yield Recurrence(
                        variable.name, kind, width, begin, rule, fact, back, least, stated, values
                    )
                    break


def _recurrence(name: str, fact: str, said: Said) -> tuple[int, int, Term, int, int | None] | None:
    """The width, where a window may begin, the rule, the new term's index less ∀'s, a bound of that."""
    binders, rest = premises(said)
    if rest is None or rest.kind != "eq" or len(binders) not in (1, 2) or binders[0].name is None:
        return None
    variable = binders[0].name
    bound = _lower_bound(binders[1], variable) if len(binders) == 2 else 0
    try:
        left, right = parse(rest.left), parse(rest.right)
        head = _offset(left, name, variable)
        offsets = set(_offsets(right, name, variable))
    except Unreadable:
        return None
    if head is None or bound is None or not offsets:
        return None
    lowest = min(offsets)
    if lowest > 0 or not 1 <= head - lowest <= 6 or max(offsets) >= head or bound + lowest < 0:
        return None
    rule = _shifted(right, name, variable, -lowest)
    return head - lowest, bound + lowest, rule, head, bound if len(binders) == 2 else None


def _lower_bound(binder: Binder, variable: str) -> int | None:
    said = binder.said
    if said.kind in ("ge", "gt"):
        high, low = said.left, said.right
    elif said.kind in ("le", "lt"):
        low, high = said.left, said.right
    else:
        return None
    if high != variable or not low.isdecimal():
        return None
    return int(low) + (said.kind in ("gt", "lt"))


def _offset(term: Term, name: str, variable: str) -> int | None:
    """Of `x (n + 2)` it is 2."""
    if not isinstance(term, Call) or term.function != name or len(term.arguments) != 1:
        return None
    match term.arguments[0]:
        case Name(found) if found == variable:
            return 0
        case Binary("+" | "-" as operator, Name(found), Number(k)) if found == variable:
            return k if operator == "+" else -k
    return None


def _offsets(term: Term, name: str, variable: str) -> Iterator[int]:
    """Raises `Unreadable` for what is not made of numbers and terms of the sequence."""
    match term:
        case Number():
            return
        case Binary(_, left, right):
            yield from _offsets(left, name, variable)
            yield from _offsets(right, name, variable)
        case _:
            offset = _offset(term, name, variable)
            if offset is None:
                raise Unreadable("not a rule of the terms before")
            yield offset


def _shifted(term: Term, name: str, variable: str, by: int) -> Term:
    """With `x k` in the place of the window's k-th term."""
    if isinstance(term, Binary):
        left = _shifted(term.left, name, variable, by)
        return Binary(term.operator, left, _shifted(term.right, name, variable, by))
    offset = _offset(term, name, variable)
    return term if offset is None else Call(name, (Number(offset + by),))
