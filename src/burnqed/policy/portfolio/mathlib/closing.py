"""Tactics of Mathlib's that end a goal by themselves, alone or with hypotheses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.mathlib.numbers import (
    COMPARED,
    NUMBERS,
    RELATED,
    conclusion,
    equations_given,
    in_field,
    is_numeric,
    pairs,
    rounds,
    used,
)
from burnqed.policy.portfolio.reading import Reading

_COEFFICIENTS = ("{a}", "-{a}", "2 * {a}")
_PAIRS = ("{a} + {b}", "{a} - {b}", "{b} - {a}")
_ALGEBRA = re.compile(r"[-+*•^/]|⁻¹")
_OF_FUNCTIONS = {
    "Continuous": ("fun_prop", "continuity"),
    "ContinuousOn": ("fun_prop",),
    "ContinuousAt": ("fun_prop",),
    "Differentiable": ("fun_prop",),
    "DifferentiableAt": ("fun_prop",),
    "Measurable": ("fun_prop", "measurability"),
    "MeasurableSet": ("measurability",),
}
_LOGICAL = ("and", "or", "not", "iff", "implies", "false", "other", "exists")


def closers(r: Reading) -> Iterator[Rated]:
    """Those that look at the whole goal. Behind ∀ and → only what introduces by itself."""
    kind = r.shape.kind
    yield "norm_num", (0.1 if is_numeric(r) else -1.4)
    if kind in ("forall", "implies"):
        yield from (("tauto", -2.0), ("aesop", -1.6))
        return
    yield "aesop", (-0.6 if kind in _LOGICAL or kind in ("mem", "subset") else -1.8)
    if kind in _LOGICAL or r.of_type("Prop"):
        yield "tauto", -1.0
    if r.arithmetic:
        yield "simp +arith", -2.2
    if r.facts:
        if r.arithmetic:
            yield "simp_all +arith", -2.4
        yield "norm_num at *", -1.8
        yield "norm_num at *; linarith", -2.0
    if kind in (*COMPARED, "ne") and is_numeric(r):
        of_zero = "0" in (r.shape.left, r.shape.right)
        yield "positivity", (0.8 if of_zero else -2.4)


def with_hypotheses(r: Reading) -> Iterator[Rated]:
    """`norm_num` told of a hypothesis, or let loose on one."""
    if not is_numeric(r) or r.shape.kind in ("forall", "implies"):
        return
    equal = [name for name, said in r.fact_shapes.items() if conclusion(said) in ("eq", "iff")]
    if equal:
        yield f"norm_num [{', '.join(equal[-6:])}]", -0.6
    for i, (name, said) in enumerate(list(r.fact_shapes.items())[:-5:-1]):
        lower = 0.3 * i
        if conclusion(said) in (*RELATED, "iff", "and", "or", "not", "dvd"):
            yield f"norm_num at {name} ⊢", -2.0 - lower
            yield f"norm_num [{name}]", -1.4 - lower
            if "/" in said.text or "⁻¹" in said.text:
                yield f"field_simp at {name} ⊢", -1.6 - lower
                yield f"field_simp at {name}\nlinarith", -1.6 - lower
                yield f"field_simp at {name}\nnlinarith", -2.0 - lower
            if "√" in said.text or "^" in said.text or "*" in said.text:
                yield f"ring_nf at {name} ⊢", -2.8 - lower


def equations(r: Reading) -> Iterator[Rated]:
    """An equation of a ring, of a group or of a field; and one that follows from others linearly."""
    if r.shape.kind != "eq":
        return
    numeric, algebraic = is_numeric(r), bool(_ALGEBRA.search(r.target))
    if numeric or algebraic:
        yield "ring", (0.6 if algebraic and not rounds(r) else -1.6)
        yield "ring_nf", -2.4
        if r.facts:
            yield "simp_all\nring", -2.6
    if in_field(r) and re.search(r"/|⁻¹", r.target):
        yield "field_simp", -0.8
        yield "field_simp\nring", 0.5
        yield "field_simp\nring_nf", -2.0
        yield "field_simp\nnlinarith", -2.6
    if algebraic and not r.of_type(*NUMBERS):
        for i, tactic in enumerate(("abel", "group", "noncomm_ring", "module")):
            yield tactic, -1.0 - 0.3 * i
    given = equations_given(r)
    for i, a in enumerate(given):
        for j, form in enumerate(_COEFFICIENTS):
            yield f"linear_combination {form.format(a=a)}", -0.8 - 0.4 * i - 0.5 * j
        yield f"rw [{a}]\nring", -1.8 - 0.3 * i
        yield f"simp [{a}]\nring", -2.6 - 0.3 * i
    for i, (a, b) in enumerate(pairs(given[:3])):
        for j, form in enumerate(_PAIRS):
            yield f"linear_combination {form.format(a=a, b=b)}", -1.4 - 0.3 * i - 0.3 * j
    if used(r, "Complex"):
        yield "apply Complex.ext <;> simp", -1.6
        yield "apply Complex.ext <;> norm_num", -1.8


def casts(r: Reading) -> Iterator[Rated]:
    """Between ℕ, ℤ, ℚ and ℝ, where an arrow says that something was cast."""
    if "↑" not in r.all_text:
        return
    yield "push_cast", -1.8
    yield "push_cast\nring", (-0.6 if r.shape.kind == "eq" else -3.0)
    yield "push_cast at *\nlinarith", -1.6
    yield "push_cast at *\nnlinarith", -2.4
    yield "norm_cast", -1.4
    for i, name in enumerate(list(r.facts)[:-4:-1]):
        yield f"exact_mod_cast {name}", -1.2 - 0.3 * i
    if used(r, "Nat"):
        yield "zify at *", -3.2
        yield "qify at *", -3.8


def properties(r: Reading) -> Iterator[Rated]:
    """What Mathlib has a tactic of its own for, by the target's first word."""
    head = r.target.split(" ")[0].removeprefix("(")
    for i, tactic in enumerate(_OF_FUNCTIONS.get(head, ())):
        yield tactic, 0.6 - 0.6 * i
    if head.startswith("Nat.Prime") or " ∣ " in r.target or "%" in r.target or "≡" in r.target:
        for name, said in list(r.fact_shapes.items())[:-4:-1]:
            if said.kind == "eq":
                yield f"norm_num [Nat.pow_mod, Nat.mul_mod, Nat.add_mod, {name}]", -1.8
                yield f"norm_num [Int.emod_emod_of_dvd, pow_succ, Int.mul_emod, {name}]", -2.4
        if r.closed:
            yield "norm_num [Nat.ModEq, Int.ModEq]", -1.2
    opened = [
        name
        for name in ("Nat.factorial", "Nat.choose")
        if name.split(".")[1] in r.target or ("!" in r.target and name == "Nat.factorial")
    ]
    if opened:
        yield f"norm_num [{', '.join(opened)}]", -0.8
        yield f"simp [{', '.join(opened)}]", -1.6
