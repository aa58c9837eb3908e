"""The requests of the REPL: commands, and the names of their fields.

A request is the line `command {json}`; the commands are Pantograph's, and ours under `qed.`. No other
file knows them (replies are in `replies`). What they do is in `repl/README.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

Gate = Mapping[str, Sequence[str]]  # what a text may not contain; `rules.gate`


class Request(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A request; fields that are None are left out."""

    command: ClassVar[str]

    @property
    def line(self) -> str:
        # Not ASCII-escaped: Lean's JSON reader does not join surrogate pairs.
        return f"{self.command} {_encoder.encode(self).decode()}"


_encoder = msgspec.json.Encoder()


class StartGoal(Request, frozen=True):
    """A state to prove a proposition in: `expr`, or the statement of the constant `copy_from`.

    With `hide` that constant is out of reach, and what else is by the rule `leak`. `levels` are
    names of universes in `expr`. With `negate` the goal is its negation.
    """

    command = "goal.start"
    expr: str | None = None
    copy_from: str | None = None
    hide: bool | None = None
    leak: str | None = None
    levels: tuple[str, ...] | None = None
    negate: bool | None = None


class StartText(Request, frozen=True):
    """The theorem that a text ends with, or with a `hole` the goal of that `sorry`."""

    command = "qed.start"
    file: str
    hole: int | None = None
    negate: bool | None = None
    gate: Gate | None = None


class GoalTactic(Request, frozen=True):
    """On one goal; with `auto_resume` the others stay in the state, behind what becomes of it."""

    command = "goal.tactic"
    state_id: int
    goal_id: int
    tactic: str
    auto_resume: bool


class Batch(Request, frozen=True):
    """Each on the goals with these indices, by default all; the new states have none of the others."""

    command = "qed.batch"
    state_id: int
    tactics: Sequence[str]
    goal_ids: Sequence[int] | None = None
    max_heartbeats: int | None = None
    constants: bool | None = None


class PrintGoals(Request, frozen=True):
    """A state, with its `goals` on request."""

    command = "goal.print"
    state_id: int
    goals: bool


class DeleteStates(Request, frozen=True):
    """Forget states. Their ids are not used again before a reset."""

    command = "goal.delete"
    state_ids: Sequence[int]


class Reset(Request, frozen=True):
    """Forget all states, and count ids from the beginning."""

    command = "reset"


class DescribeEnvironment(Request, frozen=True):
    """The modules that this Lean has loaded."""

    command = "env.describe"


class ReadModule(Request, frozen=True):
    """What one of the loaded modules imports, and the names that it declares."""

    command = "env.module_read"
    module: str


class Inspect(Request, frozen=True):
    """A constant: its type, and the module that declares it."""

    command = "env.inspect"
    name: str


class Parse(Request, frozen=True):
    """How far a text can be read as something of a syntactic category, such as `tactic`."""

    command = "env.parse"
    input: str
    category: str


class Catalog(Request, frozen=True):
    """The names of all constants."""

    command = "env.catalog"


class Process(Request, frozen=True):
    """A file, elaborated command by command, with the messages of each."""

    command = "frontend.process"
    file: str


class Certify(Request, frozen=True):
    """The kernel's verdict on a state without goals, and what its term rests on.

    It is not yet the judge's: that one compiles the proof's text in a process of its own.
    """

    command = "qed.certify"
    state_id: int


class Theorems(Request, frozen=True):
    """One page of the library's theorems, of modules with these prefixes."""

    command = "qed.theorems"
    offset: int
    limit: int
    modules: Sequence[str] | None = None
    stride: int | None = None
    print: bool | None = None
    roundtrip: bool | None = None


class Compile(Request, frozen=True):
    """What is in `hide` is taken out of what automation knows."""

    command = "qed.compile"
    file: str
    gate: Gate
    reference: str | None = None
    reference_gate: Gate | None = None
    hide: tuple[str, ...] | None = None
    max_heartbeats: int | None = None


class Verify(Request, frozen=True):
    """`export` is what `qed.compile` handed out, in another process."""

    command = "qed.verify"
    export: Any
    written: Sequence[str]
    reference: str | None = None
    reference_gate: Gate | None = None
    target: str | None = None
    leak: str | None = None
    max_heartbeats: int | None = None


class FindHoles(Request, frozen=True):
    command = "qed.holes"
    file: str
    gate: Gate | None = None


class OutlineFile(Request, frozen=True):
    command = "qed.outline"
    file: str


class TraceFile(Request, frozen=True):
    """The theorems from a byte on; `full`: with every proof elaborated."""

    command = "qed.trace"
    file: str
    from_: int = msgspec.field(name="from")
    full: bool


class RetraceFile(Request, frozen=True):
    """The theorems of a file of the library itself."""

    command = "qed.retrace"
    file: str
