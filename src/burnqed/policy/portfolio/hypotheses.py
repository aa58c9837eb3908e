"""Steps that use a hypothesis: take it apart, apply it, rewrite with it, put terms into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product

from burnqed.policy.candidates import Rated
from burnqed.policy.names import IDENT
from burnqed.policy.portfolio.reading import Reading, Said, premises

_MOST = 6  # hypotheses of one kind that are looked at, the latest first


def taking_apart(r: Reading) -> Iterator[Rated]:
    """∧, ∃, ∨ and ↔ in a hypothesis, and cases on what is left."""
    apart: list[str] = []
    for name, shape in _latest(r):
        match shape.kind:
            case "and" | "exists":
                apart.append(f"obtain {_pattern(r, shape, set())} := {name}")
            case "or":
                yield f"rcases {name} with {name} | {name}", -0.9
                yield f"rcases {name} with {name} | {name} <;> simp_all", -1.6
                yield f"rcases {name} with {name} | {name} <;> grind", -1.8
            case "iff":
                yield f"obtain ⟨{r.fresh('hl')}, {r.fresh('hr')}⟩ := {name}", -2.8
            case "other" | "mem":
                yield f"cases {name}", -3.0
                yield f"cases {name} <;> simp_all", -2.8
                yield f"induction {name} <;> simp_all", -3.4
    for i, step in enumerate(apart[:_MOST]):
        yield step, -0.5 - 0.2 * i
    if len(apart) > 1:
        yield "\n".join(_renumbered(apart)), -0.3


def _renumbered(steps: list[str]) -> list[str]:
    """Several `obtain`s in a row, whose new names must not clash."""
    seen: dict[str, int] = {}

    def rename(match: re.Match[str]) -> str:
        name = match.group()
        seen[name] = seen.get(name, 0) + 1
        return name if seen[name] == 1 else f"{name}_{seen[name]}"

    out = []
    for step in steps:
        pattern, _, source = step.removeprefix("obtain ").rpartition(" := ")
        out.append(f"obtain {IDENT.sub(rename, pattern)} := {source}")
    return out


def _pattern(r: Reading, shape: Said, used: set[str]) -> str:
    """The nested ⟨…⟩ that takes a conjunction or an ∃ apart all the way."""
    parts: list[str] = []
    while True:
        if shape.kind == "and":
            first, shape = shape.parts
            parts.append(_leaf(r, first, used))
        elif shape.kind == "exists":
            parts.append(_new(r, shape.name if IDENT.fullmatch(shape.name) else "x", used))
            shape = shape.parts[1]
        else:
            parts.append(_leaf(r, shape, used))
            return f"⟨{', '.join(parts)}⟩"


def _leaf(r: Reading, shape: Said, used: set[str]) -> str:
    if shape.kind in ("and", "exists"):
        return _pattern(r, shape, used)
    return _new(r, "h", used)


def _new(r: Reading, wanted: str, used: set[str]) -> str:
    name = r.fresh(wanted, used)
    used.add(name)
    return name


def applying(r: Reading) -> Iterator[Rated]:
    """`exact` and `apply`, forwards and backwards."""
    if r.target.startswith("∀"):
        return
    heads = set(IDENT.findall(r.target))
    for i, (name, shape) in enumerate(_latest(r)):
        lower = 0.15 * i
        binders, conclusion = premises(shape)
        if binders:
            fits = conclusion is not None and bool(heads & set(IDENT.findall(conclusion.text)))
            yield f"apply {name}", (-1.6 if fits else -2.8) - lower
            yield f"apply {name} <;> simp_all", (-2.6 if fits else -3.6) - lower
        elif shape.kind in ("and",):
            yield f"exact {name}.1", -3.2 - lower
            yield f"exact {name}.2", -3.2 - lower
        elif shape.kind in ("eq", "iff"):
            yield f"exact {name}.symm", -3.4 - lower
        if shape.kind == "not" and r.shape.kind == "false":
            yield f"apply {name}", -1.2 - lower


def rewriting(r: Reading) -> Iterator[Rated]:
    """Equations used in both directions, here and in other hypotheses."""
    for i, (name, shape) in enumerate(_latest(r)):
        lower = 0.2 * i
        _, conclusion = premises(shape)
        kind = conclusion.kind if conclusion else "false"
        if kind not in ("eq", "iff"):
            if shape.kind not in ("and", "or", "exists", "forall", "implies"):
                yield f"simp at {name}", -3.2 - lower
            continue
        yield f"rw [{name}]", -1.8 - lower
        yield f"rw [← {name}]", -2.8 - lower
        yield f"simp [{name}]", -1.9 - lower
        yield f"simp only [{name}]", -3.4 - lower
        yield f"simp at {name}", -3.0 - lower
        if kind == "eq" and (shape.left in r.facts or _is_variable(r, shape)):
            yield f"subst {name}", -1.4 - lower
        for other in list(r.facts)[-3:]:
            if other != name:
                yield f"rw [{name}] at {other}", -3.6 - lower


def definitions(r: Reading) -> Iterator[Rated]:
    """A function or predicate that a hypothesis gives for all arguments, put in wherever it is used."""
    names = {v.name for v in r.of_type("Function")}
    given: list[str] = []
    defined: list[str] = []
    for name, shape in r.fact_shapes.items():
        binders, conclusion = premises(shape)
        if conclusion is None or conclusion.kind not in ("eq", "iff") or not binders:
            continue
        arguments = [binder.name or "" for binder in binders]
        head, *applied = conclusion.left.split(" ")
        if head in names and applied == arguments and not r.mentions(head, conclusion.right):
            given.append(name)
            defined.append(head)
    places = [
        name
        for name, type in r.facts.items()
        if name not in given and any(r.mentions(head, type) for head in defined)
    ]
    if any(r.mentions(head, r.target) for head in defined):
        places.append("⊢")
    if places:
        yield f"simp only [{', '.join(given)}] at {' '.join(places)}", -1.0


def _is_variable(r: Reading, shape: Said) -> bool:
    names = {v.name for v in r.variables}
    return shape.left in names or shape.right in names


def instances(r: Reading) -> Iterator[Rated]:
    """∀-hypotheses at terms of the goal."""
    for i, (name, shape) in enumerate(_latest(r)):
        if shape.kind != "forall":
            continue
        binders, _ = premises(shape)
        count = 0
        while count < len(binders) and binders[count].name is not None:
            count += 1
        terms = _terms(r, binders[0].type if binders else "")
        wanted = r.fresh("hi")
        choices = list(islice(product(terms, repeat=min(count, 2)), 12)) if count else []
        for j, choice in enumerate(choices[:6]):
            arguments = " ".join(choice)
            yield f"have {wanted} := {name} {arguments}", -2.4 - 0.2 * i - 0.15 * j
        if count == 1 and len(terms) > 1:
            several = [f"have {wanted}{k} := {name} {t}" for k, t in enumerate(terms[:6])]
            yield "\n".join([*several, "simp_all"]), -2.8 - 0.2 * i
            yield "\n".join([*several, "grind"]), -2.6 - 0.2 * i
            yield "\n".join([*several, "omega"]), -2.8 - 0.2 * i
        if count == 2 and len(choices) > 1:
            several = [f"have {wanted}{k} := {name} {' '.join(c)}" for k, c in enumerate(choices[:9])]
            yield "\n".join([*several, "grind"]), -2.8 - 0.2 * i


def _terms(r: Reading, type: str) -> list[str]:
    """What might go into a ∀: arguments of functions in the target, variables, small numbers."""
    found = [t.strip("()") for t in re.findall(r"(?<=\w )(\d+|\([^()]+\))(?=[\s)]|$)", r.target)]
    found = [t if t.isdigit() else f"({t})" for t in found if ":" not in t and "fun" not in t]
    names = [v.name for v in r.variables if not type or v.type == type]
    numbers = ["0", "1", "2"] if type in ("", "Nat", "Int", "Rat") else []
    return list(dict.fromkeys([*names[:3], *found[:4], *numbers]))


def _latest(r: Reading) -> list[tuple[str, Said]]:
    return list(r.fact_shapes.items())[::-1][:_MOST]
