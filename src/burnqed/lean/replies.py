"""The replies of the REPL: one line of JSON each, as structs.

No other file knows the names of their fields (requests are in `requests`). A reply of any other shape
than its struct is a `ProtocolError` that shows it, because a guess would turn into a wrong proof or a
lost one somewhere else. What replies about a proof mean is for `protocol` to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from burnqed.core.errors import ProtocolError, RequestRefused
from burnqed.core.facts import Data, Stated

Reply = dict[str, Any]  # as it was sent
Natural = Annotated[int, msgspec.Meta(ge=0)]
Place = tuple[Natural, Natural]  # in bytes of a text

M = TypeVar("M", bound="Message")
T = TypeVar("T")


class Message(Struct, frozen=True, rename="camel"):
    """A reply, or a part of one. Fields that nobody here asks for are not read."""


def read(reply: Reply, kind: type[M]) -> M:
    """A reply as its struct. Raises `RequestRefused`, and `ProtocolError` for any other shape."""
    raise_if_refused(reply)
    return shaped(reply, kind)


def shaped(reply: Any, kind: type[M]) -> M:
    """The struct alone: for replies where an `error` is an answer."""
    try:
        return msgspec.convert(reply, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise unexpected(reply, str(error)) from error


def placed(reply: Reply, kind: type[M], look_up: Callable[[M], T]) -> T:
    """What a reply says of a text; a place that the text does not have is another shape."""
    told = read(reply, kind)
    try:
        return look_up(told)
    except (KeyError, ValueError) as error:
        raise unexpected(reply, f"{type(error).__name__} {error}") from error


def unexpected(reply: Any, why: str) -> ProtocolError:
    head = json.dumps(reply, ensure_ascii=False)[:300]
    return ProtocolError(f"unexpected reply ({why}): {head}")


def raise_if_refused(reply: Reply) -> None:
    """Raise the reply's `{"error": kind, "desc": text}`; no other reply has a field `error`."""
    if "error" in reply:
        kind, desc = str(reply["error"]), str(reply.get("desc", ""))
        raise RequestRefused(f"Lean refused the request ({kind}): {desc}", kind=kind, desc=desc)


class Printed(Message, frozen=True):
    pp: str


class Variable(Message, frozen=True):
    user_name: str
    type: Printed
    value: Printed | None = None
    is_inaccessible: bool = False
    proposition: Stated | None = None
    data: Data | None = None


class PrintedGoal(Message, frozen=True):
    name: str
    target: Printed
    vars: tuple[Variable, ...]
    user_name: str | None = None
    fragment: Literal["tactic", "conv", "calc"] = "tactic"
    holes: tuple[str, ...] | UnsetType = UNSET
    proposition: Stated | None = None


class Logged(Message, frozen=True):
    severity: Literal["information", "warning", "error"]
    data: str


class Started(Message, frozen=True):
    state_id: int
    goals: tuple[PrintedGoal, ...] | UnsetType = UNSET


class Goals(Message, frozen=True):
    goals: tuple[PrintedGoal, ...]


class Step(Message, frozen=True):
    """Of a tactic: one of a parse error, an error, a leak, errors alone, or a new state."""

    us: int | UnsetType = UNSET
    heartbeats: int | UnsetType = UNSET
    error: str | UnsetType = UNSET
    desc: str | UnsetType = UNSET
    parse_error: str | UnsetType = UNSET
    leak: str | UnsetType = UNSET
    messages: tuple[Logged, ...] | UnsetType = UNSET
    next_state_id: int | UnsetType = UNSET
    goals: tuple[PrintedGoal, ...] | UnsetType = UNSET
    has_sorry: bool | UnsetType = UNSET
    has_unsafe: bool = False
    has_holes: bool = False
    root_has_mvar: bool = msgspec.field(default=False, name="rootHasMVar")
    used_constants: tuple[str, ...] = ()


class Steps(Message, frozen=True):
    results: tuple[dict[str, Any], ...]


class Modules(Message, frozen=True):
    modules: tuple[str, ...]


class Module(Message, frozen=True):
    imports: tuple[str, ...]


class Inspected(Message, frozen=True):
    type: Printed


class Universes(Message, frozen=True):
    levels: tuple[str, ...]


class Symbols(Message, frozen=True):
    """Names, each behind a letter for its kind."""

    symbols: tuple[str, ...]


class Unit(Message, frozen=True):
    messages: tuple[Logged, ...]


class Processed(Message, frozen=True):
    units: tuple[Unit, ...]


class UsedConstant(Message, frozen=True):
    name: str
    module: str


