"""The theorems of a file: what each of them states, and where it stands.

Lean says it (`qed.outline`), command by command. A command with errors is as if it were not there, so
that one bad command costs itself and what rests on it, and not the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from burnqed.lean import protocol
from burnqed.lean.pool import Pool
from burnqed.lean.protocol import Reply
from burnqed.lean.strict import a_bool, a_str, an_int, strictly, tuple_of

FILE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class OutlinedTheorem:
    """A theorem as it is written, by characters of the file.

    `start` is where its command begins, with doc comment, attributes and `open … in`; `cut` is where
    doc comment and attributes are in that; `signature_end` is the end of its type, before `:=` or the
    equations. `statement` is the type as it prints, `size` its number of nodes. `sorry`: the proof is
    left open. `error`: why it cannot be proved on its own, and then there is no statement.
    """

    name: str
    start: int
    cut: tuple[int, int]
    signature_end: int
    end: int
    statement: str
    size: int
    sorry: bool
    private: bool
    mutual: bool
    error: str = ""


@dataclass(frozen=True, slots=True)
class BadCommand:
    """A command with errors, up to the command behind it; `error` is what Lean says, with its lines."""

    start: int
    end: int
    error: str


@dataclass(frozen=True, slots=True)
class Outline:
    theorems: tuple[OutlinedTheorem, ...]
    bad: tuple[BadCommand, ...]


async def outline(pool: Pool, body: str, seconds: float = FILE_SECONDS) -> Outline:
    """The theorems of a file, given without its imports, in order of position."""
    line = protocol.request_line("qed.outline", file=body.replace("\r\n", "\n"))
    async with pool.lease() as worker:
        reply = await worker.request(line, timeout=seconds)
    protocol.raise_if_refused(reply)
    return strictly(lambda reply: _read(reply, characters(body)), reply)


def characters(body: str) -> Callable[[Any], int]:
    """From bytes of what Lean saw, which has no carriage returns, to characters of what is there."""
    raw = body.replace("\r\n", "\n").encode()
    ends = [line.endswith("\r") for line in body.split("\n")[:-1]]

    def place(byte: Any) -> int:
        before = raw[: an_int(byte)].decode()
        return len(before) + sum(ends[: before.count("\n")])

    return place


def _read(reply: Reply, place: Callable[[Any], int]) -> Outline:
    def theorem(told: Any) -> OutlinedTheorem:
        start, end = map(place, told["boundary"])
        cut_start, cut_end = map(place, told["cut"])
        return OutlinedTheorem(
            name=a_str(told["name"]),
            start=start,
            cut=(cut_start, cut_end),
            signature_end=place(told["signatureEnd"]),
            end=end,
            statement=a_str(told["statement"]),
            size=an_int(told["size"]),
            sorry=a_bool(told["sorry"]),
            private=a_bool(told["private"]),
            mutual=a_bool(told["inMutual"]),
            error=a_str(told["error"] or ""),
        )

    def bad(told: Any) -> BadCommand:
        start, end = map(place, told["boundary"])
        return BadCommand(start, end, a_str(told["desc"]))

    return Outline(tuple_of(theorem, reply["theorems"]), tuple_of(bad, reply["errors"]))
