"""The `sorry`s of a file: their goals, and the file with proofs in their place.

Lean finds them and their goals (`qed.holes`), `FileHole` starts a proof of one, and `fill` writes
proofs into the text. The judge decides what the filled file proves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Literal

from burnqed.core.errors import InputError, StatementError
from burnqed.lean import replies, requests
from burnqed.lean.fill import Edit, Place, edits, put
from burnqed.lean.outline import characters
from burnqed.lean.pool import Pool
from burnqed.lean.tokens import tokenize

FILE_SECONDS = 300.0
TRUST_HINT = "remove it, or give --trust if you would run this file's code"


@dataclass(frozen=True, slots=True)
class Hole:
    """One goal of one `sorry`.

    `index` is the hole's in a `FileHole`. `line` counts from 1 and `column` from 0, as Lean does;
    `start` and `end` are characters of the source. `declaration` is None inside an `example` or other
    nameless command. `problem` says why it cannot be proved here: it is data and not a proposition, it
    mentions another hole, or tactics are not possible there.
    """

    index: int
    line: int
    column: int
    start: int
    end: int
    kind: Literal["tactic", "term"]
    declaration: str | None
    goal: str
    problem: str = ""

    @property
    def provable(self) -> bool:
        return not self.problem


async def find_holes(pool: Pool, body: str, seconds: float = FILE_SECONDS) -> list[Hole]:
    """The holes of a file, given without its imports, in order of position.

    A `sorry` that runs on several goals (`<;> sorry`) is several holes at one position. Raises
    `StatementError` with line and column if the file does not compile.
    """
    text = body.replace("\r\n", "\n")
    line = requests.FindHoles(text, pool.gate).line
    async with pool.lease() as worker:
        reply = await worker.request(line, timeout=seconds)
    if reply.get("error") == "frontend":
        raise StatementError(f"the file does not compile: {reply.get('desc', '')}")
    if reply.get("error") == "gate":
        raise StatementError(f"the file may not contain this: {reply.get('desc', '')}", hint=TRUST_HINT)
    return replies.placed(reply, replies.Holes, lambda told: _read(told, body))


def fill(source: str, proofs: Mapping[int, Sequence[str]], holes: Sequence[Hole]) -> str:
    """The source with proofs, by the index of their holes, in place of `sorry`s.

    A proof is a list of tactics, each of one or more lines. A hole without a proof does not change.
    """
    return put(source, _places(proofs, holes))


def edits_of(source: str, proofs: Mapping[int, Sequence[str]], holes: Sequence[Hole]) -> list[Edit]:
    """The same as edits of the source."""
    return edits(source, _places(proofs, holes))


def sorry_at(source: str, line: int, column: int | None = None) -> int:
    """Where the `sorry` at a position starts, or the only one of its line. Raises `InputError`.

    `line` counts from 1 and `column` from 0, as in `Hole`.
    """
    every = [token for token in tokenize(source) if token.text == "sorry"]
    ends = [-1, *(at for at, char in enumerate(source) if char == "\n"), len(source)]
    there = []
    if 0 < line < len(ends):
        first, last = ends[line - 1] + 1, ends[line]
        there = [token for token in every if first <= token.start < last]
        for token in there:
            if column is not None and token.start <= first + column <= token.end:
                return token.start
    if len(there) == 1:
        return there[0].start
    places = ", ".join(_place(source, token.start) for token in (there or every)[:20])
    raise InputError(
        f"line {line} has {'several' if there else 'no'} `sorry`{'s' if there else ''}"
        + ("" if column is None or not there else f", and none at column {column}"),
        hint=f"give --at LINE:COL; here they are: {places}",
    )


def _place(source: str, at: int) -> str:
    return f"{source.count(chr(10), 0, at) + 1}:{at - (source.rfind(chr(10), 0, at) + 1)}"


def _places(proofs: Mapping[int, Sequence[str]], holes: Sequence[Hole]) -> list[Place]:
    places = []
    for _, group in groupby(sorted(holes, key=lambda h: h.index), key=lambda h: h.start):
        same = list(group)
        found = [proofs[hole.index] for hole in same if hole.index in proofs]
        if found:
            rest = [["sorry"]] if len(found) < len(same) else []
            is_tactic = same[0].kind == "tactic"
            places.append(Place(same[0].start, same[0].end, is_tactic, [*found, *rest]))
    return places


def name_examples(source: str, holes: Sequence[Hole]) -> str:
    """The source with a theorem in place of every `example` that has a hole.

    The judge's verdicts are about named theorems. To judge an example, name it, find the holes of the
    new source (they have the same indices), fill them, and judge the result against the new source.
    """
    taken = {token.text for token in tokenize(source)}
    fresh = (name for k in count(1) if (name := f"example_{k}") not in taken)
    examples = [token for token in tokenize(source) if token.text == "example"]
    for token in reversed(examples):
        end = min((e.start for e in examples if e.start > token.start), default=len(source))
        if any(h.declaration is None and token.start < h.start < end for h in holes):
            source = f"{source[: token.start]}theorem {next(fresh)}{source[token.end :]}"
    return source


def _read(told: replies.Holes, body: str) -> list[Hole]:
    place = characters(body)

    def hole(index: int, one: replies.FoundHole) -> Hole:
        start, end = map(place, one.boundary)
        return Hole(
            index=index,
            line=body.count("\n", 0, start) + 1,
            column=start - (body.rfind("\n", 0, start) + 1),
            start=start,
            end=end,
            kind=one.kind,
            declaration=one.declaration,
            goal=one.goal,
            problem=one.problem or "",
        )

    return [hole(index, one) for index, one in enumerate(told.holes)]
