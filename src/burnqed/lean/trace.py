"""The theorems of a file with the tactics of their proofs, and Lean's state at the beginning of each.

Lean says it (`qed.trace`): how a proof is written, as a tree of tactics and of the blocks of tactics
inside them. What a tactic does is found out by applying it (`data.trace_replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from burnqed.core.types import Goal
from burnqed.lean import protocol
from burnqed.lean.outline import BadCommand
from burnqed.lean.pool import Worker
from burnqed.lean.protocol import Reply, read_goals
from burnqed.lean.strict import a_bool, a_str, an_int, strictly, tuple_of

Form = Literal["tactics", "term", "equations", "other"]


@dataclass(frozen=True, slots=True)
class Tactic:
    """A tactic (or a term, where a proof is one) as it is written, by characters of the file."""

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
    line = protocol.request_line("qed.trace", file=text, full=full, **{"from": since})
    reply = await worker.request(line, seconds)
    protocol.raise_if_refused(reply)
    return strictly(lambda reply: _read(reply, _places(text)), reply)


def _places(text: str) -> Callable[[Any], int]:
    """From bytes to characters."""
    if text.isascii():
        return an_int
    starts = {
        byte: at for at, byte in enumerate(accumulate((len(c.encode()) for c in text), initial=0))
    }
    return lambda byte: starts[an_int(byte)]


def _read(reply: Reply, place: Callable[[Any], int]) -> TracedFile:
    def span(told: Any) -> tuple[int, int]:
        start, end = map(place, told)
        return start, end

    def tactic(told: Any) -> Tactic:
        return Tactic(a_str(told["kind"]), *span(told["boundary"]), tuple_of(block, told["blocks"]))

    def block(told: Any) -> Block:
        start, end = span(told["boundary"])
        kind, within = a_str(told["kind"]), a_str(told["within"])
        return Block(kind, start, end, within, place(told["from"]), tuple_of(tactic, told["tactics"]))

    def proof(told: Any) -> WrittenProof | None:
        if "form" not in told:
            return None
        form: Form = told["form"]
        helpers = tuple_of(tactic, told["helpers"])
        return WrittenProof(form, block(told["proof"]), helpers, a_bool(told["more"]))

    def theorem(told: Any) -> TracedTheorem:
        start, end = span(told["boundary"])
        state = told.get("stateId")
        return TracedTheorem(
            name=a_str(told["name"]),
            start=start,
            end=end,
            cut=span(told["cut"]),
            signature_end=place(told["signatureEnd"]),
            private=a_bool(told["private"]),
            example=span(told["example"]) if told["example"] else None,
            error=a_str(told["error"] or ""),
            proof=proof(told),
            state=None if state is None else an_int(state),
            goals=() if state is None else read_goals({"goals": told["goals"]}),
            problem=a_str(told.get("problem", "")),
            assumed=a_bool(told["assumed"]),
        )

    def bad(told: Any) -> BadCommand:
        start, end = span(told["boundary"])
        return BadCommand(start, end, a_str(told["desc"]))

    return TracedFile(tuple_of(theorem, reply["theorems"]), tuple_of(bad, reply["errors"]))