class Certified(Message, frozen=True):
    ok: bool
    desc: str
    axioms: tuple[str, ...]
    axioms_complete: bool
    constants: tuple[UsedConstant, ...]


class ListedTheorem(Message, frozen=True):
    name: str
    module: str
    levels: tuple[str, ...]
    size: int
    statement: str = ""


class TheoremsPage(Message, frozen=True):
    theorems: tuple[ListedTheorem, ...]
    total: int
    next: int | None


class Position(Message, frozen=True):
    line: int
    column: int


class LoggedAt(Message, frozen=True):
    severity: Literal["information", "warning", "error"]
    data: str
    pos: Position


class CompiledCommand(Message, frozen=True):
    """`boundary` begins with what was skipped to come to the command, `first` is where it begins."""

    kind: str
    boundary: Place
    first: int
    heartbeats: int
    messages: int


class ReferenceCommand(Message, frozen=True):
    kind: str


class ExportedConstant(Message, frozen=True):
    name: tuple[str | int, ...]
    kind: str


class Export(Message, frozen=True):
    constants: tuple[dict[str, Any] | None, ...]


class Compiled(Message, frozen=True):
    """What the process that saw an untrusted text answered; `export` is for `qed.verify` to read."""

    commands: tuple[CompiledCommand, ...]
    messages: tuple[LoggedAt, ...]
    reference_commands: tuple[ReferenceCommand, ...]
    reference_messages: tuple[LoggedAt, ...]
    export: dict[str, Any]


def exported(compiled: Compiled) -> tuple[ExportedConstant, ...]:
    """What the declarations that were handed out are called, as they say themselves."""
    named = [constant for constant in shaped(compiled.export, Export).constants if constant]
    return tuple(shaped(constant, ExportedConstant) for constant in named)


class VerifiedTheorem(Message, frozen=True):
    name: str
    kind: str
    type: Printed
    axioms: tuple[str, ...]
    axioms_complete: bool
    constants: tuple[UsedConstant, ...]
    kernel: str | None
    has_sorry: bool
    reference: Literal["same", "differs", "missing"] | None
    target: Literal["same", "differs"] | None = None
    leak: str | None = None


class Verified(Message, frozen=True):
    theorems: tuple[VerifiedTheorem, ...]
    missing: tuple[str, ...]
    changed: tuple[str, ...]
    asks: bool
    nameless: bool


class FoundHole(Message, frozen=True):
    boundary: Place
    kind: Literal["tactic", "term"]
    declaration: str | None
    goal: str
    problem: str | None


class Holes(Message, frozen=True):
    holes: tuple[FoundHole, ...]


class Stretch(Message, frozen=True):
    """A stretch of a text with errors."""

    boundary: Place
    desc: str


class OutlinedTheorem(Message, frozen=True):
    name: str
    boundary: Place
    cut: Place
    signature_end: Natural
    statement: str
    size: int
    sorry: bool
    private: bool
    in_mutual: bool
    error: str | None


class Outlined(Message, frozen=True):
    theorems: tuple[OutlinedTheorem, ...]
    errors: tuple[Stretch, ...]


class TracedTactic(Message, frozen=True):
    kind: str
    boundary: Place
    blocks: tuple[TracedBlock, ...]


class TracedBlock(Message, frozen=True):
    kind: str
    boundary: Place
    within: str
    tactics: tuple[TracedTactic, ...]
    from_: Natural = msgspec.field(name="from")


class Declared(Message, frozen=True, kw_only=True):
    """A theorem of a text, and its proof if there is one to be replayed."""

    name: str
    boundary: Place
    cut: Place
    signature_end: Natural
    private: bool
    error: str | None
    form: Literal["tactics", "term", "equations", "other"] | UnsetType = UNSET
    proof: TracedBlock | UnsetType = UNSET
    helpers: tuple[TracedTactic, ...] | UnsetType = UNSET
    more: bool | UnsetType = UNSET


class TracedTheorem(Declared, frozen=True, kw_only=True):
    assumed: bool
    example: Place | None
    state_id: int | None = None
    goals: tuple[PrintedGoal, ...] | UnsetType = UNSET
    problem: str = ""


class Traced(Message, frozen=True):
    theorems: tuple[TracedTheorem, ...]
    errors: tuple[Stretch, ...]


class RetracedTheorem(Declared, frozen=True, kw_only=True):
    """`text` has names written out; `edits` are places in the file, and lengths in the text."""

    text: str = ""
    edits: tuple[tuple[Natural, Natural, Natural], ...] = ()
    binders: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()


class Retraced(Message, frozen=True):
    theorems: tuple[RetracedTheorem, ...]
    errors: tuple[Stretch, ...]
    commands: int
