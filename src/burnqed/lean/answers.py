"""What `qed.compile` and `qed.verify` answered, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from burnqed.lean import replies
from burnqed.lean.compiling import Compiled
from burnqed.lean.complaints import Complaint, bare, complaints, deaths_by_name, places


@dataclass(frozen=True, slots=True)
class Found:
    """A theorem as the REPL reports it, or a definition that is open, here or in the reference."""

    name: str
    kind: str
    type: str
    axioms: tuple[str, ...]  # that were seen
    axioms_complete: bool
    constants: tuple[tuple[str, str], ...]
    kernel: str | None
    has_sorry: bool
    reference: str | None
    target: str | None
    leak: str | None


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the text, as Lean parsed it.

    `start` and `end` are bytes, not characters. `heartbeats` is what elaborating it took.
    """

    kind: str
    start: int
    end: int
    heartbeats: int


@dataclass(frozen=True, slots=True)
class Report:
    """What `qed.compile` and `qed.verify` answered."""

    commands: tuple[Command, ...]
    places: dict[str, list[int]]  # the commands that declare a theorem, by its name
    reference_shape: tuple[str, ...]
    errors: tuple[Complaint, ...]
    reference_errors: tuple[str, ...]
    theorems: tuple[Found, ...]
    missing: tuple[str, ...]
    changed: tuple[str, ...]
    asks: bool  # the reference states a theorem, or leaves a proof open
    nameless: bool  # the reference leaves something open that nothing can be asked for by name
    kinds: dict[str, str]  # of what the file declares, as it says itself
    deaths: dict[str, str]  # the theorems that Lean dies of, and how

    @property
    def shape(self) -> tuple[str, ...]:
        return tuple(command.kind for command in self.commands)

    def heartbeats(self, theorem: str) -> int:
        """What the command took that declares it."""
        places = self.places.get(bare(theorem), ())
        return max((self.commands[index].heartbeats for index in places), default=0)


def read_report(compiled: Compiled, verified: replies.Verified, file: str) -> Report:
    """Raises `IndexError` or `ValueError` for places that the file does not have."""
    reply = compiled.reply
    commands = tuple(Command(c.kind, *c.boundary, c.heartbeats) for c in reply.commands)
    return Report(
        commands=commands,
        places=places([(c.start, c.end) for c in commands], file),
        reference_shape=tuple(c.kind for c in reply.reference_commands),
        errors=complaints(compiled, file),
        reference_errors=errors_in(reply.reference_messages),
        theorems=tuple(map(_found, verified.theorems)),
        missing=verified.missing,
        changed=verified.changed,
        asks=verified.asks,
        nameless=verified.nameless,
        kinds={".".join(map(str, c.name)): c.kind for c in replies.exported(reply)},
        deaths=deaths_by_name(compiled, file),
    )


def _found(theorem: replies.VerifiedTheorem) -> Found:
    return Found(
        name=theorem.name,
        kind=theorem.kind,
        type=theorem.type.pp,
        axioms=theorem.axioms,
        axioms_complete=theorem.axioms_complete,
        constants=tuple((c.name, c.module) for c in theorem.constants),
        kernel=theorem.kernel,
        has_sorry=theorem.has_sorry,
        reference=theorem.reference,
        target=theorem.target,
        leak=theorem.leak,
    )


def errors_in(told: Iterable[replies.LoggedAt]) -> tuple[str, ...]:
    return tuple(one.data.strip() for one in told if one.severity == "error")
