"""The theorems of a file, with their statements and positions.

Lean reports them (`qed.outline`), command by command. Commands with errors are skipped, so that a bad
command costs only itself and what depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from burnqed.lean import replies, requests
from burnqed.lean.pool import Pool

FILE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class OutlinedTheorem:
    """A theorem as written, in characters of the file.

    `start` is where its command begins, with doc comment, attributes and `open … in`; `cut` is where
    doc comment and attributes are in it; `signature_end` is the end of its type, before `:=` or the
    equations. `statement` is the printed type, `size` its number of nodes. `sorry`: the proof is left
    open. `error`: why it cannot be proved separately; it then has no statement.
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
    """A command with errors, with all text up to the next command.

    `error` is Lean's message. The lines in it are those of the text that Lean was given.
    """

    start: int
    end: int
    error: str


@dataclass(frozen=True, slots=True)
class Outline:
    """What a text declares, and the commands of it that have errors."""

    theorems: tuple[OutlinedTheorem, ...]
    bad: tuple[BadCommand, ...]


async def outline(pool: Pool, body: str, seconds: float = FILE_SECONDS) -> Outline:
    """The theorems of a file, given without its imports, in order of position."""
    line = requests.OutlineFile(body.replace("\r\n", "\n")).line
    async with pool.lease() as worker:
        reply = await worker.request(line, timeout=seconds)
    return replies.placed(reply, replies.Outlined, lambda told: _read(told, characters(body)))


def characters(body: str) -> Callable[[int], int]:
    """Converts bytes of Lean's input, which has no carriage returns, to characters of the file."""
    raw = body.replace("\r\n", "\n").encode()
    ends = [line.endswith("\r") for line in body.split("\n")[:-1]]

    def place(byte: int) -> int:
        before = raw[:byte].decode()
        return len(before) + sum(ends[: before.count("\n")])

    return place


def _read(told: replies.Outlined, place: Callable[[int], int]) -> Outline:
    def theorem(one: replies.OutlinedTheorem) -> OutlinedTheorem:
        start, end = map(place, one.boundary)
        cut_start, cut_end = map(place, one.cut)
        return OutlinedTheorem(
            name=one.name,
            start=start,
            cut=(cut_start, cut_end),
            signature_end=place(one.signature_end),
            end=end,
            statement=one.statement,
            size=one.size,
            sorry=one.sorry,
            private=one.private,
            mutual=one.in_mutual,
            error=one.error or "",
        )

    def bad(one: replies.Stretch) -> BadCommand:
        start, end = map(place, one.boundary)
        return BadCommand(start, end, one.desc)

    return Outline(tuple(map(theorem, told.theorems)), tuple(map(bad, told.errors)))
