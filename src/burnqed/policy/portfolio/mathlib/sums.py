"""Finite sums and products: written out, taken apart at the end, and by induction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.mathlib.numbers import used
from burnqed.policy.portfolio.reading import Reading

_WHAT = {"∑": "sum", "∏": "prod"}
_ENDS = (
    "ring", "push_cast\nring", "field_simp\nring", "push_cast\nfield_simp\nring", "omega", "nlinarith",
    "norm_num",
)  # fmt: skip


def _operations(r: Reading) -> list[str]:
    return [word for mark, word in _WHAT.items() if mark in r.all_text]


def _lemmas(words: list[str], text: str) -> list[str]:
    """What takes a sum apart at its end: of a range, or of an interval."""
    found = [f"Finset.{word}_range_succ" for word in words]
    if "Icc" in text or "Ico" in text or "Ioc" in text:
        found += [f"Finset.{word}_Icc_succ_top" for word in words]
    return found


def sums(r: Reading) -> Iterator[Rated]:
    words = _operations(r)
    if not words or r.shape.kind in ("forall", "implies"):
        return
    lemmas = ", ".join(_lemmas(words, r.all_text))
    yield f"simp [{lemmas}]", -0.2
    yield f"norm_num [{lemmas}]", -0.4
    yield f"simp [{lemmas}]\nring", -1.0
    yield f"simp [{lemmas}]\nlinarith", -1.6
    yield f"rw [{lemmas.split(', ')[0]}]", -1.6
    if r.closed:
        yield "decide", -0.4
        yield "rfl", -0.8
    yield f"simp only [{lemmas}]", -2.2
    for word in words:
        if r.shape.kind == "eq":
            yield f"apply Finset.{word}_congr rfl\nintro {r.fresh('i')} {r.fresh('hi')}", -1.6
            yield f"apply Finset.{word}_congr rfl\nintros\nring", -1.8
            yield f"simp [Finset.{word}_add_distrib, Finset.mul_{word}]", -2.0
        elif word == "sum" and r.shape.kind in ("le", "ge"):
            yield f"apply Finset.sum_le_sum\nintro {r.fresh('i')} {r.fresh('hi')}", -1.2
            yield "apply Finset.sum_nonneg\nintros\npositivity", -1.6


def inductions(r: Reading) -> Iterator[Rated]:
    """On the number of summands: the last one apart, the hypothesis for the rest, and a closer."""
    words = _operations(r)
    if not words or not re.search(r"[∑∏]", r.target):
        return
    lemmas = ", ".join(_lemmas(words, r.target)[:2])
    for i, v in enumerate([v for v in used(r, "Nat") if r.mentions(v.name, r.target)][:2]):
        ih = r.fresh("ih")
        start = f"induction {v.name} with\n| zero => simp\n| succ {v.name} {ih} =>"
        for j, end in enumerate(_ENDS):
            inside = "\n".join(
                f"  {line}" for line in (f"rw [{lemmas.split(', ')[0]}, {ih}]", *end.split("\n"))
            )
            yield f"{start}\n{inside}", (0.4 if r.shape.kind == "eq" else -2.4) - 0.5 * i - 0.15 * j
        step = f"  rw [{lemmas.split(', ')[0]}]\n  nlinarith [{ih}]"
        yield f"{start}\n{step}", -0.8 - 0.5 * i
        yield f"induction {v.name} <;> simp_all [{lemmas}] <;> ring", -1.4 - 0.5 * i
