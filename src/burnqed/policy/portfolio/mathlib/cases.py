"""Finitely many cases: numbers within bounds, members of a finite set, factors of zero, signs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.mathlib.numbers import WITHOUT_NEGATIVES, compared, used
from burnqed.policy.portfolio.reading import Reading, is_numeral

_ENDS = ("simp_all", "omega", "norm_num at *", "first | omega | simp_all | norm_num at * | decide")
_ABSOLUTE = re.compile(r"\|([^|]+)\|")


def intervals(r: Reading) -> Iterator[Rated]:
    """Each value of a variable that hypotheses bound."""
    upper = {low for _, low, high, _ in compared(r) if is_numeral(high)}
    lower = {high for _, low, high, _ in compared(r) if is_numeral(low.lstrip("-"))}
    found = [
        v.name
        for v in used(r, "Nat", "Int")
        if v.name in upper and (v.head in WITHOUT_NEGATIVES or v.name in lower)
    ]
    for i, name in enumerate(found[:3]):
        yield f"interval_cases {name}", -1.4 - 0.4 * i
        for j, end in enumerate(_ENDS):
            yield f"interval_cases {name} <;> {end}", -0.6 - 0.4 * i - 0.2 * j
    if len(found) == 2:
        yield f"interval_cases {found[0]} <;> interval_cases {found[1]} <;> simp_all", -1.4
        yield f"interval_cases {found[0]} <;> interval_cases {found[1]} <;> omega", -1.2


def members(r: Reading) -> Iterator[Rated]:
    """Each value of a finite type, and each member of a finite set that is written out."""
    for i, v in enumerate(r.of_type("Fin", "Bool", "ZMod")[:2]):
        yield f"fin_cases {v.name}", -2.0 - 0.4 * i
        yield f"fin_cases {v.name} <;> simp_all", -1.4 - 0.4 * i
        yield f"fin_cases {v.name} <;> decide", -1.8 - 0.4 * i
    for i, (name, said) in enumerate(list(r.fact_shapes.items())[::-1]):
        if said.kind != "mem":
            continue
        opened = "Finset.mem_Icc, Finset.mem_Ioo, Finset.mem_Ico, Finset.mem_Ioc, Finset.mem_range"
        within = (
            "Set.mem_Icc, Set.mem_Ioo, Set.mem_Ico, Set.mem_Ioc, Set.mem_setOf_eq, Finset.mem_filter"
        )
        yield f"simp only [{opened}, {within}] at {name}", -1.2 - 0.3 * i
        yield f"fin_cases {name}", -2.0 - 0.3 * i
        yield f"fin_cases {name} <;> simp_all", -1.8 - 0.3 * i
        yield f"simp at {name}", -1.8 - 0.3 * i


def roots(r: Reading) -> Iterator[Rated]:
    """A product that is 0 has a factor that is; a target `x = a ∨ x = b` is such a product."""
    for i, (name, said) in enumerate(list(r.fact_shapes.items())[::-1][:4]):
        if said.kind == "eq" and said.right == "0" and "*" in said.left:
            h = r.fresh("h")
            split = f"rcases mul_eq_zero.mp {name} with {h} | {h}"
            yield split, -1.2 - 0.3 * i
            yield f"{split} <;> first | linarith | nlinarith | simp_all", -1.4 - 0.3 * i
        if said.kind == "eq" and re.search(r"\^ ?2\b", said.text):
            h = r.fresh("h")
            for fact in (
                "pow_eq_zero_iff (two_ne_zero)",
                "sq_eq_sq_iff_eq_or_eq_neg",
                "sq_eq_one_iff_of_ne_neg_one",
            ):
                yield f"rw [{fact}] at {name}", -3.2 - 0.3 * i
    if r.shape.kind != "or" or any(part.kind != "eq" for part in r.shape.parts):
        return
    first, second = r.shape.parts
    h, g = r.fresh("h"), r.fresh("g")
    product = f"({first.left} - ({first.right})) * ({second.left} - ({second.right}))"
    ends = "· left; linarith\n· right; linarith"
    for i, proof in enumerate(("nlinarith", "ring_nf; linarith", "ring_nf at *; linarith")):
        yield (
            f"have {h} : {product} = 0 := by {proof}\nrcases mul_eq_zero.mp {h} with {g} | {g}\n{ends}",
            -0.6 - 0.5 * i,
        )


def absolute_values(r: Reading) -> Iterator[Rated]:
    """By the sign of what stands between bars; and bounds on both sides."""
    if r.shape.kind in ("le", "lt") and r.shape.left.startswith("|"):
        relation = r.shape.kind
        yield f"rw [abs_{relation}]\nconstructor <;> linarith", -0.6
        yield f"rw [abs_{relation}]\nconstructor <;> nlinarith", -0.8
        yield f"rw [abs_{relation}]", -1.4
    found = dict.fromkeys(match[1].strip() for match in _ABSOLUTE.finditer(r.all_text))
    for i, inside in enumerate(list(found)[:2]):
        h = r.fresh("ha")
        for j, end in enumerate((" <;> linarith", " <;> nlinarith", " <;> simp_all", "")):
            yield f"rcases abs_cases ({inside}) with {h} | {h}{end}", -1.0 - 0.3 * i - 0.3 * j
    for name, low, _, strict in list(compared(r))[:3]:
        if low.startswith("|"):
            yield f"have := abs_{'lt' if strict else 'le'}.mp {name}", -1.6
            yield f"have := abs_{'lt' if strict else 'le'}.mp {name}\nconstructor <;> linarith", -2.0
