"""What Lean knows of a goal beside its text: the forms of propositions, the types of data, constants.

A text of Lean's is for models and for people. Who wants to know what a target is an equation of, what
`intro` would take, or which hypotheses are propositions, reads it here instead of guessing it. Places
are characters of the text that the goal prints: nothing is there twice.

These are also what the REPL sends and what trajectories keep, so their fields are positions of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Kind = Literal[
    "iff", "implies", "or", "and", "not", "forall", "exists", "true", "false",  # made of parts
    "eq", "ne", "le", "lt", "ge", "gt", "dvd", "subset", "mem",  # between two terms
    "other", "term", "type", "premise",
]  # fmt: skip


class Form(msgspec.Struct, frozen=True, array_like=True):
    """A proposition, down to what no connective or relation is the head of.

    The parts of a ∀ or ∃ are what its variable is of (a `type`, or a `premise` that others speak of)
    and its body; those of a relation are two `term`s. A type that the text leaves out has no place,
    and is `apart`.
    """

    kind: Kind
    start: int | None = None
    stop: int | None = None
    parts: tuple[Form, ...] = ()
    name: str | None = None  # of a ∀'s or ∃'s variable
    apart: str | None = None


class Definition(msgspec.Struct, frozen=True, array_like=True):
    """A constant that can be unfolded, and where it is applied to nothing that is bound."""

    name: str
    start: int | None = None
    stop: int | None = None


class Stated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A proposition: its form, the numerals in it, and of a target the definitions in it."""

    form: Form
    numerals: tuple[int, ...] = ()
    definitions: tuple[Definition, ...] = ()


class Data(msgspec.Struct, frozen=True, array_like=True):
    """What a type is of: `List` of `List Nat`, `Function`, `Prop`, the name of a variable.

    `inductive`: Lean can tell the cases of such a thing apart.
    """

    head: str
    inductive: bool = False


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """A hypothesis: a `proposition`, or `data`, which all instances are."""

    proposition: Stated | None = None
    data: Data | None = None


class Facts(msgspec.Struct, frozen=True):
    """Of one goal; `hypotheses` are in the goal's order."""

    target: Stated
    hypotheses: tuple[Known, ...] = ()


def facts_to_json(facts: Sequence[Facts | None]) -> str | None:
    """The facts of a state's goals, as trajectories keep them; None if they are not all known."""
    return None if not facts or None in facts else _write(facts).decode()


def facts_from_json(text: str) -> tuple[Facts, ...]:
    """Raises `ValueError` for what is none."""
    return _read(text)


_write = msgspec.json.Encoder().encode
_read = msgspec.json.Decoder(tuple[Facts, ...]).decode
