"""Numbers, terms and functions that fit a claim wherever they were tried.

They are tried on a few values, in Python: a guess, which Lean then proves or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice, product

from burnqed.policy.names import mentions
from burnqed.policy.portfolio.arithmetic import (
    Kind,
    Quantity,
    Term,
    Unreadable,
    Values,
    compute,
    isolated,
    magnitude,
    names_in,
    parse,
    written,
)
from burnqed.policy.portfolio.reading import Binder, Reading, Said, premises
from burnqed.policy.portfolio.truth import Effort, Test, number_kind, relation, truth_of

_CLOSED_SIZE = {1: 4096, 2: 64, 3: 16, 4: 8}  # values of each, by how many are looked for
_OTHERS_SIZE = {0: 1, 1: 1000, 2: 32, 3: 10}  # of the others, where one is solved for
_TERMS = {1: 200, 2: 60, 3: 15}  # terms for each, likewise
_TRIED = {1: 24, 2: 7, 3: 4}  # values of each variable of the context, by how many there are
_FAR = (31, 37, 64, 100, 101, 255, 1000)


@dataclass(frozen=True, slots=True)
class Claim:
    """`∃ x y, body`, and what is known there: variables with their types, hypotheses, numerals."""

    wanted: dict[str, str]
    body: Said
    variables: dict[str, str]
    hypotheses: tuple[Said, ...]
    numerals: tuple[int, ...]
    effort: Effort = field(default_factory=Effort)

    def test(self, said: Said, kinds: Mapping[str, Kind]) -> Test:
        return truth_of(said, kinds, self.effort)

    @property
    def kinds(self) -> dict[str, Kind] | None:
        """Of what is wanted, if all of it is numbers."""
        found = _numbers(self.wanted)
        return found if len(found) == len(self.wanted) else None

    @property
    def numbers(self) -> dict[str, Kind]:
        """Of the variables those that are numbers; the claim's own, where there are many."""
        found = _numbers(self.variables)
        if len(found) <= max(_TRIED):
            return found
        return {name: kind for name, kind in found.items() if mentions(name, self.body.text)}

    @property
    def is_closed(self) -> bool:
        """It speaks of nothing but what is wanted."""
        return not any(mentions(name, self.body.text) for name in self.variables)


def claim_of(r: Reading) -> tuple[list[str], Claim] | None:
    """Names for `intro`, and what the target then claims, if that is that something exists."""
    binders, said = premises(r.shape)
    names = _introduced(r, binders)
    if said is None or said.kind != "exists" or names is None:
        return None
    variables = _variables(r, binders)
    unsaid = "Int" if "Int" in variables.values() else "Nat"  # where only the text is known
    wanted: dict[str, str] = {}
    while said.kind == "exists":
        type, body = said.parts
        wanted[said.name] = type.text or unsaid
        said = body
    claim = Claim(
        wanted,
        said,
        variables,
        (*r.fact_shapes.values(), *(one.said for one in binders if not one.name)),
        tuple(r.numerals),
    )
    return names, claim


def _introduced(r: Reading, binders: Sequence[Binder]) -> list[str] | None:
    """Their names after `intro`; None if one hides another, as texts do not say which they mean."""
    given = [one.name for one in binders if one.name is not None]
    names: list[str] = []
    for one in binders:
        name = r.fresh("h", [*given, *names]) if one.name is None else r.fresh(one.name, names)
        if one.name not in (None, name):
            return None
        names.append(name)
    return names


def _variables(r: Reading, binders: Sequence[Binder]) -> dict[str, str]:
    return {v.name: v.type for v in r.variables} | {one.name: one.type for one in binders if one.name}


def _numbers(types: Mapping[str, str]) -> dict[str, Kind]:
    return {name: kind for name, type in types.items() if (kind := number_kind(type))}


# ------------------------------------------------------------------------------------- numbers


def numbers_for(claim: Claim) -> Iterator[tuple[Quantity, ...]]:
    """Numbers that fit: what an equation leaves for one of them, and the smallest."""
    kinds = claim.kinds
    if kinds is None or len(kinds) not in _CLOSED_SIZE:
        return
    test = claim.test(claim.body, kinds)
    order = tuple(kinds)
    yield from islice(_solved_numbers(claim, kinds, test), 1)
    for numbers in _grid(tuple(kinds.values()), _CLOSED_SIZE[len(order)]):
        if test(dict(zip(order, numbers, strict=True))):
            yield numbers


def _solved_numbers(
    claim: Claim, kinds: Mapping[str, Kind], test: Test
) -> Iterator[tuple[Quantity, ...]]:
    order = tuple(kinds)
    for name, term in islice(_solutions(claim, kinds), 2):
        others = [one for one in order if one != name]
        size = _OTHERS_SIZE[len(others)]
        for numbers in _grid(tuple(kinds[one] for one in others), size):
            values: dict[str, Quantity] = dict(zip(others, numbers, strict=True))
            try:
                values[name] = compute(term, kinds[name], kinds, values)
            except Unreadable:
                continue
            if test(values):
                yield tuple(values[one] for one in order)


