"""Tactics that finish a goal, or tidy it, by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.reading import Binder, Reading

# Lemmas that open up what stands in a goal, where `simp` does not do so by itself.
OPENING = {
    "List.range": ("List.range_succ",),
    "List.foldl": ("List.foldl_append",),
    "List.foldr": ("List.foldr_append",),
    "List.flatMap": ("List.flatMap_append",),
}
# Names that begin like this are the library's; what they stand for is seldom worth unfolding.
_LIBRARY = frozenset({
    "Nat", "Int", "Rat", "List", "Array", "Option", "Bool", "Fin", "BitVec", "String", "Char", "Prod",
    "Sum", "Function", "And", "Or", "Not", "Iff", "Eq", "HEq", "Exists", "Subtype", "Decidable", "Std",
    "Vector", "Except", "Id", "UInt8", "UInt16", "UInt32", "UInt64", "Int8", "Int16", "Int32", "Int64",
    "Monad", "Functor", "Ord", "Ordering", "max", "min", "some", "none", "Classical", "Max", "Min",
    "ite", "dite", "Substring", "ByteArray", "Float", "Thunk", "Task", "Quot", "Quotient", "Setoid",
    "Set", "Membership", "Append", "HAppend", "Lean", "Acc", "WellFounded", "Nonempty", "Inhabited",
})  # fmt: skip


# Types with so few values that all of them can be tried.
_FINITE = ("Bool", "Fin ", "BitVec ", "Option Bool", "Ordering", "UInt8", "Unit")
# A goal that says more than this is hardly a lemma of the library, and looking for it takes long.
_LIBRARY_LIKE = 300


def closers(r: Reading) -> Iterator[Rated]:
    """Single tactics that end most goals that can be ended."""
    if r.shape.kind in ("forall", "implies") and r.target[0] in "∀":
        # Behind binders only those that introduce by themselves.
        yield from (("grind", -1.0), ("simp", -1.2), ("exact?", -1.8), ("intros; rfl", -2.4))
        if not r.variables and _finite(r.binders):
            yield "decide", -1.4
        return
    if r.facts:
        yield "assumption", -1.0
        if r.shape.kind == "false":
            yield "contradiction", -0.5
    if r.shape.kind in ("eq", "iff", "le"):
        yield "rfl", -1.0
    if r.closed:
        yield "decide", -0.8
        yield "decide +kernel", -1.4
    if r.arithmetic or r.shape.kind == "false":
        yield "omega", -0.4
    yield "simp", -0.7
    if r.facts:
        yield "simp_all", -0.7
    yield "grind", -0.4
    if len(r.all_text) < _LIBRARY_LIKE:
        yield "exact?", -1.6
    if re.search(r"\bif\b|\bmatch\b", r.all_text):
        yield "split <;> simp_all", -1.2
        yield "split <;> omega", -1.6
        yield "split", -1.0
        for name, type in r.facts.items():
            if re.search(r"\bif\b|\bmatch\b", type):
                yield f"split at {name}", -1.6
    if r.of_type("BitVec") or "BitVec" in r.target or "#" in r.target:
        yield "bv_omega", -1.6
        yield "ext i; simp_all", -2.2
    if r.shape.kind == "eq":
        yield "ac_rfl", -3.0
        yield from _extensionality(r)
    if "↑" in r.all_text:
        yield "push_cast at *; omega", -2.6
        yield "norm_cast at *", -3.0
        yield "push_cast at *", -3.2


def _finite(binders: Sequence[Binder]) -> bool:
    """Whether all that they stand for can be tried: values of a small type, or within a bound."""
    bounded = {b.said.left for b in binders if b.said.kind in ("mem", "lt", "le")}
    return all(
        b.name is None or b.name in bounded or not b.type or b.type.startswith(_FINITE) for b in binders
    )


def _extensionality(r: Reading) -> Iterator[Rated]:
    sides = (r.shape.left, r.shape.right)
    if any(side.removeprefix("(").startswith("fun ") or "∘" in side for side in sides):
        yield f"funext {r.fresh('x')}", -1.0
        yield "funext; simp", -2.4
    else:
        yield f"ext {r.fresh('i')}", -3.0
        yield "ext <;> simp", -2.8


def tidying(r: Reading) -> Iterator[Rated]:
    """Simplification that leaves something to do, alone and before a finisher."""
    if r.target.startswith("∀"):
        return
    if r.facts:
        yield "simp at *", -3.2
    if r.arithmetic:
        yield "simp_all <;> omega", -2.0
        yield "simp at * <;> omega", -2.6
    lemmas = _lemmas(r)
    if lemmas:
        pack = ", ".join(lemmas)
        yield f"simp_all [{pack}]", -1.6
        yield f"simp [{pack}]", -1.8
        yield f"simp_all [{pack}] <;> omega", -1.9
        yield f"simp_all [{pack}] <;> grind", -2.0
        yield f"grind [{pack}]", -2.0
    # Powers of sums: enough for linear arithmetic over the powers themselves.
    if "^" in r.all_text and r.arithmetic:
        expand = (
            "Nat.pow_succ, Nat.pow_add, Nat.mul_add, Nat.add_mul"
            if not r.of_type("Int")
            else "Int.pow_succ, Nat.pow_succ, Nat.mul_add, Int.mul_add, Int.add_mul"
        )
        yield f"simp only [{expand}] at *; omega", -2.0
        yield f"simp only [{expand}] at *", -3.8
    if len(r.all_text) < _LIBRARY_LIKE:
        yield "rw?", -4.4


def _lemmas(r: Reading) -> list[str]:
    """What to unfold with: the goal's own definitions, and lemmas that open library functions."""
    found = [lemma for name, lemmas in OPENING.items() if name in r.target for lemma in lemmas]
    return [*definitions(r)[:4], *found]


def definitions(r: Reading) -> list[str]:
    """Constants in the goal that look like somebody's own."""
    return [
        c
        for c in r.constants
        if c.split(".")[0] not in _LIBRARY
        and not c.split(".")[-1].startswith("inst")
        and c[0].isalpha()
    ]


def unfolding(r: Reading) -> Iterator[Rated]:
    """Definitions opened, and induction along the recursion of a function."""
    pack = ", ".join(definitions(r)[:4])
    for i, name in enumerate(definitions(r)[:4]):
        yield f"simp [{name}]", -1.6 - 0.3 * i
        yield f"unfold {name}", -2.2 - 0.3 * i
        yield f"simp only [{name}]", -2.6 - 0.3 * i
        yield f"rw [{name}]", -3.2 - 0.3 * i
        call = r.constants[name]
        if call:
            yield f"fun_induction {call}", -2.0 - 0.3 * i
            yield f"fun_induction {call} <;> simp_all [{pack}]", -1.8 - 0.3 * i
            yield f"fun_induction {call} <;> grind [{pack}]", -1.8 - 0.3 * i
            yield f"fun_induction {call} <;> simp_all [{pack}] <;> omega", -2.2 - 0.3 * i
            yield f"fun_cases {call}", -3.4 - 0.3 * i
    library = [c for c in r.constants if c.split(".")[0] in _LIBRARY and "." in c]
    for i, name in enumerate(library[:3]):
        yield f"unfold {name}", -4.0 - 0.4 * i
        yield f"simp [{name}]", -3.4 - 0.4 * i
