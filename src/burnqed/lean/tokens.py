"""Lean source as tokens, as far as a gatekeeper needs it: what is code, and what is only text.

Comments are skipped (they nest), strings are one token, but code inside an interpolated string
(`s!"{…}"`) is code. Identifiers keep their dots and loose their quotes («»), so that hiding a word
behind either does not hide it. Nothing here decides anything; `rules` does.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["identifier", "number", "string", "symbol"]

# A symbol is one character, except for those that are read together because rules speak of them.
LONG_SYMBOLS = (":=", "@[", "#")
CLOSERS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "@[": "]", "⟦": "⟧", "⌊": "⌋"}


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    start: int
    end: int


def tokenize(source: str) -> list[Token]:
    """All tokens outside comments. Never fails: what cannot be read is a symbol."""
    return list(_tokens(source, 0, len(source)))


def _tokens(source: str, at: int, end: int) -> Iterator[Token]:
    while at < end:
        char = source[at]
        if char.isspace():
            at += 1
        elif source.startswith("--", at):
            newline = source.find("\n", at, end)
            at = end if newline < 0 else newline
        elif source.startswith("/-", at):
            at = _comment_end(source, at, end)
        elif char == '"':
            stop = _string_end(source, at, end)
            yield Token("string", source[at:stop], at, stop)
            if at and source[at - 1] == "!":
                yield from _interpolated(source, at + 1, stop - 1)
            at = stop
        elif (literal := _literal_end(source, at, end)) is not None:
            yield Token("string", source[at:literal], at, literal)
            at = literal
        elif _starts_identifier(char):
            stop, text = _identifier(source, at, end)
            yield Token("identifier", text, at, stop)
            at = stop
        elif char.isdigit():
            stop = at + 1
            while stop < end and (source[stop].isalnum() or source[stop] == "_"):
                stop += 1
            yield Token("number", source[at:stop], at, stop)
            at = stop
        else:
            symbol = next((s for s in LONG_SYMBOLS if source.startswith(s, at)), char)
            if symbol == "#":  # a command such as #eval is one word
                stop, text = _identifier(source, at + 1, end)
                yield Token("symbol", "#" + text, at, stop)
                at = stop
            else:
                yield Token("symbol", symbol, at, at + len(symbol))
                at += len(symbol)


def _comment_end(source: str, at: int, end: int) -> int:
    depth = 0
    while at < end:
        if source.startswith("/-", at):
            depth += 1
            at += 2
        elif source.startswith("-/", at):
            depth -= 1
            at += 2
            if depth == 0:
                return at
        else:
            at += 1
    return end


def _string_end(source: str, at: int, end: int) -> int:
    at += 1
    while at < end:
        if source[at] == "\\":
            at += 2
        elif source[at] == '"':
            return at + 1
        else:
            at += 1
    return end


def _literal_end(source: str, at: int, end: int) -> int | None:
    """The end of a raw string or a character, if one begins here."""
    if source[at] == "r":
        return _raw_string_end(source, at, end)
    return _character_end(source, at, end) if source[at] == "'" else None


def _raw_string_end(source: str, at: int, end: int) -> int | None:
    hashes = at + 1
    while hashes < end and source[hashes] == "#":
        hashes += 1
    if hashes >= end or source[hashes] != '"':
        return None
    closing = '"' + "#" * (hashes - at - 1)
    found = source.find(closing, hashes + 1, end)
    return end if found < 0 else found + len(closing)


def _character_end(source: str, at: int, end: int) -> int | None:
    """The end of 'x' or '\\n'; a prime that is no character literal is part of nothing."""
    if source.startswith("'\\", at):
        close = source.find("'", at + 3, min(end, at + 12))
        return close + 1 if close >= 0 else None
    return at + 3 if at + 2 < end and source[at + 2] == "'" and source[at + 1] != "'" else None


def _interpolated(source: str, at: int, end: int) -> Iterator[Token]:
    while at < end:
        if source[at] == "\\":
            at += 2
        elif source[at] == "{":
            depth, stop = 1, at + 1
            while stop < end and depth:
                depth += {"{": 1, "}": -1}.get(source[stop], 0)
                stop += 1
            yield from _tokens(source, at + 1, max(at + 1, stop - 1))
            at = stop
        else:
            at += 1


def _starts_identifier(char: str) -> bool:
    return char in "_«" or char.isalpha() or unicodedata.category(char) in ("Lo", "Nl")


def _continues_identifier(char: str) -> bool:
    return char in "_'!?" or char.isalnum() or unicodedata.category(char) in ("Mn", "Lo", "No")


def _identifier(source: str, at: int, end: int) -> tuple[int, str]:
    """The position behind a dotted name, and the name without quotes."""
    parts: list[str] = []
    while True:
        if at < end and source[at] == "«":
            close = source.find("»", at, end)
            stop = end if close < 0 else close + 1
            parts.append(source[at + 1 : stop].rstrip("»"))
        else:
            stop = at
            while stop < end and _continues_identifier(source[stop]):
                stop += 1
            parts.append(source[at:stop])
        at = stop
        dotted = at + 1 < end and source[at] == "."
        if not (dotted and (_starts_identifier(source[at + 1]))):
            return at, ".".join(parts)
        at += 1