@lru_cache(maxsize=64)
def _grid(kinds: tuple[Kind, ...], size: int) -> tuple[tuple[Quantity, ...], ...]:
    """Values for each, the small ones first."""
    low = -(size // 2)
    ranges: dict[Kind, Sequence[Quantity]] = {
        "Nat": range(size),
        "Int": range(low, low + size),
        "Rat": [Fraction(n, 2) for n in range(low, low + size)],
    }
    return tuple(sorted(product(*(ranges[kind] for kind in kinds)), key=_smallness))


def _smallness(numbers: Sequence[Quantity]) -> tuple[Quantity, Quantity, list[tuple[Quantity, bool]]]:
    """Small ones first; of two that are equally small the positive one."""
    sizes = [magnitude(n) for n in numbers]
    return max(sizes, default=0), sum(sizes), [(magnitude(n), n < 0) for n in numbers]


def _solutions(claim: Claim, kinds: Mapping[str, Kind]) -> Iterator[tuple[str, Term]]:
    """Terms that a comparison in the claim suggests for one of the names, by the others."""
    for said in _atoms(claim.body):
        sides = relation(said, kinds) if said.kind in _NEAR else None
        if sides is None:
            continue
        left, right, _ = sides
        for name in claim.wanted:
            for one, other in ((left, right), (right, left)):
                if name in names_in(one) and name not in names_in(other):
                    found = isolated(name, one, other)
                    if found is not None:
                        yield name, found


_NEAR = frozenset({"eq", "le", "lt", "ge", "gt"})


def _atoms(said: Said) -> Iterator[Said]:
    if said.kind in ("and", "or", "not"):
        for part in said.parts:
            yield from _atoms(part)
    else:
        yield said


# --------------------------------------------------------------------------------------- terms


def terms_for(claim: Claim) -> Iterator[tuple[str, ...]]:
    """Terms over the variables of the context that fit wherever they were tried."""
    kinds, cases = claim.kinds, _cases(claim)
    if kinds is None or len(kinds) not in _TERMS or not cases:
        return
    test = claim.test(claim.body, {**claim.numbers, **kinds})
    offered = [_offered(claim, name, kind, cases) for name, kind in kinds.items()]
    for chosen in _simplest_first([len(one) for one in offered]):
        picked = [one[k] for one, k in zip(offered, chosen, strict=True)]
        tried = (
            test({**case, **{name: values[i] for name, (_, values) in zip(kinds, picked, strict=True)}})
            for i, case in enumerate(cases)
        )
        if all(tried):
            yield tuple(text for text, _ in picked)


def _cases(claim: Claim) -> list[dict[str, Quantity]]:
    """Values for the numbers of the context that its hypotheses allow."""
    kinds = claim.numbers
    if len(kinds) not in _TRIED:
        return []
    grid = _grid(tuple(kinds.values()), _TRIED[len(kinds)])
    far = (tuple(Fraction(n, 7) if k == "Rat" else n for k in kinds.values()) for n in _FAR)
    every = (dict(zip(kinds, numbers, strict=True)) for numbers in (*grid, *far))
    tests = [claim.test(said, kinds) for said in claim.hypotheses]
    return [case for case in every if all(test(case) is not False for test in tests)]


Offered = list[tuple[str, tuple[Quantity, ...]]]  # a term, and its value in each case


def _offered(claim: Claim, name: str, kind: Kind, cases: Sequence[Mapping[str, Quantity]]) -> Offered:
    """Terms for one name, the simple ones first, of those that are always equal one."""
    variables = claim.numbers
    solved = [
        written(term)
        for solved_for, term in _solutions(claim, {**variables, name: kind})
        if solved_for == name and names_in(term) <= set(variables)
    ]
    found: dict[tuple[Quantity, ...], str] = {}
    for text in _texts(kind, variables, claim.numerals, solved):
        try:
            term = parse(text)
            values = tuple(compute(term, kind, variables, case) for case in cases)
        except Unreadable:
            continue
        found.setdefault(values, text)
    return [(text, values) for values, text in islice(found.items(), _TERMS[len(claim.wanted)])]


def _texts(
    kind: Kind, variables: Mapping[str, Kind], numerals: Sequence[int], solved: Sequence[str]
) -> Iterator[str]:
    """Polynomials before quotients: Lean's tactics know more of them."""
    names = [
        name if own == kind else f"(↑{name})"
        for name, own in variables.items()
        if kind != "Nat" or own == "Nat"
    ]
    steps = list(dict.fromkeys([1, 2, *numerals[:6]]))
    yield from names
    yield from (str(n) for n in (0, *steps))
    for v in names:
        yield from (f"{v} {sign} {n}" for n in steps for sign in "+-")
        if kind != "Nat":
            yield f"-{v}"
        yield from (f"{n} * {v}" for n in steps if n > 1)
        yield from (f"{n} - {v}" for n in steps if n > 1)
        yield from (f"{v} * {v}", f"{v} * {v} + 1", f"{v} * {v} + {v}", f"{v} * {v} - {v}")
    for a, b in combinations(names, 2):
        yield from (f"{a} + {b}", f"{a} - {b}", f"{b} - {a}", f"{a} * {b}", f"{a} + {b} + 1")
        yield from (f"{a} * {b} + 1", f"{a} + 2 * {b}", f"2 * {a} + {b}")
    for text in solved:
        yield text
        yield from (f"{text} {sign} {n}" for sign in "+-" for n in steps[:3])
    for v in names:
        yield from (f"{n} * {v} + {m}" for n in steps if n > 1 for m in _below(n, steps))
        yield from (f"{v} {sign} {n}" for n in steps if n > 1 for sign in "/%")
        yield from (f"{v} / {n} + 1" for n in steps if n > 1)
        yield from (f"{v} - {v} % {n} + {m}" for n in steps if n > 1 for m in _below(2 * n, steps))
        yield from (f"{v} * {v} / {n}" for n in steps if n > 1)
    for a, b in combinations(names, 2):
        yield from (f"({a} + {b}) / 2", f"{a} / {b}", f"{a} % {b}", f"{b} / {a}", f"{b} % {a}")


def _below(n: int, steps: Sequence[int]) -> Sequence[int]:
    return list(dict.fromkeys([*range(1, min(n, 13)), *steps]))


def _simplest_first(lengths: Sequence[int]) -> list[tuple[int, ...]]:
    return sorted(product(*map(range, lengths)), key=lambda ks: (sum(ks), ks))


# ----------------------------------------------------------------------------- counterexamples


def counterexample(r: Reading) -> dict[str, int] | None:
    """Values of all variables for which the premises hold and the target does not; the smallest."""
    binders, said = premises(r.shape)
    variables = _variables(r, binders)
    kinds = _numbers(variables)
    known = len(kinds) == len(variables) and "Rat" not in kinds.values()
    if _introduced(r, binders) is None or not known or len(kinds) not in _CLOSED_SIZE:
        return None
    given = (*r.fact_shapes.values(), *(one.said for one in binders if one.name is None))
    effort = Effort()
    premised = [truth_of(one, kinds, effort) for one in given]
    test = None if said is None else truth_of(said, kinds, effort)
    for numbers in _grid(tuple(kinds.values()), _CLOSED_SIZE[len(kinds)]):
        values = dict(zip(kinds, numbers, strict=True))
        if (test is None or test(values) is False) and all(one(values) for one in premised):
            return {name: int(value) for name, value in values.items()}
    return None


# ----------------------------------------------------------------------------------- functions


def functions_for(claim: Claim, i: str) -> Iterator[str]:
    """Lines, powers, remainders: what a function of numbers may be, as a term in `i`."""
    name, type = next(iter(claim.wanted.items()))
    match = re.fullmatch(r"(Nat|Int) → (Nat|Int)", type)
    if match is None or len(claim.wanted) > 1:
        return
    kind = number_kind(match[2]) or "Nat"
    test = claim.test(claim.body, {name: kind})
    for text, function in _functions(i, claim.numerals, match):
        if test({name: function}):
            yield text


def _functions(
    i: str, numerals: Sequence[int], types: re.Match[str]
) -> Iterator[tuple[str, Callable[[int], Quantity]]]:
    given, kind = number_kind(types[1]) or "Nat", number_kind(types[2]) or "Nat"
    variable = i if given == kind else (f"(↑{i})" if kind == "Int" else f"{i}.toNat")
    steps = list(dict.fromkeys([0, 1, 2, *numerals[:6]]))
    texts = [variable, *map(str, steps)]
    texts += [f"{variable} {sign} {n}" for n in steps[1:] for sign in "+-"]
    texts += [f"{n} * {variable}" for n in steps[2:]]
    texts += [f"{n} * {variable} + {m}" for n in steps[2:] for m in steps[1:]]
    texts += [f"{variable} * {variable}", f"{variable} * ({variable} + 1) / 2", f"-{variable}"]
    texts += [f"{n} ^ {i}" for n in steps[2:]] + [
        f"{m} * {n} ^ {i}" for n in steps[2:] for m in steps[2:]
    ]
    texts += [f"{variable} {sign} {n}" for n in steps[2:] for sign in "/%"]
    for text in texts:
        if (kind == "Nat" and text.startswith("-")) or (given == "Int" and "^" in text):
            continue
        try:
            term = parse(text)
        except Unreadable:
            continue

        def function(n: int, term: Term = term) -> Quantity:
            values: Values = {i: n}
            return compute(term, kind, {i: given}, values)

        yield text, function
