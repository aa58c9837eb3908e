"""What competition arithmetic needs and core Lean has no tactic for, written out in core Lean.

Ranges split into their values, a finite search left to the kernel, products of hypotheses as hints for
nonlinear goals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.reading import Reading, Said, Variable, is_numeral

_SEARCH_SPACE = 12_000  # cases that the kernel is asked to look at
_MOST_VALUES = 12  # of a variable that is split into its values


def bounds(r: Reading) -> Iterator[Rated]:
    """Upper bounds that linear arithmetic can see, as hypotheses."""
    limits = _limits(r)
    for i, v in enumerate(numbers_of(r)[:4]):
        if v.head != "Nat" or _known_bound(r, v) is not None or not _is_constrained(r, v):
            continue
        for j, limit in enumerate(limits[:2]):
            yield f"have {r.fresh('hb')} : {v.name} < {limit} := by omega", -2.6 - 0.2 * i - 0.4 * j


def finite_search(r: Reading) -> Iterator[Rated]:
    """All bounded variables tried out by the kernel: bound them, revert, decide."""
    if r.target.startswith("∀") or "∃" in r.target:
        return
    numbers = [v for v in numbers_of(r) if is_used(r, v)]
    if not numbers or len(numbers) > 4 or any(v.head == "Rat" for v in numbers):
        return
    if not all(_is_constrained(r, v) for v in numbers):
        return
    stated = [_known_bound(r, v) for v in numbers]
    if all(bound is not None for bound in stated):
        known = [bound for bound in stated if bound is not None]
        yield from _exhaust(r, numbers, known, -1.2, "omega")
    fitting = [limit for limit in _limits(r) if limit ** len(numbers) <= _SEARCH_SPACE]
    for i, limit in enumerate(fitting[:3]):
        guess = [limit if bound is None else min(limit, bound) for bound in stated]
        yield from _exhaust(r, numbers, guess, -1.9 - 0.4 * i, "omega")
    for i, limit in enumerate(fitting[:1]):
        guess = [limit if bound is None else min(limit, bound) for bound in stated]
        yield from _exhaust(r, numbers, guess, -3.0 - 0.5 * i, "grind")


def _exhaust(
    r: Reading, numbers: Sequence[Variable], limits: Sequence[int], weight: float, by: str
) -> Iterator[Rated]:
    """`limits` bound each variable from above; an integer is also taken to be above minus its limit."""
    if prod(_width(r, v, b) for v, b in zip(numbers, limits, strict=True)) > _SEARCH_SPACE:
        return
    names = {v.name for v in numbers}
    others = [v.name for v in r.variables if v.name not in names and v.head not in ("Fin", "Bool")]
    # What speaks of functions or quantifies without bound cannot be decided.
    unfit = [
        fact
        for fact, type in r.facts.items()
        if "∀" in type or "∃" in type or any(r.mentions(o, type) for o in others)
    ]
    if any(r.mentions(o, r.target) for o in others):
        return
    kept = [f for f in r.facts if f not in unfit and any(r.mentions(n, r.facts[f]) for n in names)]
    steps = [f"clear {' '.join(unfit)}"] if unfit else []
    signs = _signs(r, numbers)
    steps += signs
    below = []
    for i, (v, limit) in enumerate(zip(numbers, limits, strict=True)):
        hb = r.fresh(f"hb{i}")
        if v.head == "Nat":
            steps.append(f"have {hb} : {v.name} < {limit} := by {by}")
            below.append((hb, v.name))
        else:
            k = r.fresh(f"k{i}")
            low = 0 if _is_positive(r, v) else -limit
            offset = f"({low} + {k})" if low else f"{k}"
            value = f"({v.name} - ({low})).toNat" if low else f"{v.name}.toNat"
            steps.append(
                f"obtain ⟨{k}, {hb}, rfl⟩ : ∃ {k} : Nat, {k} < {limit - low} ∧ {v.name} = {offset} := "
                f"⟨{value}, by {by}, by {by}⟩"
            )
            below.append((hb, k))
    # What helped with the bounds is in the way of deciding: instances are found so deep and no deeper.
    steps += [f"clear {sign.split()[1]}" for sign in signs]
    if kept:
        steps.append(f"revert {' '.join(kept)}")
    steps += [f"revert {name}" for _, name in reversed(below)]
    steps.append("decide +kernel")
    yield "\n".join(steps), weight


def below(r: Reading) -> Iterator[Rated]:
    """That a variable is at least a number: all smaller ones tried out by the kernel."""
    sides = {
        "le": (0, 0),
        "ge": (1, 0),
        "lt": (0, 1),
        "gt": (1, 1),
    }  # the place of the number, and what to add
    if r.shape.kind not in sides:
        return
    place, more = sides[r.shape.kind]
    number, name = (r.shape.left, r.shape.right)[:: -1 if place else 1]
    variable = next((v for v in r.of_type("Nat") if v.name == name), None)
    if variable is None or not is_numeral(number) or int(number) + more > _SEARCH_SPACE:
        return
    others = [v.name for v in r.variables if v.name != name]
    about = [fact for fact, type in r.facts.items() if r.mentions(name, type)]
    unfit = [fact for fact in about if any(r.mentions(other, r.facts[fact]) for other in others)]
    kept = [fact for fact in about if fact not in unfit]
    hn = r.fresh("hn")
    steps = [
        f"refine Decidable.byContradiction fun {hn} => ?_",
        f"replace {hn} : {name} < {int(number) + more} := by omega",
        *([f"clear {' '.join(unfit)}"] if unfit else []),
        *([f"revert {' '.join(kept)}"] if kept else []),
        f"revert {hn}",
        f"revert {name}",
        "decide +kernel",
    ]
    yield "\n".join(steps), -1.2


def truncated(r: Reading) -> Iterator[Rated]:
    """What is equal to a difference of naturals: the sum instead, which can be proved by induction."""
    difference = r.shape.kind == "eq" and re.search(r" - (\w+|\([^()]*\))$", r.shape.right)
    if difference and not r.of_type("Int", "Rat"):
        yield "refine Nat.eq_sub_of_add_eq ?_", -1.4


def _width(r: Reading, v: Variable, limit: int) -> int:
    return 2 * limit if v.head == "Int" and not _is_positive(r, v) else limit


def _signs(r: Reading, numbers: Sequence[Variable]) -> list[str]:
    """That a product of positive integers is positive: linear arithmetic does not know it."""
    ints = [v.name for v in numbers if v.head == "Int"]
    return [
        f"have {r.fresh(f'hz{i}')} : 0 ≤ {a} * {b} := Int.mul_nonneg (by omega) (by omega)"
        for i, (a, b) in enumerate(combinations(ints, 2))
        if re.search(rf"(?<!\w)({re.escape(f'{a} * {b}')}|{re.escape(f'{b} * {a}')})(?!\w)", r.all_text)
    ]


def among(name: str, proof: str, variable: str, values: Sequence[int]) -> str:
    """A case for each value of a variable, from a proof that it is in the list of them."""
    return (
        f"have {name} : {variable} ∈ {list(values)} := {proof}\n"
        f"simp only [List.mem_cons, List.not_mem_nil, or_false] at {name}\n"
        f"rcases {name} with {' | '.join(['rfl'] * len(values))}"
    )


def values(r: Reading) -> Iterator[Rated]:
    """A variable in a small range split into its values."""
    for i, v in enumerate(numbers_of(r)[:4]):
        top = _known_bound(r, v)
        if not top or (v.head == "Int" and not _is_positive(r, v)):
            continue
        if top <= _MOST_VALUES:
            cases = " ∨ ".join(f"{v.name} = {k}" for k in range(top))
            split = f"rcases (by omega : {cases}) with " + " | ".join(["rfl"] * top)
            yield split, -1.8 - 0.3 * i
            yield f"{split} <;> simp_all", -1.6 - 0.3 * i
            yield f"{split} <;> omega", -1.6 - 0.3 * i
            yield f"{split} <;> grind", -2.2 - 0.3 * i
        if top <= 130:
            yield _peel(r, v, top), -2.6 - 0.3 * i


def _peel(r: Reading, v: Variable, top: int) -> str:
    """`omega` on each of the values, where they are too many for a disjunction by `omega`."""
    hk = r.fresh("hk")
    k = v.name if v.head == "Nat" else r.fresh("k")
    values = list(range(top))
    inside = f"(by decide : ∀ i, i < {top} → i ∈ {values}) {k} (by omega)"
    natural = f"obtain ⟨{k}, rfl⟩ : ∃ {k} : Nat, {v.name} = {k} := ⟨{v.name}.toNat, by omega⟩\n"
    return f"{natural if v.head == 'Int' else ''}{among(hk, inside, k, values)} <;> omega"


def nonlinear(r: Reading) -> Iterator[Rated]:
    """Squares and products of hypotheses, over which a nonlinear goal is linear."""
    if r.target.startswith("∀") or not re.search(r"[*^]", r.all_text):
        return
    ints, nats = r.of_type("Int"), r.of_type("Nat")
    hints: list[str] = []
    if ints:
        pairs = list(combinations([v.name for v in ints[:4]], 2))
        terms = [f"({a} - {b})" for a, b in pairs[:4]] + [v.name for v in ints[:3]]
        terms += [f"({a} + {b})" for a, b in pairs[:2]] + [f"({v.name} - 1)" for v in ints[:2]]
        hints = [f"have {r.fresh(f'hs{i}')} := Int.sq_nonnneg {t}" for i, t in enumerate(terms)]
        yield "\n".join([*hints, "grind"]), -2.4
    positive = [(n, s) for n, s in r.fact_shapes.items() if s.kind in ("lt", "le", "gt", "ge")]
    products = _products(r, positive[-4:], bool(ints))
    if products:
        yield "\n".join([*products, "grind"]), -2.6
        yield "\n".join([*products, "omega"]), -3.2
    if nats and not ints:
        yield from _monotone(r)
        for a, b in list(combinations([v.name for v in nats[:3]], 2))[:2]:
            h, k = r.fresh("hle"), r.fresh("k")
            yield (
                f"rcases Nat.le_total {a} {b} with {h} | {h} <;> "
                f"obtain ⟨{k}, rfl⟩ := Nat.exists_eq_add_of_le {h} <;> grind",
                -3.0,
            )


def _monotone(r: Reading) -> Iterator[Rated]:
    """An inequality of the context multiplied by what the goal multiplies its right side with."""
    if r.shape.kind not in ("le", "lt"):
        return
    for name, shape in list(r.fact_shapes.items())[-3:]:
        if shape.kind not in ("le", "lt"):
            continue
        weaken = name if shape.kind == "le" else f"(Nat.le_of_lt {name})"
        yield f"refine Nat.le_trans ?_ (Nat.mul_le_mul_right _ {weaken})", -3.0
        yield f"refine Nat.le_trans ?_ (Nat.mul_le_mul_left _ {weaken})", -3.2
        hm = r.fresh("hm")
        for factor in [v.name for v in r.of_type("Nat")][:2]:
            step = f"have {hm} := Nat.mul_le_mul_left {factor} {weaken}"
            yield f"{step}\nsimp only [Nat.pow_succ, Nat.mul_add, Nat.add_mul] at *\nomega", -3.2
            yield f"{step}\ngrind", -3.2


def _products(r: Reading, facts: Sequence[tuple[str, object]], ints: bool) -> list[str]:
    """`0 ≤ (b - a) * (d - c)` for hypotheses `a ≤ b` and `c ≤ d`."""
    if not ints:
        return []
    gaps = []
    for name, _ in facts:
        shape = r.fact_shapes[name]
        low, high = (
            (shape.left, shape.right) if shape.kind in ("lt", "le") else (shape.right, shape.left)
        )
        gaps.append((name, f"({high} - ({low}))"))
    found: list[str] = []
    for (_, p), (_, q) in list(combinations(gaps, 2))[:4] + [(g, g) for g in gaps[:2]]:
        h = r.fresh(f"hq{len(found)}")
        found.append(f"have {h} : 0 ≤ {p} * {q} := Int.mul_nonneg (by omega) (by omega)")
    return found


def casts(r: Reading) -> Iterator[Rated]:
    """An equation of naturals or integers behind rationals."""
    match = re.fullmatch(r"(\w+) = (\d+)", r.target)
    if (match and "Rat" in r.all_text) or ("↑" in r.all_text and match):
        assert match is not None
        for type in ("Rat", "Int"):
            h = r.fresh("hc")
            yield f"have {h} : ({match[1]} : {type}) = {match[2]} := by grind\nexact_mod_cast {h}", -2.6


def numbers_of(r: Reading) -> list[Variable]:
    return r.of_type("Nat", "Int", "Rat")


def is_used(r: Reading, v: Variable) -> bool:
    return r.mentions(v.name, r.all_text)


def _is_constrained(r: Reading, v: Variable) -> bool:
    """Whether a hypothesis compares something with it; an induction hypothesis does not count."""
    return any(
        r.mentions(v.name, type) and re.search(r"[=≤<≥>∣]", type)
        for fact, type in r.facts.items()
        if not fact.startswith("ih")
    )


def _limits(r: Reading) -> list[int]:
    """Bounds to try: just above each number of the goal, the largest first, and a round one."""
    found = [n + 1 for n in reversed(r.numerals) if 3 <= n <= 5000]
    return list(dict.fromkeys([*found, 101, 20]))


def _known_bound(r: Reading, v: Variable) -> int | None:
    """The least n with v < n that a hypothesis states outright."""
    found = []
    for shape in _conjuncts(r):
        if shape.kind in ("lt", "le") and shape.left == v.name and is_numeral(shape.right):
            found.append(int(shape.right) + (shape.kind == "le"))
        elif shape.kind in ("gt", "ge") and shape.right == v.name and is_numeral(shape.left):
            found.append(int(shape.left) + (shape.kind == "ge"))
    return min(found, default=None)


def _is_positive(r: Reading, v: Variable) -> bool:
    """Whether it is above a number, or above a variable that is."""
    above = {v.name}
    shapes = [_upwards(shape) for shape in _conjuncts(r)]
    for _ in range(3):
        for low, high in shapes:
            if high in above and is_numeral(low):
                return True
            if high in above and low:
                above.add(low)
    return False


def _upwards(shape: Said) -> tuple[str, str]:
    """The lower and the higher side of an inequality; two empty texts for anything else."""
    if shape.kind in ("lt", "le"):
        return shape.left, shape.right
    return (shape.right, shape.left) if shape.kind in ("gt", "ge") else ("", "")


def _conjuncts(r: Reading) -> list[Said]:
    found: list[Said] = []
    todo = list(r.fact_shapes.values())
    while todo:
        shape = todo.pop()
        if shape.kind == "and":
            todo += shape.parts
        else:
            found.append(shape)
    return found
