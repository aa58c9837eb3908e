"""States as texts: their goals, their hypotheses, and the statement that a first state is of."""

from __future__ import annotations

import re
from dataclasses import dataclass

from burnqed.core.errors import InputError
from burnqed.core.facts import facts_from_json
from burnqed.core.types import Goal, Hypothesis, Proposition

_HYPOTHESIS = re.compile(r"^(\S[^:\n]*?) :(?=\s)(.*)", re.DOTALL)
_LEVEL = re.compile(r"\b(?:Type|Sort) (?:\(?(?:max |imax )?)((?:[a-z]\w*\s*)+)")
_UNWRITTEN = re.compile(r"✝[⁰¹²³⁴-⁹]+")
_MARK = re.compile(r"\b(?:let|have)\b|:=|[(\[{⟨)\]}⟩]")


class NoStatement(Exception):
    """Why a state cannot be turned into a statement."""


def goals_of(state: str) -> list[str]:
    """The texts of its goals; none of `no goals`."""
    text = state.strip()
    return [] if text in ("", "no goals") else [goal.strip("\n") for goal in re.split(r"\n\s*\n", text)]


@dataclass(frozen=True, slots=True)
class Local:
    """A hypothesis as it is printed; `hidden` if nobody can write its name."""

    name: str
    type: str
    hidden: bool


def locals_of(goal: str) -> list[Local]:
    """The hypotheses of a goal."""
    entries: list[str] = []
    for line in goal.splitlines():
        if line.startswith("⊢"):
            break
        if line.startswith((" ", "\t")) and entries:
            entries[-1] += "\n" + line
        elif not line.startswith("case "):
            entries.append(line)
    found: list[Local] = []
    for entry in entries:
        parts = _HYPOTHESIS.match(entry)
        if parts:
            found += [
                Local(name.rstrip("✝"), parts[2].strip(), name.endswith("✝"))
                for name in parts[1].split()
            ]
    return found


def goal_of(state: str, facts: str | None = None) -> Goal:
    """The first goal of a state of which the text is kept, and perhaps the facts (`core.facts`)."""
    goals = goals_of(state)
    if not goals or "⊢" not in goals[0]:
        raise InputError(f"no goal can be read from {state[:80]!r}")
    before, _, target = goals[0].rpartition("\n⊢ ") if "\n⊢ " in goals[0] else goals[0].rpartition("⊢ ")
    lines = goals[0].splitlines()
    name = lines[0].removeprefix("case ") if lines[0].startswith("case ") else None
    known = tuple(map(_hypothesis, locals_of(f"{before}\n⊢")))
    told = facts_from_json(facts)[0] if facts else None
    if told and len(told.hypotheses) != len(known):  # two that print as one cannot be told apart
        told = None
    return Goal("", target.replace("\n  ", "\n"), known, name, facts=told)


def _hypothesis(one: Local) -> Hypothesis:
    name = f"{one.name}✝" if one.hidden else one.name
    type, value = _value_apart(one.type.replace("\n  ", "\n"))
    return Hypothesis(name, type, value, inaccessible="✝" in name)


def _value_apart(text: str) -> tuple[str, str | None]:
    """The type and the value of a `let`: what is before and behind a `:=` that is in no brackets.

    A `let` inside of a type has one as well, and is none of the context's.
    """
    depth = 0
    for found in _MARK.finditer(text):
        mark = found[0]
        depth += (mark in "([{⟨") - (mark in ")]}⟩")
        if mark in ("let", "have"):
            return text, None
        if mark == ":=" and depth == 0:
            return text[: found.start()].rstrip(" "), text[found.end() :].lstrip(" ")
    return text, None


def names_in(goal: str) -> set[str]:
    """The names of the hypotheses that can be written."""
    return {one.name for one in locals_of(goal) if not one.hidden}


def statement_of(state: str) -> Proposition:
    """What a proof that begins with this state proves, as far as its text says."""
    goals = goals_of(state)
    if len(goals) != 1:
        raise NoStatement("its first state has not one goal")
    if _UNWRITTEN.search(state):
        raise NoStatement("its first state has names that nobody can write")
    goal = goals[0]
    at = re.search(r"^⊢ ?", goal, re.MULTILINE)
    if at is None:
        raise NoStatement("its first state has no target")
    binders: list[str] = []
    seen: set[str] = set()
    for one in locals_of(goal):
        if " := " in one.type or ":=\n" in one.type:
            raise NoStatement("its first state has a `let`")
        if one.name in seen:
            raise NoStatement("two hypotheses of its first state share a name")
        seen.add(one.name)
        instance = one.hidden and one.name.startswith("inst")
        left, right = ("[", "]") if instance else ("(", ")")
        binders.append(f"{left}{one.name} : {one.type}{right}")
    target = goal[at.end() :]
    text = f"∀ {' '.join(binders)}, {target}" if binders else target
    text = text.replace("✝", "")
    levels = {word for found in _LEVEL.finditer(text) for word in found[1].split()}
    return Proposition(text, tuple(sorted(levels - {"max", "imax"})))


def introductions(state: str, there: int) -> str:
    """The tactic that names the hypotheses of a first state as they are recorded, from the one with
    number `there` on; empty if there is nothing to name."""
    goals = goals_of(state)
    wanted = locals_of(goals[0])[there:] if goals else []
    return "intro " + " ".join("_" if one.hidden else one.name for one in wanted) if wanted else ""
