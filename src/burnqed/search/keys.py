"""Keys of states: equal if the states differ only in names and order of hypotheses.

The key of a state is its text with the hypotheses sorted and renamed by their content, not their names.
Equal keys mean equal texts up to a one-to-one renaming, so a proof of one state proves the other after
renaming (`bridge`). If the sorting cannot decide between similar hypotheses, equal states may get
different keys: a missed merge costs time, a wrong one would cost a proof.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from burnqed.core.types import Goal, Hypothesis

_WORD = re.compile(r"\?[\w.✝]+|[^\W\d][\w'!?✝₀-₉]*|_[\w']+")
_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Key:
    """A state's identity, and its names in the key's order (only for single goals)."""

    text: str
    names: tuple[str, ...] = ()


def key_of(goals: Sequence[Goal]) -> Key:
    """The key of the goals of one node."""
    if len(goals) == 1:
        return _key_of_goal(goals[0])
    # Coupled goals: unchanged, except for the numbers of their metavariables.
    return Key(renumbered("\n\n".join(goal.text for goal in goals)))


def renumbered(text: str) -> str:
    """The text with its metavariables numbered as they come: Lean numbers them anew in each process."""
    seen: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        word = match.group()
        return seen.setdefault(word, f"?{len(seen)}") if word.startswith("?") else word

    return _WORD.sub(number, text)


def bridge(goals: Sequence[Goal], mine: Key, other: Key) -> str:
    """A tactic that renames the hypotheses of a goal to their names in an equal state.

    Empty if no name differs that a proof could mention.
    """
    if mine.names == other.names:
        return ""
    renamed = dict(zip(mine.names, other.names, strict=True))
    hypotheses = _distinct(goals[0].hypotheses)
    moved: set[str] = set()
    for hypothesis in hypotheses:
        words = set(_words(_body_text(hypothesis)))
        changes = renamed[hypothesis.name] != hypothesis.name and not (
            hypothesis.inaccessible and "✝" in renamed[hypothesis.name]
        )
        if changes or words & moved:
            moved.add(hypothesis.name)
    if not moved:
        return ""
    # Reverting a hypothesis reverts what depends on it, in the order of the context.
    order = [h for h in hypotheses if h.name in moved]
    unnamed = [h for h in hypotheses if h.inaccessible]
    lines = []
    old = {h.name: h.name for h in hypotheses}
    if any(h.inaccessible for h in order):
        fresh = [f"u{i}" for i in range(len(unnamed))]
        old |= {h.name: name for h, name in zip(unnamed, fresh, strict=True)}
        lines.append(f"rename_i {' '.join(fresh)}")
    lines.append(f"revert {' '.join(old[h.name] for h in order)}")
    new = ("_" if "✝" in renamed[h.name] else renamed[h.name] for h in order)
    lines.append(f"intro {' '.join(new)}")
    return "\n".join(lines)


def _key_of_goal(goal: Goal) -> Key:
    hypotheses = _distinct(goal.hypotheses)
    colours = {h.name: f"✝{i}" if h.inaccessible else "" for i, h in enumerate(hypotheses)}
    for _ in range(_ROUNDS):
        colours = _refine(hypotheses, goal.target, colours)
    # Inaccessible hypotheses keep their order, because `rename_i` refers to it.
    order = sorted(
        hypotheses, key=lambda h: (h.inaccessible, "" if h.inaccessible else colours[h.name])
    )
    number = {h.name: f"#{i}" for i, h in enumerate(order)}
    lines = [f"{number[h.name]} : {_replace(_body_text(h), number)}" for h in order]
    mark = goal.fragment if goal.fragment != "tactic" else "⊢"
    text = "\n".join([*lines, f"{mark} {_replace(goal.target, number)}"])
    return Key(text, tuple(h.name for h in order))


def _distinct(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """A name that occurs twice means the later one; the earlier one cannot be mentioned."""
    latest = {h.name: i for i, h in enumerate(hypotheses)}
    return [
        h if latest[h.name] == i else Hypothesis(f"{h.name}✝{i}", h.type, h.value, inaccessible=True)
        for i, h in enumerate(hypotheses)
    ]


def _refine(
    hypotheses: Sequence[Hypothesis], target: str, colours: Mapping[str, str]
) -> dict[str, str]:
    """A hypothesis is identified by its content and by where it is mentioned."""
    texts = [(h.name, _body_text(h)) for h in hypotheses] + [("⊢", target)]
    said: dict[str, list[str]] = {h.name: [] for h in hypotheses}
    for owner, text in texts:
        mentioned = {word for word in _words(text) if word in said}
        for name in mentioned:
            marked = _replace(text, {**colours, name: "★"})
            said[name].append(marked if owner == "⊢" else f"h {marked}")
    return {
        h.name: _digest([colours[h.name], _replace(_body_text(h), colours), *sorted(said[h.name])])
        for h in hypotheses
    }


def _body_text(hypothesis: Hypothesis) -> str:
    if hypothesis.value is None:
        return hypothesis.type
    return f"{hypothesis.type} := {hypothesis.value}"


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _replace(text: str, names: Mapping[str, str]) -> str:
    def name(match: re.Match[str]) -> str:
        word = match.group()
        # After a dot it is a field or the rest of a longer name.
        if match.start() and text[match.start() - 1] == ".":
            return word
        return names.get(word, word)

    return _WORD.sub(name, text)


def _digest(parts: Sequence[str]) -> str:
    return blake2b("\x00".join(parts).encode(), digest_size=8).hexdigest()
