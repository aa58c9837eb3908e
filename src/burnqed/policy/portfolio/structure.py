"""Steps that follow the shape of a goal: introduce, split, induct."""

from __future__ import annotations

import re
from collections.abc import Iterator

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.automation import definitions
from burnqed.policy.portfolio.reading import Reading, Said, Variable, is_numeral

_INDUCTIVE = {
    "Nat": "induction {v} with\n| zero => ?_\n| succ {v} {ih} => ?_",
    "List": "induction {v} with\n| nil => ?_\n| cons {x} {v} {ih} => ?_",
}
_CASES = {
    "Nat": "cases {v} with\n| zero => ?_\n| succ {v} => ?_",
    "List": "cases {v} with\n| nil => ?_\n| cons {x} {v} => ?_",
    "Option": "cases {v} with\n| none => ?_\n| some {x} => ?_",
    "Bool": "cases {v} with\n| false => ?_\n| true => ?_",
    "Int": "cases {v} with\n| ofNat {x} => ?_\n| negSucc {x} => ?_",
    "Ordering": "cases {v}",
    "Except": "cases {v} with\n| error {x} => ?_\n| ok {x} => ?_",
}

_OTHERS = ("Rat", "Prod")


def introductions(r: Reading) -> Iterator[Rated]:
    """All ∀-variables and premises at once, or only the first."""
    binders = r.binders
    if not binders:
        if r.shape.kind == "other" and "." in r.target.split(" ")[0]:
            yield f"intro {r.fresh('x')}", -3.6  # a definition that unfolds to a ∀, perhaps
        return
    names: list[str] = []
    for binder in binders:
        wanted = binder.name or "h"
        mark = "_" if binder.name else ""  # as Lean prints variables that share a name
        names.append(r.fresh("x" if "✝" in wanted or wanted == "_" else wanted, names, mark))
    yield f"intro {' '.join(names)}", 0.6
    if len(names) > 1:
        yield f"intro {names[0]}", -2.2
        # Before the later variables are fixed an induction hypothesis is stronger.
        first = next((i for i, b in enumerate(binders) if b.type.startswith(("Nat", "List"))), None)
        if first is not None and first + 1 < len(names):
            yield f"intro {' '.join(names[: first + 1])}", -1.6
    if r.shape.kind == "not":
        yield f"intro {names[0]}; simp_all", -1.8


def splits(r: Reading) -> Iterator[Rated]:
    """The target's own connective taken apart."""
    match r.shape.kind:
        case "and":
            yield "constructor", 0.2
            yield "refine ⟨?_, ?_⟩ <;> simp_all", -2.4
        case "iff":
            yield "constructor", -0.2
            yield "constructor <;> intro h <;> simp_all", -1.8
            yield "constructor <;> grind", -2.0
        case "or":
            yield "left", -1.2
            yield "right", -1.2
            yield from _by_cases_of(r, r.shape.left)
        case "ne":
            yield f"intro {r.fresh('h')}", -0.6
        case "eq":
            if r.shape.left.startswith(("(", "⟨")):
                yield "congr 1", -3.0
            yield "congr", -3.4
            yield "apply propext", -4.6
        case "le" | "lt" | "ge" | "gt":
            yield from _contradiction(r, -3.2)
        case "other" if r.target.split(" ")[0].split(".")[0] not in ("True",):
            yield "constructor", -2.4
    if r.shape.kind in ("eq", "or", "dvd", "mem", "exists"):
        yield from _contradiction(r, -3.6)
    yield from _conditions(r)
    if r.facts and r.shape.kind != "false":
        yield "exfalso", -4.4


def _by_cases_of(r: Reading, proposition: str) -> Iterator[Rated]:
    if "∃" not in proposition and "∀" not in proposition:
        yield f"by_cases {r.fresh('hc')} : {proposition}", -1.8


def _contradiction(r: Reading, weight: float) -> Iterator[Rated]:
    name = r.fresh("hn")
    yield f"refine Classical.byContradiction fun {name} => ?_", weight


def _conditions(r: Reading) -> Iterator[Rated]:
    """`if c then …`: by cases on the condition."""
    for condition in re.findall(r"\bif (.+?) then\b", r.target)[:2]:
        if ":" not in condition and "if " not in condition:
            yield f"by_cases {r.fresh('hc')} : {condition}", -1.8
            yield f"by_cases {r.fresh('hc')} : {condition} <;> simp_all", -1.8
    for variable in r.of_type("Prop")[:4]:
        yield f"by_cases {r.fresh('h' + variable.name)} : {variable.name}", -2.4


