"""Lists given by what is in them: no repetitions, and a property that says what belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.reading import Reading, premises


def listings(r: Reading) -> Iterator[Rated]:
    """Such a list is a permutation of the numbers below a bound that have the property.

    With that its length and its sum are computed by the kernel.
    """
    for v in r.of_type("List"):
        if v.type not in ("List Nat", "List Int") or not r.mentions(v.name, r.target):
            continue
        nodup = next((n for n, t in r.facts.items() if t == f"{v.name}.Nodup"), None)
        found = _property(r, v.name)
        if nodup is None or found is None:
            continue
        fact, variable, body = found
        for i, limit in enumerate(_limits(r)):
            for j, why in enumerate(_reasons(r, variable, body)):
                yield (
                    _listing(r, v.name, v.type, nodup, fact, variable, body, limit, why),
                    -1.4 - 0.3 * i - 0.3 * j,
                )


def _property(r: Reading, name: str) -> tuple[str, str, str] | None:
    """`h : ∀ x, x ∈ S ↔ p x`: the hypothesis, x, and p x."""
    for fact, said in r.fact_shapes.items():
        binders, rest = premises(said)
        if len(binders) != 1 or rest is None or rest.kind != "iff":
            continue
        if binders[0].name is not None and rest.left == f"{binders[0].name} ∈ {name}":
            return fact, binders[0].name, rest.right
    return None


def _limits(r: Reading) -> list[int]:
    numerals = [n for n in r.numerals if 2 <= n <= 2000]
    return list(dict.fromkeys([n + 1 for n in numerals[::-1][:4]] + [101]))[:4]


def _reasons(r: Reading, variable: str, body: str) -> list[str]:
    """Why a number with the property is below the bound."""
    if re.search(rf"% {re.escape(variable)}(?!\w)", body):
        # Modulo a larger number each number is itself.
        small = "simp (disch := omega) only [Nat.mod_eq_of_lt] at h"
        return [f"refine Decidable.byContradiction fun hc => ?_; {small}; omega"]
    if "∣" in r.all_text:
        return ["have := Nat.le_of_dvd (by decide) h; omega", "omega", "grind [Nat.le_of_dvd]"]
    return ["omega", "grind"]


def _listing(
    r: Reading,
    name: str,
    type: str,
    nodup: str,
    fact: str,
    variable: str,
    body: str,
    limit: int,
    why: str,
) -> str:
    integers = type == "List Int"
    if integers:
        source = f"((List.range {2 * limit}).map (fun k : Nat => (k : Int) - {limit}))"
    else:
        source = f"(List.range {limit})"
    listed = f"({source}.filter (fun {variable} => {body}))"
    hm, hn, hp, x = r.fresh("hm"), r.fresh("hn"), r.fresh("hp"), r.fresh("x")
    inside = (
        f"⟨List.mem_map.2 ⟨({x} + {limit}).toNat, List.mem_range.2 (by {why}), by {why}⟩, "
        "by simpa using h⟩"
        if integers
        else f"⟨List.mem_range.2 (by {why}), by simpa using h⟩"
    )
    distinct = "by decide +kernel" if integers else "List.Pairwise.filter _ List.nodup_range"
    lines = [
        f"have {hn} : {listed}.Nodup := {distinct}",
        f"have {hm} : ∀ {x}, {x} ∈ {name} ↔ {x} ∈ {listed} := by",
        f"  intro {x}",
        f"  rw [{fact}, List.mem_filter]",
        f"  exact ⟨fun h => {inside}, fun h => by simpa using h.2⟩",
        f"have {hp} : {name}.Perm {listed} := by",
        "  rw [List.perm_iff_count]",
        f"  intro {x}",
        f"  rw [{nodup}.count, {hn}.count]",
        f"  simp only [{hm}]",
        f"rw [{_measure(r, name, hp)}]",
        "decide +kernel",
    ]
    return "\n".join(lines)


def _measure(r: Reading, name: str, hp: str) -> str:
    return f"{hp}.sum_nat" if re.search(rf"{re.escape(name)}\.sum\b", r.target) else f"{hp}.length_eq"
