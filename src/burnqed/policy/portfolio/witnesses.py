"""What is said to exist: numbers and terms that fit where they were tried, or what is at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.fitting import Claim, claim_of, functions_for, numbers_for, terms_for
from burnqed.policy.portfolio.reading import Reading, Said

_GIVEN = 3  # witnesses that are proposed


def witnesses(r: Reading) -> Iterator[Rated]:
    """For a target that says that something exists, perhaps of all variables with some premises."""
    found = claim_of(r)
    if found is None:
        return
    names, claim = found
    intro = f"intro {' '.join(names)}\n" if names else ""
    used = [*names, *claim.wanted]
    terms = [] if claim.is_closed else list(islice(terms_for(claim), _GIVEN))
    made = chain(_made(r, claim, terms, used), _multiples(r, claim, terms, used))
    yield from ((intro + tactic, weight) for tactic, weight in made)
    if not names:
        yield from _guesses(r)
        yield from _decided_parts(r, claim)


def _made(
    r: Reading, claim: Claim, terms: Sequence[Sequence[str]], used: Sequence[str]
) -> Iterator[Rated]:
    """Witnesses that there is reason to believe in."""
    rational = "Rat" in (claim.kinds or {}).values()
    for k, chosen in enumerate(terms):
        first = {"by grind": 2.4} if rational else {"by omega": 2.4, "by grind": 1.6}
        yield from _ended(", ".join(chosen), {**first, "?_": 1.8}, k)
    if claim.is_closed:
        for k, numbers in enumerate(islice(numbers_for(claim), _GIVEN)):
            found = ", ".join(str(n) if n >= 0 and n == int(n) else f"({n})" for n in numbers)
            first = {"by grind": 2.4} if rational else {"by decide": 2.4}
            yield from _ended(found, {**first, "by simp": 0.6, "?_": 0.4}, k)
    i = r.fresh("i", used)
    for k, text in enumerate(islice(functions_for(claim, i), _GIVEN)):
        ends = {"by grind": 2.0, "by simp <;> omega": 1.6, "?_": 1.4}
        yield from _ended(f"fun {i} => {text}", ends, k)
    x, h = r.fresh("x", used), r.fresh("h", used)
    for text in _diagonals(claim.variables, next(iter(claim.wanted.values())), x):
        ends = {f"fun {x} {h} => by have := congrFun {h} {x}; grind": 1.0, "?_": 0.6}
        yield from _ended(text, ends, 0)


def _ended(witness: str, ends: Mapping[str, float], rank: int) -> Iterator[Rated]:
    """A witness, with each way to prove that it is one."""
    for end, weight in ends.items():
        yield f"{'refine' if end == '?_' else 'exact'} ⟨{witness}, {end}⟩", weight - 0.8 * rank


def diagonals(r: Reading) -> Iterator[Rated]:
    """A contradiction, where a hypothesis says that every function of the type is some `f x`."""
    for name, shape in list(r.fact_shapes.items())[-4:]:
        if shape.kind != "forall" or shape.parts[1].kind != "exists":
            continue
        x, h = r.fresh("x"), r.fresh("hx")
        types = {v.name: v.type for v in r.variables}
        for text in _diagonals(types, shape.parts[0].text, x):
            yield f"obtain ⟨{x}, {h}⟩ := {name} ({text})\nhave := congrFun {h} {x}\ngrind", 1.0
            yield f"obtain ⟨{x}, {h}⟩ := {name} ({text})", -0.6


def _diagonals(variables: Mapping[str, str], type: str, x: str) -> Iterator[str]:
    """Cantor's: of a type `α → β`, what differs from every `f x` at `x`."""
    argument, _, value = type.rpartition(" → ")
    differs = _DIFFERENT.get(value)
    if argument and differs:
        for name, own in variables.items():
            if own in (f"{argument} → {type}", f"{argument} → ({type})"):
                yield f"fun {x} => {differs.format(f'{name} {x} {x}')}"


_DIFFERENT = {"Prop": "¬{}", "Bool": "!{}", "Nat": "{} + 1", "Int": "{} + 1"}


def _guesses(r: Reading) -> Iterator[Rated]:
    """Terms of the goal, and small numbers, untried."""
    type = r.shape.parts[0].text
    terms = [v.name for v in r.variables if not type or v.type == type]
    if type in ("", "Nat", "Int"):
        numbers = [v.name for v in r.of_type("Nat", "Int")]
        terms += [f"{a} - {b}" for a in numbers[:3] for b in numbers[:3] if a != b]
        terms += [str(n) for n in [0, 1, 2, *r.numerals] if n < 10**5]
        terms += [f"{a} + {b}" for a, b in combinations(numbers[:3], 2)]
        terms += [f"{a} * {b}" for a, b in combinations(numbers[:3], 2)]
        terms += [f"{v} + 1" for v in numbers[:3]] + [f"{v} / 2" for v in numbers[:2]]
    yield "exact ⟨_, rfl⟩", -2.2
    yield "constructor", -2.8
    yield "simp", -1.0
    for i, term in enumerate(list(dict.fromkeys(terms))[:14]):
        yield f"refine ⟨{term}, ?_⟩", -1.8 - 0.15 * i
        yield f"exact ⟨{term}, by omega⟩", -2.0 - 0.12 * i
        yield f"exact ⟨{term}, by simp_all⟩", -2.4 - 0.15 * i
        yield f"exact ⟨{term}, by grind⟩", -2.6 - 0.15 * i


def _decided_parts(r: Reading, claim: Claim) -> Iterator[Rated]:
    """Cases on a part of the claim that does not speak of what is said to exist."""
    seen: dict[str, None] = {}
    for said in _parts(claim.body):
        if said.text and not any(r.mentions(name, said.text) for name in claim.wanted):
            seen.setdefault(said.text)
    for text in list(seen)[:3]:
        yield f"by_cases {r.fresh('hc')} : {text}", -1.2
        yield f"by_cases {r.fresh('hc')} : {text} <;> grind", -1.4


def _parts(said: Said) -> Iterator[Said]:
    yield said
    if said.kind in ("and", "or", "implies", "iff", "not"):
        for part in said.parts:
            yield from _parts(part)


def _multiples(
    r: Reading, claim: Claim, terms: Sequence[Sequence[str]], used: Sequence[str]
) -> Iterator[Rated]:
    """A number as a multiple and a rest, where the claim is not linear in it.

    A witness that rounds is then often one that does not.
    """
    if not re.search(r"[*^]", claim.body.text):
        return
    rounds = any("/" in term for term in next(iter(terms), ()))
    numbers = [name for name in claim.numbers if r.mentions(name, claim.body.text)]
    k = r.fresh("k", used)
    for i, name in enumerate(numbers[:2]):
        for modulus in dict.fromkeys([2, *(n for n in claim.numerals if 2 < n <= 5)]):
            forms = [f"{name} = {modulus} * {k}" + (f" + {n}" if n else "") for n in range(modulus)]
            cases = f"⟨{k}, {' | '.join(['rfl'] * modulus)}⟩ : ∃ {k}, {' ∨ '.join(forms)}"
            weight = (2.0 if rounds else -1.4) - 0.4 * i - 0.3 * (modulus - 2)
            yield f"obtain {cases} := ⟨{name} / {modulus}, by omega⟩", weight
