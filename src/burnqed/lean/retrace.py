"""The theorems of a source file of the library itself, each to be proved again as the library's.

Lean says it (`qed.retrace`). The library is there, so only what decides how the file is read is
elaborated, and the statements. Proofs come with names written out, since they are replayed where
nothing is open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from burnqed.lean import replies, requests
from burnqed.lean.outline import BadCommand
from burnqed.lean.pool import Worker
from burnqed.lean.trace import WrittenProof, bad_command, places, written_proof


@dataclass(frozen=True, slots=True)
class LibraryProof:
    """A theorem of the file, which stands from `start` to `end` by characters.

    `error` says why it has no `proof` to be replayed: `private`, `absent` (the library has no theorem
    of this name), `mutual`, `term`, or what Lean says of its statement. Positions in the proof are
    those of `text`, and `places` has the position in the file for each of them. `binders` are to be
    introduced first, and `opened` are the namespaces that are open where it stands.
    """

    name: str
    start: int
    end: int
    signature: tuple[int, int]
    private: bool
    error: str
    proof: WrittenProof | None
    text: str
    places: tuple[int, ...]
    binders: tuple[str, ...]
    opened: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LibraryFile:
    """`bad` are stretches that are no Lean here, among so many `commands`."""

    proofs: tuple[LibraryProof, ...]
    bad: tuple[BadCommand, ...]
    commands: int


async def retrace_file(worker: Worker, text: str, seconds: float) -> LibraryFile:
    """The theorems of a file of the library, without its header and carriage returns."""
    reply = await worker.request(requests.RetraceFile(text).line, seconds)
    place = places(text)

    def look_up(told: replies.Retraced) -> LibraryFile:
        proofs = tuple(_proof(one, text, place) for one in told.theorems)
        bad = tuple(bad_command(one, place) for one in told.errors)
        return LibraryFile(proofs, bad, told.commands)

    return replies.placed(reply, replies.Retraced, look_up)


def _proof(one: replies.RetracedTheorem, source: str, place: Callable[[int], int]) -> LibraryProof:
    start, end = map(place, one.boundary)
    edits = [(place(first), place(last)) for first, last, _ in one.edits]
    lengths = [length for _, _, length in one.edits]
    return LibraryProof(
        name=one.name,
        start=start,
        end=end,
        signature=(place(one.cut[1]), place(one.signature_end)),
        private=one.private,
        error=one.error or "",
        proof=written_proof(one, places(one.text)),
        text=one.text,
        places=_origins(source, start, edits, lengths, one.text),
        binders=one.binders,
        opened=one.opened,
    )


def _origins(
    source: str, start: int, edits: list[tuple[int, int]], lengths: list[int], written: str
) -> tuple[int, ...]:
    """For each character of what is written, and its end, where it is in the source."""
    ends = list(accumulate((len(char.encode()) for char in written), initial=0))
    found: list[int] = []
    at = start
    for (first, last), length in zip(edits, lengths, strict=True):
        found += range(at, first)
        begun = ends[len(found)]
        while ends[len(found)] < begun + length:
            found.append(first)
        at = last
    return (*found, *range(at, at + len(written) - len(found) + 1))