def inductions(r: Reading) -> Iterator[Rated]:
    """Induction on each variable that it suits, and cases where that will do."""
    if r.target.startswith("∀"):
        return
    used = [v for v in r.variables if r.mentions(v.name, r.target)]
    pack = ", ".join(definitions(r)[:4])
    for i, v in enumerate(used[:5]):
        # A second induction on what is left of the first is seldom the idea.
        again = any(r.mentions(v.name, t) for f, t in r.facts.items() if f.startswith("ih"))
        weight = -0.25 * i - 1.5 * again
        others = [o.name for o in used if o.name != v.name and not r.mentions(o.name, v.type)]
        if v.head in _INDUCTIVE:
            yield from _named_induction(r, v, others, weight)
        if v.head in _CASES:
            yield _CASES[v.head].format(**_names(r, v)), -2.4 + weight
        if v.head in _INDUCTIVE or _may_be_inductive(v):
            yield from _finished(f"induction {v.name}", pack, -1.6 + weight)
            if others:
                general = f"induction {v.name} generalizing {' '.join(others)}"
                yield from _finished(general, pack, -2.3 + weight)
        if v.head in _CASES or _may_be_inductive(v):
            yield from _finished(f"cases {v.name}", pack, -2.2 + weight)
        if _may_be_inductive(v):
            yield f"induction {v.name}", -2.0 + weight
            yield f"cases {v.name}", -3.2 + weight
        if v.head == "Prod":
            yield f"obtain ⟨{r.fresh('x')}, {r.fresh('y')}⟩ := {v.name}", -1.6 + weight


def _named_induction(r: Reading, v: Variable, others: list[str], weight: float) -> Iterator[Rated]:
    """With names for what the cases bring; from the start, with other variables free, or strong."""
    names = _names(r, v)
    text = _INDUCTIVE[v.head].format(**names)
    yield text, -1.3 + weight
    if others:
        general = text.replace(" with\n", f" generalizing {' '.join(others)} with\n", 1)
        yield general, -2.2 + weight
    if v.head == "Nat":
        strong = f"induction {v.name} using Nat.strongRecOn with\n| ind {v.name} {names['ih']} => ?_"
        yield strong, -3.0 + weight


def _finished(step: str, pack: str, weight: float) -> Iterator[Rated]:
    """A step that splits, and a finisher for all that it leaves, which knows the definitions."""
    yield f"{step} <;> simp_all", weight - 0.3
    yield f"{step} <;> grind", weight - 0.1
    if pack:
        yield f"{step} <;> simp_all [{pack}]", weight + 0.1
        yield f"{step} <;> grind [{pack}]", weight
        yield f"{step} <;> simp_all [{pack}] <;> omega", weight - 0.3


def _may_be_inductive(v: Variable) -> bool:
    """Whether it is data of a type that has cases, and none of those that have rules of their own."""
    return v.inductive and v.head not in (*_INDUCTIVE, *_CASES, *_OTHERS)


def _names(r: Reading, v: Variable) -> dict[str, str]:
    return {"v": v.name, "ih": r.fresh("ih"), "x": r.fresh("x" if v.name != "x" else "y")}


def later_start(r: Reading) -> Iterator[Rated]:
    """A lower bound on a number turned into an offset, from which an induction can start."""
    for name, shape in r.fact_shapes.items():
        bound = _lower_bound(r, shape)
        if bound is not None:
            variable, start = bound
            k = r.fresh("k")
            step = (
                f"obtain ⟨{k}, rfl⟩ : ∃ {k}, {variable} = {k} + {start} := "
                f"⟨{variable} - {start}, by omega⟩"
            )
            yield step, -2.2
            yield f"{step}\nclear {name}", -3.0


def _lower_bound(r: Reading, shape: Said) -> tuple[str, int] | None:
    nats = {v.name for v in r.of_type("Nat")}
    if shape.kind in ("le", "lt") and shape.right in nats and is_numeral(shape.left):
        start = int(shape.left) + (shape.kind == "lt")
    elif shape.kind in ("ge", "gt") and shape.left in nats and is_numeral(shape.right):
        return shape.left, int(shape.right) + (shape.kind == "gt")
    elif shape.kind == "ne" and shape.left in nats and shape.right == "0":
        return shape.left, 1
    else:
        return None
    return (shape.right, start) if start > 0 else None


def naming(r: Reading) -> Iterator[Rated]:
    """Names for hypotheses that have none, so that other tactics can speak of them."""
    if any(not h.type.startswith(("Type", "Sort")) and "inst" not in h.name for h in r.unnamed):
        names: list[str] = []
        for h in r.unnamed:
            names.append(r.fresh(re.sub(r"✝.*|\W", "", h.name) or "h", names))
        yield f"rename_i {' '.join(names)}", -0.8


def generalizations(r: Reading) -> Iterator[Rated]:
    """A compound term that occurs more than once, or under a function, made a variable."""
    found = re.findall(r"\(([^()]{3,40})\)", r.target)
    repeated = [t for t in dict.fromkeys(found) if found.count(t) > 1 and not re.search(r"fun|[:,]", t)]
    for i, term in enumerate(repeated[:2]):
        yield f"generalize {r.fresh('hg')} : {term} = {r.fresh('g')} at *", -4.0 - 0.5 * i
