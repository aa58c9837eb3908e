"""Linear and nonlinear inequalities: `linarith` and `nlinarith`, with what they are to multiply.

`nlinarith` multiplies hypotheses and hints pairwise and looks for a linear combination. Whether it
finds one depends on the hints: squares of differences, products of what is known to be positive, and
what is known of the functions that occur.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.mathlib.numbers import (
    COMPARED,
    RELATED,
    gaps,
    in_field,
    is_nonlinear,
    is_numeric,
    pairs,
    rounds,
    signed,
    signs,
)
from burnqed.policy.portfolio.reading import Reading

_MOST_HINTS = 12
_ARGUMENT = r"(\((?:[^()]|\([^()]*\))*\)|[\w.'✝]+)"
# What is known of a function's values, by how an application of it prints.
_KNOWN = (
    (rf"√{_ARGUMENT}", ("Real.sqrt_nonneg {a}", "Real.sq_sqrt (by positivity : (0:ℝ) ≤ {a})")),
    (rf"\bsin {_ARGUMENT}",
     ("Real.sin_sq_add_cos_sq {a}", "Real.neg_one_le_sin {a}", "Real.sin_le_one {a}")),
    (rf"\bcos {_ARGUMENT}",
     ("Real.sin_sq_add_cos_sq {a}", "Real.neg_one_le_cos {a}", "Real.cos_le_one {a}")),
    (rf"\bexp {_ARGUMENT}", ("Real.exp_pos {a}", "Real.add_one_le_exp {a}")),
    (r"\|([^|]+)\|", ("abs_nonneg ({a})", "le_abs_self ({a})", "neg_abs_le ({a})", "sq_abs ({a})")),
    (r"⌊([^⌊⌋]+)⌋", ("Int.floor_le ({a})", "Int.lt_floor_add_one ({a})")),
    (r"(π)", ("Real.pi_pos", "Real.pi_gt_three", "Real.pi_lt_four")),
)  # fmt: skip
_PRODUCT = re.compile(r"(?<![\w^] )(?<![\w.])([^\W\d][\w']*) \* ([^\W\d][\w']*)(?![\w.])")


def linear(r: Reading) -> Iterator[Rated]:
    """Linear arithmetic over ordered fields, which also proves equations and False."""
    if not is_numeric(r) or r.shape.kind not in (*RELATED, "false", "not", "other"):
        return
    yield "linarith", (0.4 if r.facts else -1.6)
    known = known_of(r)
    if known:
        yield f"linarith [{', '.join(known[:_MOST_HINTS])}]", -0.4
    if r.shape.kind == "eq" and r.facts:
        yield "apply le_antisymm <;> linarith", -2.8
        yield "apply le_antisymm <;> nlinarith", -2.6
    if r.shape.kind == "ne":
        h = r.fresh("h")
        yield f"intro {h}\nlinarith", -1.2
        yield f"intro {h}\nnlinarith", -1.6
        yield "apply ne_of_gt\npositivity", -1.4


def nonlinear(r: Reading) -> Iterator[Rated]:
    """`nlinarith` alone, and with each kind of hints, and with several kinds."""
    fits = r.shape.kind in (*COMPARED, "eq", "false")
    if not fits or not is_numeric(r) or not is_nonlinear(r) or rounds(r):
        return
    yield "nlinarith", (0.2 if r.facts else -0.4)
    known, products, squares = known_of(r), products_of(r), squares_of(r)
    for weight, hints in (
        (0.2, squares[:_MOST_HINTS]),
        (0.0, [*products[:6], *squares[:6]]),
        (-0.2, products[:_MOST_HINTS]),
        (0.1, [*known[:6], *squares[:4]]),
        (-0.6, weighted_squares(r)),
        (-0.9, [*known[:4], *weighted_squares(r)[:6], *products[:4], *squares[:6]]),
        (-1.2, squares[_MOST_HINTS : 2 * _MOST_HINTS]),
    ):
        if hints:
            yield f"nlinarith [{', '.join(hints)}]", weight


def known_of(r: Reading) -> list[str]:
    """Facts about the functions that occur, at their arguments."""
    found: dict[str, None] = {}
    for pattern, facts in _KNOWN:
        for match in list(re.finditer(pattern, r.all_text))[:4]:
            found |= {fact.format(a=match[1].strip()): None for fact in facts}
    return list(found)


def squares_of(r: Reading) -> list[str]:
    """Squares of differences, of sums and of the terms themselves: of variables, roots and products.

    Not of natural numbers, whose differences are cut off at 0.
    """
    roots = [match[0] for match in re.finditer(rf"√{_ARGUMENT}", r.all_text)]
    terms = list(dict.fromkeys([*signed(r), *roots]))[:4]
    if not terms:
        return []
    products = list(dict.fromkeys(f"{a} * {b}" for a, b in _PRODUCT.findall(r.all_text)))[:4]
    found = [f"{a} - {b}" for a, b in pairs(terms)]
    found += [*terms] if len(terms) < 2 else []
    found += [f"{a} - 1" for a in terms[:3]]
    found += [f"{a} + {b}" for a, b in pairs(terms)]
    found += [f"{a} - {b}" for a, b in pairs(products)]
    found += [f"{a} + 1" for a in terms[:2]] + (terms if len(terms) > 1 else [])
    found += [f"{a} + {b} - {c}" for a, b, c in combinations(terms[:3], 3)]
    found += [f"{a} - {n}" for n in r.numerals if 1 < n < 1000 for a in terms[:2]][:6]
    return [f"sq_nonneg ({term})" for term in dict.fromkeys(found)]


def products_of(r: Reading) -> list[str]:
    """Products of what is positive, and of gaps between what is compared."""
    known, between = signs(r), gaps(r)
    found = [_product(a, s, b, t) for (a, _, s), (b, _, t) in combinations(known, 2)]
    factors = [_gap(name, strict) for name, strict in between]
    found += [f"mul_nonneg {a} {b}" for a, b in combinations(factors, 2)]
    found += [f"mul_nonneg {_weak(a, s)} {b}" for a, _, s in known[:2] for b in factors[:2]]
    strict = [name for name, _, s in known if s][:3]
    if len(strict) == 3:
        found.append(f"mul_pos (mul_pos {strict[0]} {strict[1]}) {strict[2]}")
    return found


def weighted_squares(r: Reading) -> list[str]:
    """A positive term times the square of a difference of two others."""
    between = _differences(r)
    found = [f"mul_nonneg {_weak(h, s)} (sq_nonneg {d})" for h, _, s in signs(r) for d in between[:3]]
    return found[:_MOST_HINTS]


def _differences(r: Reading) -> list[str]:
    return [f"({a} - {b})" for a, b in pairs(signed(r))]


def _product(a: str, a_strict: bool, b: str, b_strict: bool) -> str:
    if a_strict and b_strict:
        return f"mul_pos {a} {b}"
    return f"mul_nonneg {_weak(a, a_strict)} {_weak(b, b_strict)}"


def _weak(name: str, strict: bool) -> str:
    return f"{name}.le" if strict else name


def _gap(name: str, strict: bool) -> str:
    return f"(sub_nonneg.mpr {_weak(name, strict)})"


# --------------------------------------------------------------------- quotients, monotone


def quotients(r: Reading) -> Iterator[Rated]:
    """An inequality with a quotient: multiplied out, where what it is divided by is positive."""
    if r.shape.kind not in COMPARED or not in_field(r) or not re.search(r"/|⁻¹", r.target):
        return
    sides = {"le": ("left", "right"), "lt": ("left", "right")}.get(r.shape.kind, ("right", "left"))
    low, high = (getattr(r.shape, side) for side in sides)
    relation = "le" if r.shape.kind in ("le", "ge") else "lt"
    positive, ends = "(by positivity)", _ends(r)
    rewrites: list[str] = []
    if "/" in low and "/" in high:
        rewrites.append(f"div_{relation}_div_iff₀ {positive} {positive}")
    if "/" in low:
        rewrites.append(f"div_{relation}_iff₀ {positive}")
    if "/" in high:
        rewrites.append(f"{relation}_div_iff₀ {positive}")
    for i, rewrite in enumerate(rewrites):
        yield f"rw [{rewrite}]", -1.0 - 0.3 * i
        for j, end in enumerate(ends):
            yield f"rw [{rewrite}]\n{end}", -0.2 - 0.3 * i - 0.3 * j
    # With everything on one side, a sum of quotients is one quotient.
    h = r.fresh("h")
    flat = f"have {h} : 0 ≤ ({high}) - ({low}) := by\n  field_simp\n  positivity\nlinarith"
    yield flat, -1.8
    for j, end in enumerate(ends):
        yield f"field_simp\n{end}", -0.9 - 0.4 * j


def _ends(r: Reading) -> Sequence[str]:
    squares, products = squares_of(r)[:6], products_of(r)[:6]
    hints = ", ".join([*products, *squares])
    return (f"nlinarith [{hints}]", "linarith", "nlinarith") if hints else ("linarith", "nlinarith")


def monotone(r: Reading) -> Iterator[Rated]:
    """Both sides of one shape: compared part by part; and an order's own closers."""
    if r.shape.kind not in COMPARED:
        return
    shared = len(
        set(re.findall(r"[\w√∑∏^*+/]+", r.shape.left)) & set(re.findall(r"[\w√∑∏^*+/]+", r.shape.right))
    )
    yield "gcongr", (-0.2 if shared > 1 else -1.8)
    if shared > 1:
        yield "gcongr <;> linarith", -1.8
        yield "gcongr <;> nlinarith", -2.6
    yield "bound", -1.8
