"""The `sorry`s of a file: what each of them asks for, and the file with proofs in their place.

Lean says where they are and what their goals are (`qed.holes`); `FileHole` starts a proof of one of
them; `fill` writes the proofs into the text. What the filled file then proves is for the judge to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any, Literal

from burnqed.core.errors import ProtocolError, StatementError
from burnqed.lean import protocol
from burnqed.lean.fill import Place, put
from burnqed.lean.outline import characters
from burnqed.lean.pool import Pool
from burnqed.lean.protocol import Reply
from burnqed.lean.tokens import tokenize

FILE_SECONDS = 300.0
TRUST_HINT = "take it out; or, if you would run this file's code, --trust"


@dataclass(frozen=True, slots=True)
class Hole:
    """One goal of one `sorry`.

    `index` is the hole's in a `FileHole`. `line` counts from 1 and `column` from 0, as Lean does;
    `start` and `end` are characters of the source. `declaration` is None inside an `example` or what
    else has no name. `problem` says why it cannot be proved here: it is data and no proposition, it
    speaks of another hole, or it is nowhere where tactics could stand.
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

    A `sorry` that is run on several goals (`<;> sorry`) is as many holes with one place. Raises
    `StatementError` with line and column when the file does not compile.
    """
    text = body.replace("\r\n", "\n")
    line = protocol.request_line("qed.holes", file=text, gate=pool.gate)
    async with pool.lease() as worker:
        reply = await worker.request(line, timeout=seconds)
    if reply.get("error") == "frontend":
        raise StatementError(f"the file does not compile: {reply.get('desc', '')}")
    if reply.get("error") == "gate":
        raise StatementError(f"the file may not say this: {reply.get('desc', '')}", hint=TRUST_HINT)
    protocol.raise_if_refused(reply)
    return _read(reply, body)


def fill(source: str, proofs: Mapping[int, Sequence[str]], holes: Sequence[Hole]) -> str:
    """The source with proofs, by the index of their holes, in place of `sorry`s.

    A proof is a list of tactics, each of one line or more. A hole without a proof stays as it is.
    """
    places = []
    for _, group in groupby(sorted(holes, key=lambda h: h.index), key=lambda h: h.start):
        same = list(group)
        found = [proofs[hole.index] for hole in same if hole.index in proofs]
        if found:
            rest = [["sorry"]] if len(found) < len(same) else []
            is_tactic = same[0].kind == "tactic"
            places.append(Place(same[0].start, same[0].end, is_tactic, [*found, *rest]))
    return put(source, places)


def name_examples(source: str, holes: Sequence[Hole]) -> str:
    """The source with a theorem in place of every `example` that has a hole.

    The judge speaks of theorems by name. To have an example judged, name it, find the holes of the new
    source (they have the same indices), fill them, and judge that against the new source.
    """
    taken = {token.text for token in tokenize(source)}
    fresh = (name for k in count(1) if (name := f"example_{k}") not in taken)
    examples = [token for token in tokenize(source) if token.text == "example"]
    for token in reversed(examples):
        end = min((e.start for e in examples if e.start > token.start), default=len(source))
        if any(h.declaration is None and token.start < h.start < end for h in holes):
            source = f"{source[: token.start]}theorem {next(fresh)}{source[token.end :]}"
    return source


def _read(reply: Reply, body: str) -> list[Hole]:
    place = characters(body)

    def hole(index: int, told: dict[str, Any]) -> Hole:
        start, end = map(place, told["boundary"])
        kind: Literal["tactic", "term"] = "tactic" if told["kind"] == "tactic" else "term"
        return Hole(
            index=index,
            line=body.count("\n", 0, start) + 1,
            column=start - (body.rfind("\n", 0, start) + 1),
            start=start,
            end=end,
            kind=kind,
            declaration=told["declaration"],
            goal=str(told["goal"]),
            problem=str(told["problem"] or ""),
        )

    try:
        return [hole(index, told) for index, told in enumerate(reply["holes"])]
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"Lean told of holes in an unknown shape ({error!r})") from error
