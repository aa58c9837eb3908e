"""Cheap ways to prove that a statement is false: tactics for its negation.

They use a counterexample, or automation alone. For a counterexample, the statement's first variables
get small values, chosen by their printed types, and the rest is computed or left to automation. If all
variables are numbers, a whole box of values is computed at once (`sweep`). Nothing here needs to be
right, because the kernel decides (`refute`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import prod

from burnqed.core.types import Hypothesis

# Applied to `¬ T` directly.
CLOSERS = ("decide", "simp", "omega", "grind", "intro ⟨n, k⟩; omega")
_INSTANCES = 24
_STEPS = 12  # the largest distance from the first values, summed over all variables
_MIDWAY = "(by first | infer_instance | decide | omega | simp)"  # a premise before a variable

_NUMBERS = {
    "Nat": ("0", "1", "2", "3", "4", "5", "7", "10", "100"),
    "Int": ("0", "1", "(-1)", "2", "(-2)", "5", "100", "(-100)"),
    "Rat": ("0", "1", "(-1)", "2", "(1/2)"),
}
_VALUES = {
    **_NUMBERS,
    "Bool": ("true", "false"),
    "Prop": ("True", "False"),
    "Unit": ("()",),
    "String": ('""', '"a"'),
    "Char": ("'a'", "'b'"),
}
# Types for a variable `α : Type`, by universe, and their elements.
_TYPES = {"Type": ("Bool",), "Type u": ("(ULift Bool)",), "Sort u": ("PUnit",)}
_ELEMENTS = {
    "Bool": ("true", "false"),
    "(ULift Bool)": ("(ULift.up true)", "(ULift.up false)"),
    "PUnit": ("PUnit.unit",),
}
_CORE = {"ℕ": "Nat", "ℤ": "Int", "ℚ": "Rat"}
_NUMERIC = re.compile(r"(Fin|BitVec|UInt\d+|Int\d+|USize|ISize)\b")
_FIN = re.compile(r"Fin (\d+)")
# The side of a box of numbers, by its number of variables; and the most values for one `decide`.
_SIDES = {1: 24, 2: 8, 3: 4, 4: 3, 5: 2, 6: 2}
_BOX = 200
_CONTAINER = re.compile(r"(List|Array|Option) (\S+|\(.*\))")


@dataclass(frozen=True, slots=True)
class Instance:
    """A statement with values for its first variables, which have these names."""

    names: tuple[str, ...]
    arguments: tuple[str, ...]

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The value of each variable. Premises have none."""
        both = zip(self.names, self.arguments, strict=True)
        chosen = [(name, _shown(value)) for name, value in both if value != _MIDWAY]
        plain = [name.partition("✝")[0] for name, _ in chosen]
        if len(set(plain)) < len(plain):  # of equal names, distinguished as Lean does
            return tuple(chosen)
        return tuple((name, value) for name, (_, value) in zip(plain, chosen, strict=True))

    @property
    def computed(self) -> str:
        return f"{self._begin}; revert h; decide"

    @property
    def reasoned(self) -> str:
        return f"{self._begin}; first | (simp at h; done) | omega | grind"

    @property
    def _begin(self) -> str:
        # The rest sees only this instance, so that the reported values are a counterexample.
        return f"intro h; replace h := @h {' '.join(self.arguments)}"


@dataclass(frozen=True, slots=True)
class Sweep:
    """A tactic that succeeds if the statement is false at one of these instances."""

    tactic: str
    instances: tuple[Instance, ...]


def instance(hypotheses: Sequence[Hypothesis], values: Mapping[str, int]) -> Instance | None:
    """The instance with these values, if they are of all of a statement's first variables."""
    binders = _variables(hypotheses)
    plain = [binder.name.partition("✝")[0] for binder in binders]
    given = [_signed(values[name]) if name in values else None for name in plain]
    wanted = [_candidates(binder.type, {}) is not None for binder in binders]
    if not values or any(need and value is None for need, value in zip(wanted, given, strict=True)):
        return None
    names = tuple(binder.name for binder in binders)
    return Instance(names, tuple(_MIDWAY if value is None else value for value in given))


def instances(hypotheses: Sequence[Hypothesis]) -> list[Instance]:
    """The instances, small ones first. `hypotheses` are a statement's first variables and premises.

    Premises after the last variable remain in the instance's statement.
    """
    binders = _variables(hypotheses)
    if not binders:
        return []
    names = tuple(b.name for b in binders)
    found = (Instance(names, args) for steps in range(_STEPS) for args in _choices(binders, steps, {}))
    return list(islice(found, _INSTANCES))


def sweep(hypotheses: Sequence[Hypothesis]) -> Sweep | None:
    """All small values at once, if each variable is a number, else None."""
    binders = _variables(hypotheses)
    types = [_bare(b.type) for b in binders]
    side = _SIDES.get(sum(type in ("Nat", "Int") for type in types), 0)
    ranges = [_range(type, side) for type in types]
    values = [(_MIDWAY,) if r is None else r for r in ranges]
    if not binders or all(r is None for r in ranges) or not 0 < prod(map(len, values)) <= _BOX:
        return None
    bound, given = [], []
    for i, type in enumerate(types):
        match type:
            case "Nat":
                bound.append(f"(x{i} : Nat) (_ : x{i} < {side})")
                given.append(f"x{i}")
            case "Int":
                bound.append(f"(x{i} : Nat) (_ : x{i} < {side})")
                given.append(f"((x{i} : Int) - {_below(side)})")
            case _:
                bound.append(f"x{i}")
                given.append(f"x{i}")
    term = f"fun {' '.join(bound)} => @h {' '.join(given)}"
    names = tuple(b.name for b in binders)
    places = sorted(product(*(range(len(v)) for v in values)), key=sum)
    found = (Instance(names, tuple(v[i] for v, i in zip(values, p, strict=True))) for p in places)
    return Sweep(f"intro h; exact absurd ({term}) (by decide)", tuple(found))


def _variables(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The hypotheses up to the last one with values. The rest stays in the computed statement."""
    binders = [h for h in hypotheses if h.value is None]
    types = {b.name: "Bool" for b in binders if _is_sort(b.type)}
    while binders and _candidates(binders[-1].type, types) is None:
        binders.pop()
    return binders


def _range(type: str, side: int) -> tuple[str, ...] | None:
    """The values of a number within a box; empty for a kind that is not swept.

    None for anything but a number, which may be a premise: if it is data, Lean decides nothing.
    """
    if type == "Nat":
        return tuple(map(str, range(side)))
    if type == "Int":
        low = _below(side)
        return tuple(_signed(n) for n in sorted(range(-low, side - low), key=lambda n: (abs(n), -n)))
    if type == "Bool":
        return _VALUES["Bool"]
    if found := _FIN.fullmatch(type):
        return tuple(map(str, range(int(found[1])))) if int(found[1]) <= _BOX else ()
    return None if _candidates(type, {}) is None else ()


def _below(side: int) -> int:
    return (side - 1) // 2


def _signed(number: int) -> str:
    return str(number) if number >= 0 else f"({number})"


def _choices(
    binders: Sequence[Hypothesis], steps: int, chosen: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    """Values for all, with this total distance from the first values."""
    if not binders:
        if steps == 0:
            yield ()
        return
    first, *rest = binders
    values = _candidates(first.type, chosen)
    for step, value in enumerate((_MIDWAY,) if values is None else values):
        if step <= steps:
            for others in _choices(rest, steps - step, {**chosen, first.name: value}):
                yield (value, *others)


def _candidates(type: str, chosen: Mapping[str, str]) -> tuple[str, ...] | None:
    """Values of a printed type; None if the type is unknown, such as a premise."""
    type = _bare(type)
    if type in _VALUES:
        return _VALUES[type]
    if _is_sort(type):
        return _TYPES["Type" if type == "Type" else f"{type[:4]} u"]
    if chosen.get(type) in _ELEMENTS:
        return _ELEMENTS[chosen[type]]
    if found := _FIN.fullmatch(type):
        return tuple(map(str, range(min(int(found[1]), 8))))
    if _NUMERIC.fullmatch(type.split()[0]):
        return ("0", "1", "2", "3", "(-1)")
    *domains, codomain = _split(type, " → ")
    if domains:
        return _functions(domains, _bare(codomain), chosen)
    left, *right = _split(type, " × ")
    if right:
        return _pairs(_candidates(left, chosen), _candidates(" × ".join(right), chosen))
    if found := _CONTAINER.fullmatch(type):
        return _containers(found[1], _candidates(found[2], chosen) or ())
    return None


def _is_sort(type: str) -> bool:
    return type == "Type" or (type.startswith(("Type ", "Sort ")) and "→" not in type)


def _functions(
    domains: Sequence[str], codomain: str, chosen: Mapping[str, str]
) -> tuple[str, ...] | None:
    values = _candidates(codomain, chosen)
    if values is None:
        return None
    unused = " ".join("_" for _ in domains)
    constant = tuple(f"(fun {unused} => {value})" for value in values[:2])
    if list(domains) != [codomain]:
        return constant
    step = ("(fun x => x + 1)",) if codomain in _NUMBERS else ()
    return (*constant, "(fun x => x)", *step)


def _pairs(left: tuple[str, ...] | None, right: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if left is None or right is None:
        return None
    return tuple(f"({a}, {b})" for a in left[:2] for b in right[:2])


def _containers(kind: str, elements: tuple[str, ...]) -> tuple[str, ...]:
    if kind == "Option":
        return ("none", *(f"(some {element})" for element in elements[:2]))
    mark = "" if kind == "List" else "#"
    some = [f"{mark}[{element}]" for element in elements[:2]]
    two = [f"{mark}[{a}, {b}]" for a, b in permutations(elements[:2], 2)]
    same = [f"{mark}[{element}, {element}]" for element in elements[:1]]
    return (f"{mark}[]", *some, *two, *same)


def _bare(type: str) -> str:
    """The type without outer brackets, in core Lean's notation."""
    type = type.strip()
    inner = type[1:-1] if type.startswith("(") and _closing(type) == len(type) - 1 else type
    return _CORE.get(inner, inner)


def _shown(value: str) -> str:
    """The type without its brackets as an argument. A pair keeps its own."""
    return value if len(_split(value[1:-1], ", ")) > 1 else _bare(value)


def _closing(text: str) -> int:
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return at
    return -1


def _split(type: str, mark: str) -> list[str]:
    """Split at marks outside of brackets. Types with binders or quantifiers are not known here."""
    parts = [""]
    depth = 0
    for piece in re.split(f"({re.escape(mark)})", type):
        depth += sum(piece.count(c) for c in "([{⟨") - sum(piece.count(c) for c in ")]}⟩")
        if piece == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts
