"""What fills `sorry`s of a text, as edits that an editor applies.

Positions are those of the Language Server Protocol: lines and characters from 0, characters in units of
UTF-16.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import msgspec

from burnqed.evaluation.file import FileResult, HoleResult
from burnqed.lean.holes import edits_of


class Position(msgspec.Struct, frozen=True):
    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    start: Position
    end: Position


class TextEdit(msgspec.Struct, frozen=True, rename="camel"):
    range: Range
    new_text: str


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is suggested for one `sorry`. The edits belong together; there are none if nothing is.

    `proved`: the judge accepted the theorem around it, filled with these edits alone. If not, `reason`
    says why: nothing was found, or the theorem has another `sorry`. `tactics` are what was found for
    each goal; a tactic may have several lines.
    """

    title: str
    range: Range
    declaration: str | None
    goals: tuple[str, ...]
    proved: bool
    reason: str
    tactics: tuple[tuple[str, ...], ...]
    edits: tuple[TextEdit, ...]


def suggestions(result: FileResult, text: str) -> list[Suggestion]:
    """One for each `sorry` of a result. Each is for the text as it is, so apply one, then ask again."""
    by_place = groupby(result.holes, key=lambda found: (found.hole.start, found.hole.end))
    return [_suggestion(result, text, start, end, tuple(found)) for (start, end), found in by_place]


def applied(text: str, edits: Iterable[TextEdit]) -> str:
    """The text with edits. Raises `ValueError` if they are not all in it, one after the other."""
    pieces, end = [], 0
    for edit in edits:
        start, stop = _offset(text, edit.range.start), _offset(text, edit.range.end)
        if not end <= start <= stop:
            raise ValueError("edits overlap")
        pieces += [text[end:start], edit.new_text]
        end = stop
    return "".join([*pieces, text[end:]])


def _suggestion(
    result: FileResult, text: str, start: int, end: int, found: tuple[HoleResult, ...]
) -> Suggestion:
    proofs = {f.hole.index: result.put_in[f.hole.index] for f in found if f.hole.index in result.put_in}
    edits = edits_of(text, proofs, [f.hole for f in found])
    reason = _missing(result, found, len(proofs))
    return Suggestion(
        title=_title([tactic for proof in proofs.values() for tactic in proof]),
        range=_range(text, start, end),
        declaration=found[0].hole.declaration,
        goals=tuple(f.hole.goal for f in found),
        proved=not reason,
        reason=reason,
        tactics=tuple(tuple(proof) for proof in proofs.values()),
        edits=tuple(TextEdit(_range(text, e.start, e.end), e.text) for e in edits),
    )


def _title(tactics: list[str]) -> str:
    if not tactics:
        return "nothing to suggest"
    first = tactics[0].strip().splitlines()[0]
    more = len(tactics) > 1 or "\n" in tactics[0].strip()
    return f"Try this: {first}{' …' if more else ''}"


def _missing(result: FileResult, found: tuple[HoleResult, ...], filled: int) -> str:
    """Why these edits alone do not make a theorem that the judge accepted; nothing if they do."""
    for one in found:
        if one.outcome != "found":
            return f"{one.outcome}: {one.reason}" if one.reason else one.outcome
    verdict = found[0].verdict
    if verdict is None:
        return "not judged"
    if not verdict.accepted or filled < len(found):
        return verdict.reason or "not judged"
    for other in result.holes:
        its = other.verdict
        if other in found or its is None:
            continue
        # A theorem may rest on one before it, in which a `sorry` would be left.
        if its.theorem == verdict.theorem or other.hole.start < found[0].hole.start:
            return "accepted with the suggestions for other `sorry`s as well"
    return ""


def _range(text: str, start: int, end: int) -> Range:
    return Range(_position(text, start), _position(text, end))


def _position(text: str, at: int) -> Position:
    first = text.rfind("\n", 0, at) + 1
    return Position(text.count("\n", 0, first), len(text[first:at].encode("utf-16-le")) // 2)


def _offset(text: str, position: Position) -> int:
    at = 0
    for _ in range(position.line):
        at = text.index("\n", at) + 1
    end = text.find("\n", at)
    line = text[at : end if end >= 0 else len(text)].encode("utf-16-le")
    if not 0 <= position.character <= len(line) // 2:
        raise ValueError("a place that the text does not have")
    return at + len(line[: 2 * position.character].decode("utf-16-le"))
