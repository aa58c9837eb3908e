"""One goal as the rules see it: what Lean says of it (`core.facts`), and the texts that it is about."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from burnqed.core.facts import Data, Form, Known
from burnqed.core.types import Goal
from burnqed.policy.names import IDENT, mentions
from burnqed.policy.portfolio.text_facts import facts_of_text

_MOST_DIGITS = 6  # of a numeral that rules compute with


# Mathlib's letters for types of core Lean, alone: `ℕ∞`, `ℕ+`, `ℤ√d` and `ℚ≥0` are others.
_LETTER = re.compile(r"(?<![\w.])[ℕℤℚ](?![\w'.∞+≥√ˣ])")
_LETTERS = {"ℕ": "Nat", "ℤ": "Int", "ℚ": "Rat"}


def on_one_line(text: str) -> str:
    """Also with the names of types for Mathlib's letters, so that a rule has one text to look for."""
    return _LETTER.sub(lambda letter: _LETTERS[letter[0]], " ".join(text.split()))


@dataclass(frozen=True, slots=True)
class Said:
    """A proposition or a part of one: its form, and the text that has its place."""

    form: Form
    whole: str

    @property
    def kind(self) -> str:
        return self.form.kind

    @property
    def text(self) -> str:
        """As it prints, on one line; empty where Lean does not print it."""
        if self.form.start is None:
            return self.form.apart or ""
        return on_one_line(self.whole[self.form.start : self.form.stop])

    @property
    def parts(self) -> tuple[Said, ...]:
        return tuple(Said(part, self.whole) for part in self.form.parts)

    @property
    def left(self) -> str:
        """Of two sides the first; or what a ¬ denies."""
        return self.parts[0].text if self.form.parts else ""

    @property
    def right(self) -> str:
        return self.parts[1].text if len(self.form.parts) > 1 else ""

    @property
    def name(self) -> str:
        """Of a ∀'s or ∃'s variable."""
        return self.form.name or "_"


@dataclass(frozen=True, slots=True)
class Binder:
    """A ∀-variable or a premise that `intro` would take; a premise has no name."""

    name: str | None
    said: Said

    @property
    def type(self) -> str:
        return self.said.text


def premises(said: Said) -> tuple[list[Binder], Said | None]:
    """The ∀-variables and premises in front, as `intro` would take them, and what is left.

    Nothing is left, which is to say False, of a ¬.
    """
    binders: list[Binder] = []
    while said.kind in ("forall", "implies"):
        first, rest = said.parts
        binders.append(Binder(said.name if said.kind == "forall" else None, first))
        said = rest
    if said.kind == "not":
        return [*binders, Binder(None, said.parts[0])], None
    return binders, said


def is_numeral(text: str) -> bool:
    """Whether it is a number written out, and one to compute with: `²` and a page of digits are not."""
    return text.isdecimal() and len(text) < 20


@dataclass(frozen=True, slots=True)
class Variable:
    """A hypothesis that is data; `head` is what its type is of, `inductive` if that has cases."""

    name: str
    type: str
    head: str
    inductive: bool


class Reading:
    """One goal, read. All hypotheses here have names that a tactic may say."""

    def __init__(self, goal: Goal) -> None:
        self.goal = goal
        self.known = goal.facts or facts_of_text(goal)
        self.target = on_one_line(goal.target)
        self.shape = Said(self.known.target.form, goal.target)
        self.unnamed = [h for h in goal.hypotheses if h.inaccessible]

    @cached_property
    def _named(self) -> dict[str, tuple[str, Known]]:
        """The latest of each name: how it prints, and what is known of it."""
        both = zip(self.goal.hypotheses, self.known.hypotheses, strict=True)
        latest = {h.name: (h, known) for h, known in both}
        return {
            name: (h.type, known)
            for name, (h, known) in latest.items()
            if not h.inaccessible and "✝" not in name
        }

    @cached_property
    def variables(self) -> list[Variable]:
        found = []
        for name, (type, known) in self._named.items():
            if known.proposition is None:
                data = known.data or Data("")
                found.append(Variable(name, on_one_line(type), data.head, data.inductive))
        return found

    @cached_property
    def facts(self) -> dict[str, str]:
        """The hypotheses that are propositions, by name."""
        return {name: on_one_line(self._named[name][0]) for name in self.fact_shapes}

    @cached_property
    def fact_shapes(self) -> dict[str, Said]:
        return {
            name: Said(known.proposition.form, type)
            for name, (type, known) in self._named.items()
            if known.proposition is not None
        }

    def fresh(self, wanted: str, used: Collection[str] = (), mark: str = "") -> str:
        """A name that nothing in the context has yet, nor any of `used`."""
        taken = {h.name for h in self.goal.hypotheses} | set(used)
        if wanted not in taken:
            return wanted
        numbered = (f"{wanted}{mark}{i}" for i in range(1, 1000))
        return next(name for name in numbered if name not in taken)

    def of_type(self, *heads: str) -> list[Variable]:
        return [v for v in self.variables if v.head in heads]

    @cached_property
    def all_text(self) -> str:
        return " ; ".join([*self.facts.values(), self.target])

    @cached_property
    def numerals(self) -> list[int]:
        """Numbers written in the goal, the smallest first; those of many digits left out."""
        stated = [known.proposition for _, known in self._named.values()]
        found = [n for one in (*stated, self.known.target) if one for n in one.numerals]
        return sorted({n for n in found if n < 10**_MOST_DIGITS})

    @cached_property
    def binders(self) -> list[Binder]:
        """What `intro` would take of the target."""
        return premises(self.shape)[0]

    @cached_property
    def constants(self) -> dict[str, str]:
        """Definitions as the target names them, each with an application to say, or nothing.

        What stands behind a notation is left out: it is seldom worth unfolding.
        """
        places: dict[str, int] = {}
        for match in IDENT.finditer(self.target):
            places.setdefault(match.group().rpartition(".")[2], match.end())
        written = [
            (places[last], one)
            for one in self.known.target.definitions
            if (last := one.name.rpartition(".")[2]) in places
        ]
        return {
            one.name: "" if one.start is None else on_one_line(self.goal.target[one.start : one.stop])
            for _, one in sorted(written, key=itemgetter(0))
        }

    def mentions(self, name: str, text: str) -> bool:
        return mentions(name, text)

    @property
    def arithmetic(self) -> bool:
        """Whether numbers are compared or computed with."""
        return bool(self.of_type("Nat", "Int", "Fin", "Rat", "BitVec")) or bool(
            re.search(r"\d|[+*^%]|\.length|Nat\b|Int\b", self.target)
        )

    @property
    def closed(self) -> bool:
        """No variable of the context is in the target."""
        return not any(self.mentions(v.name, self.target) for v in self.variables) and not any(
            self.mentions(h.name, self.target) for h in self.unnamed
        )
