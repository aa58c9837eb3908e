"""The theorems of a file with the tactics of their proofs, and Lean's state at the beginning of each.

Lean says it (`qed.trace`): how a proof is written, as a tree of tactics and of the blocks of tactics
inside them. What a tactic does is found out by applying it (`data.trace_replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from msgspec import UNSET

from burnqed.core.types import Goal
from burnqed.lean import replies, requests
from burnqed.lean.outline import BadCommand
from burnqed.lean.pool import Worker
from burnqed.lean.protocol import goals_of

Form = Literal["tactics", "term", "equations", "other"]


@dataclass(frozen=True, slots=True)
class Tactic:
    """A tactic as it is written, or a term where a proof is one.

    `start` and `end` are characters of the file. `blocks` are the tactics inside it, in order: those
    of `have … := by`, of each alternative of a case split, and so on.
    """

    kind: str
    start: int
    end: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A sequence of tactics inside a tactic. `kind` is of the `by`, or of the sequence itself.

    `within` is the kind of what it is a part of, such as an alternative; that begins at `within_start`.
    """

    kind: str
    start: int
    end: int
    within: str
    within_start: int
    tactics: tuple[Tactic, ...]

    @property
    def is_by(self) -> bool:
        return self.kind.startswith("Lean.Parser.Term.byTactic")


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """`helpers`: the lemmas of a `where`; `more`: `termination_by` or something else follows."""

    form: Form
    block: Block
    helpers: tuple[Tactic, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class TracedTheorem:
    """A theorem of the file, or an example under a name of ours (`example` is where its keyword is).

    Positions are those of `OutlinedTheorem`. `error` says why it cannot be proved on its own, and then
    there is no proof. `state` is Lean's, where its proof has tactics; else `problem` may say why not.
    `assumed`: Lean has not looked at the proof.
    """

    name: str
    start: int
    end: int
    cut: tuple[int, int]
    signature_end: int
    private: bool
    example: tuple[int, int] | None
    error: str
    proof: WrittenProof | None
    state: int | None
    goals: tuple[Goal, ...]
    problem: str
    assumed: bool


@dataclass(frozen=True, slots=True)
class TracedFile:
    theorems: tuple[TracedTheorem, ...]
    bad: tuple[BadCommand, ...]


async def trace_file(
    worker: Worker, text: str, seconds: float, start: int = 0, *, full: bool = False
) -> TracedFile:
    """The theorems from `start` on of a file without imports and carriage returns.

    Their states live in the worker's process, until it is lost or they are deleted. Unless in `full`,
    proofs that can be replayed from what is told are not elaborated: whoever replays them to the end
    knows that they are right.
    """
    since = len(text[:start].encode())
    reply = await worker.request(requests.TraceFile(text, since, full).line, seconds)
    return replies.placed(reply, replies.Traced, lambda told: _read(told, places(text)))


def places(text: str) -> Callable[[int], int]:
    """From bytes to characters."""
    if text.isascii():
        return lambda byte: byte
    starts = {
        byte: at for at, byte in enumerate(accumulate((len(c.encode()) for c in text), initial=0))
    }
    return lambda byte: starts[byte]


def written_proof(one: replies.Declared, place: Callable[[int], int]) -> WrittenProof | None:
    """The proof of a theorem, if it has one that can be replayed."""

    def span(boundary: tuple[int, int]) -> tuple[int, int]:
        start, end = map(place, boundary)
        return start, end

    def tactic(one: replies.TracedTactic) -> Tactic:
        return Tactic(one.kind, *span(one.boundary), tuple(map(block, one.blocks)))

    def block(one: replies.TracedBlock) -> Block:
        start, end = span(one.boundary)
        tactics = tuple(map(tactic, one.tactics))
        return Block(one.kind, start, end, one.within, place(one.from_), tactics)

    if one.form is UNSET:
        return None
    if one.proof is UNSET or one.helpers is UNSET or one.more is UNSET:
        raise ValueError("a form without a proof")
    return WrittenProof(one.form, block(one.proof), tuple(map(tactic, one.helpers)), one.more)


def bad_command(one: replies.Stretch, place: Callable[[int], int]) -> BadCommand:
    start, end = map(place, one.boundary)
    return BadCommand(start, end, one.desc)


def _read(told: replies.Traced, place: Callable[[int], int]) -> TracedFile:
    def span(boundary: tuple[int, int]) -> tuple[int, int]:
        start, end = map(place, boundary)
        return start, end

    def theorem(one: replies.TracedTheorem) -> TracedTheorem:
        start, end = span(one.boundary)
        return TracedTheorem(
            name=one.name,
            start=start,
            end=end,
            cut=span(one.cut),
            signature_end=place(one.signature_end),
            private=one.private,
            example=span(one.example) if one.example else None,
            error=one.error or "",
            proof=written_proof(one, place),
            state=one.state_id,
            goals=() if one.state_id is None else goals_of(one.goals),
            problem=one.problem,
            assumed=one.assumed,
        )

    bad = tuple(bad_command(one, place) for one in told.errors)
    return TracedFile(tuple(map(theorem, told.theorems)), bad)
