"""Cheap ways to prove that a statement is false: tactics for its negation.

Either automation alone, or a counterexample: the statement's first variables are given small values,
chosen by how their types print, and what it then says is computed, or left to automation. Nothing here
has to be right: what a tactic proves is for the kernel to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from burnqed.core.types import Hypothesis

# On `¬ T` as it is.
CLOSERS = ("decide", "simp", "omega", "grind", "intro ⟨n, k⟩; omega")
_INSTANCES = 24
_STEPS = 9  # how far from the first value of each variable, over all of them
_MIDWAY = "(by first | infer_instance | decide | omega | simp)"  # a premise before a variable

_NUMBERS = {
    "Nat": ("0", "1", "2", "3", "5", "10", "100"),
    "Int": ("0", "1", "(-1)", "2", "(-2)", "5", "100"),
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
_NUMERIC = re.compile(r"(Fin|BitVec|UInt\d+|Int\d+|USize|ISize)\b")
_CONTAINER = re.compile(r"(List|Array|Option) (\S+|\(.*\))")


@dataclass(frozen=True, slots=True)
class Instance:
    """A statement at some values of its first variables."""

    arguments: tuple[str, ...]

    @property
    def computed(self) -> str:
        return f"{self._begin}; revert k; decide"

    @property
    def reasoned(self) -> str:
        return f"{self._begin}; first | (simp at k; done) | omega | grind"

    @property
    def _begin(self) -> str:
        return f"intro h; have k := @h {' '.join(self.arguments)}"


def instances(hypotheses: Sequence[Hypothesis]) -> list[Instance]:
    """Small ones first. `hypotheses` are a statement's leading variables and premises, in order.

    Premises behind the last variable stay in what the instance says.
    """
    binders = [h for h in hypotheses if h.value is None]
    types = {b.name: "Bool" for b in binders if _is_sort(b.type)}
    while binders and _candidates(binders[-1].type, types) is None:
        binders.pop()
    if not binders:
        return []
    found = (Instance(args) for steps in range(_STEPS) for args in _choices(binders, steps, {}))
    return list(islice(found, _INSTANCES))


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
    if _NUMERIC.fullmatch(type.split()[0]):
        return ("0", "1", "2")
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
    two = [f"{mark}[{', '.join(elements[:2])}]"] if len(elements) > 1 else []
    return (f"{mark}[]", *some, *two)


def _bare(type: str) -> str:
    """Without brackets around all of it."""
    type = type.strip()
    return type[1:-1] if type.startswith("(") and _closing(type) == len(type) - 1 else type


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
