"""Cheap ways to prove that a statement is false: tactics for its negation.

Either a counterexample, or automation alone. For a counterexample the statement's first variables are
given small values, chosen by how their types print, and what it then says is computed, or left to
automation; where all variables are numbers, a box of values is computed at once (`sweep`). Nothing here
has to be right: what a tactic proves is for the kernel to say (`refute`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import prod

from burnqed.core.types import Hypothesis

# On `¬ T` as it is.
CLOSERS = ("decide", "simp", "omega", "grind", "intro ⟨n, k⟩; omega")
_INSTANCES = 24
_STEPS = 12  # how far from the first value of each variable, over all of them
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
# For a variable `α : Type`, in which universe it may be; and the elements of what stands for it then.
_TYPES = {"Type": ("Bool",), "Type u": ("(ULift Bool)",), "Sort u": ("PUnit",)}
_ELEMENTS = {
    "Bool": ("true", "false"),
    "(ULift Bool)": ("(ULift.up true)", "(ULift.up false)"),
    "PUnit": ("PUnit.unit",),
}
_CORE = {"ℕ": "Nat", "ℤ": "Int", "ℚ": "Rat"}
_NUMERIC = re.compile(r"(Fin|BitVec|UInt\d+|Int\d+|USize|ISize)\b")
_FIN = re.compile(r"Fin (\d+)")
# The side of a box of numbers, by how many variables it has; and what one `decide` may go through.
_SIDES = {1: 24, 2: 8, 3: 4, 4: 3, 5: 2, 6: 2}
_BOX = 200
_CONTAINER = re.compile(r"(List|Array|Option) (\S+|\(.*\))")


@dataclass(frozen=True, slots=True)
class Instance:
    """A statement at some values of its first variables, which have these names."""

    names: tuple[str, ...]
    arguments: tuple[str, ...]

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """What stands for each variable; premises have none."""
        both = zip(self.names, self.arguments, strict=True)
        chosen = [(name, _shown(value)) for name, value in both if value != _MIDWAY]
        plain = [name.partition("✝")[0] for name, _ in chosen]
        if len(set(plain)) < len(plain):  # one hides another: as Lean tells them apart
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
        # What follows sees this instance and no other: the values that are told are a counterexample.
        return f"intro h; replace h := @h {' '.join(self.arguments)}"


@dataclass(frozen=True, slots=True)
class Sweep:
    """A tactic that works if the statement is false at one of these instances, small ones first."""

    tactic: str
    instances: tuple[Instance, ...]


def instances(hypotheses: Sequence[Hypothesis]) -> list[Instance]:
    """Small ones first. `hypotheses` are a statement's leading variables and premises, in order.

    Premises behind the last variable stay in what the instance says.
    """
    binders = _variables(hypotheses)
    if not binders:
        return []
    names = tuple(b.name for b in binders)
    found = (Instance(names, args) for steps in range(_STEPS) for args in _choices(binders, steps, {}))
    return list(islice(found, _INSTANCES))


def sweep(hypotheses: Sequence[Hypothesis]) -> Sweep | None:
    """All small values at once, where each variable is a number; None where one is something else."""
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
    """Up to the last one that there are values for; what comes after stays in what is computed."""
    binders = [h for h in hypotheses if h.value is None]
    types = {b.name: "Bool" for b in binders if _is_sort(b.type)}
    while binders and _candidates(binders[-1].type, types) is None:
        binders.pop()
    return binders


def _range(type: str, side: int) -> tuple[str, ...] | None:
    """The values of a number within a box; none if it is of a kind that is not swept.

    What is no number at all may be a premise (None): if it is data, Lean decides nothing.
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
    """Values for all, together that many steps away from the first of each."""
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
    """Values of a type, as it prints; None where it is none that is known, such as a premise."""
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
    """Without brackets around all of it, and as core Lean calls it."""
    type = type.strip()
    inner = type[1:-1] if type.startswith("(") and _closing(type) == len(type) - 1 else type
    return _CORE.get(inner, inner)


def _shown(value: str) -> str:
    """Without the brackets that it has as an argument; those of a pair are its own."""
    return value if len(_split(value[1:-1], ", ")) > 1 else _bare(value)


def _closing(text: str) -> int:
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return at
    return -1


def _split(type: str, mark: str) -> list[str]:
    """At the marks outside brackets; a binder or quantifier is no type that is known here."""
    parts = [""]
    depth = 0
    for piece in re.split(f"({re.escape(mark)})", type):
        depth += sum(piece.count(c) for c in "([{⟨") - sum(piece.count(c) for c in ")]}⟩")
        if piece == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts
