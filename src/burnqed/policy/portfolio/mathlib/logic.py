"""Negations pushed inwards, both halves of a claim at once, witnesses, extensionality."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.fitting import claim_of, numbers_for, terms_for
from burnqed.policy.portfolio.mathlib.numbers import COMPARED, is_nonlinear, is_numeric
from burnqed.policy.portfolio.reading import Reading

_NESTED = ("forall", "exists", "and", "or", "implies", *COMPARED)


def negations(r: Reading) -> Iterator[Rated]:
    """¬ moved to where it says something, and a proof by contradiction or contraposition."""
    if r.shape.kind == "not" and r.shape.parts[0].kind in _NESTED:
        yield "push_neg", -0.8
    for i, (name, said) in enumerate(list(r.fact_shapes.items())[::-1][:4]):
        if said.kind == "not" and said.parts[0].kind in _NESTED:
            yield f"push_neg at {name}", -0.8 - 0.3 * i
        if r.shape.kind in (*COMPARED, "ne", "eq", "not", "exists", "other"):
            yield f"contrapose! {name}", -2.6 - 0.4 * i
    if r.shape.kind in (*COMPARED, "ne", "exists", "forall", "or", "and", "not"):
        h = r.fresh("hn")
        yield f"by_contra! {h}", -2.2
        if is_numeric(r) and r.shape.kind in (*COMPARED, "ne"):
            yield f"by_contra! {h}\nnlinarith", -1.8


def both(r: Reading) -> Iterator[Rated]:
    """Both sides of ∧ and ↔, each by the same closer."""
    if r.shape.kind not in ("and", "iff") or not is_numeric(r):
        return
    front = "refine ⟨?_, ?_⟩" if r.shape.kind == "and" else "constructor"
    behind = "" if r.shape.kind == "and" else f" <;> intro {r.fresh('h')}"
    ends = ["norm_num", "linarith", "simp_all", "positivity"]
    if is_nonlinear(r):
        ends += ["nlinarith", "field_simp at *"]
    for i, end in enumerate(ends):
        yield f"{front}{behind} <;> {end}", -1.0 - 0.3 * i


def witnesses(r: Reading) -> Iterator[Rated]:
    """Numbers and terms that fit where they were tried, by a closer for ordered fields."""
    found = claim_of(r)
    if found is None:
        return
    names, claim = found
    intro = f"intro {' '.join(names)}\n" if names else ""
    tried = numbers_for(claim) if claim.is_closed else terms_for(claim)
    for i, chosen in enumerate(islice(tried, 3)):
        terms = [_written(term) for term in chosen]
        for j, end in enumerate(
            ("by norm_num", "by constructor <;> linarith", "by linarith", "by ring")
        ):
            yield f"{intro}exact ⟨{', '.join(terms)}, {end}⟩", 1.4 - 0.6 * i - 0.4 * j
        yield f"{intro}use {', '.join(terms)}", 0.6 - 0.6 * i
        yield f"{intro}use {', '.join(terms)}\nnorm_num", 1.0 - 0.6 * i
    if not names:
        for i, variable in enumerate(r.variables[-3:]):
            if variable.type == r.shape.parts[0].text:
                yield f"use {variable.name}", -2.2 - 0.3 * i


def _written(term: object) -> str:
    text = str(term)
    return text if text.isalnum() else f"({text})"


def extensionality(r: Reading) -> Iterator[Rated]:
    """Equal sets, functions and the like have equal members and values; inclusions go by members."""
    x = r.fresh("x")
    if r.shape.kind == "eq" and not is_numeric(r):
        yield f"ext {x}", -1.6
        yield f"ext {x} <;> simp", -1.4
        yield f"ext {x}\nconstructor <;> intro {r.fresh('h')} <;> simp_all", -1.8
        yield f"ext {x}\naesop", -1.6
    if r.shape.kind == "subset":
        h = r.fresh("h")
        yield f"intro {x} {h}", -0.4
        yield f"intro {x} {h}\nsimp_all", -0.8
        yield f"intro {x} {h}\naesop", -1.0
