"""Lean source as tokens, as far as a gatekeeper needs: what is code, and what is only text.

Comments are skipped (they nest), and strings are one token, but code inside an interpolated string
(`s!"{…}"`) is code. Identifiers keep their dots and lose their quotes («»), so that neither can hide a
word. Where Lean's own tokenizer would fail, the token has the kind "broken". Decisions are made by
`rules`, and again on Lean's own parse before elaboration (`repl/Gate.lean`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["identifier", "number", "string", "symbol", "broken"]

# A symbol is one character, except for these: rules mention them, or their tail would look like the
# beginning of a comment (`<--x` is `<-` and `-x`).
LONG_SYMBOLS = (":=", "@[", "<-", "|-", "//", "\\/", "/\\")
CLOSERS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "@[": "]", "⟦": "⟧", "⌊": "⌋"}
MAX_INTERPOLATION = 3
ESCAPES = frozenset("\\\"'nrtxu\n ")
NUMBER = re.compile(r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*")
BLANK = re.compile(r"\s+")
# Superscript digits are operators to Lean (`x⁻¹`), subscripts are part of a name.
PLAIN = re.compile(r"(?:[^\W⁰¹²³⁴⁵⁶⁷⁸⁹λΠΣ]|['!?])+")
RAW_STRING = re.compile(r'r#*"')
CHARACTER = re.compile(r"""'(?:[^'\\\n]|\\(?:[\\"'nrt ]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}))'""")


class Token(NamedTuple):
    kind: Kind
    text: str
    start: int
    end: int


@lru_cache(maxsize=4)  # a file and its reference are each tokenized several times
def tokenize(source: str) -> tuple[Token, ...]:
    """All tokens outside of comments. Never fails: anything unreadable is a symbol."""
    return tuple(_tokens(source, 0, len(source)))


def _tokens(source: str, at: int, end: int, depth: int = 0) -> Iterator[Token]:
    kind: Kind | Literal["comment"]
    while at < end:
        char = source[at]
        if blank := BLANK.match(source, at, end):
            at = blank.end()
            continue
        if _starts_identifier(char) and not RAW_STRING.match(source, at, end):
            stop, text = _identifier(source, at, end)
            closed = source.count("«", at, stop) == source.count("»", at, stop)
            yield Token("identifier" if closed else "broken", text, at, stop)
            at = stop
            continue
        long = next((s for s in LONG_SYMBOLS if source.startswith(s, at)), None)
        if long is None and source.startswith("--", at):
            newline = source.find("\n", at, end)
            at = end if newline < 0 else newline
            continue
        if long is None and source.startswith("/-", at):
            stop, kind = _comment(source, at, end)
        elif char == '"':
            stop, kind = _string(source, at, end, depth)
        elif char == "r":
            stop, kind = _raw_string(source, at, end)
        elif char == "'" and (stop_char := _character_end(source, at, end)):
            stop, kind = stop_char, "string"
        elif number := NUMBER.match(source, at, end):
            stop, kind = number.end(), "number"
        elif char == "#" and _starts_command(source, at, end):
            stop, text = _identifier(source, at + 1, end)
            yield Token("symbol", "#" + text, at, stop)
            at = stop
            continue
        else:
            stop, kind = at + len(long or char), "symbol"
        if kind != "comment":
            yield Token(kind, source[at:stop], at, stop)
        if char == '"' and depth <= MAX_INTERPOLATION and _is_interpolated(source, at):
            yield from _interpolated(source, at + 1, stop - 1, depth)
        at = stop


def _comment(source: str, at: int, end: int) -> tuple[int, Literal["comment", "broken"]]:
    """Like in Lean, the character after `/-` never begins or ends anything."""
    depth = 1
    at += 3
    while at + 1 < end:
        pair = source[at : at + 2]
        if pair == "-/":
            depth -= 1
            at += 2
            if depth == 0:
                return at, "comment"
        elif pair == "/-":
            depth += 1
            at += 2
        else:
            at += 1
    return end, "broken"


def _string(source: str, at: int, end: int, depth: int) -> tuple[int, Literal["string", "broken"]]:
    """A string. An interpolated one contains code in braces, which may contain strings again."""
    kind: Literal["string", "broken"] = "string"
    interpolated = _is_interpolated(source, at)
    if depth > MAX_INTERPOLATION:  # each level is read twice
        return end, "broken"
    at += 1
    while at < end:
        if source[at] == "\\":
            if source[at + 1 : at + 2] not in ESCAPES and source[at + 1 : at + 2] != "{":
                kind = "broken"
            at += 2
        elif source[at] == '"':
            return at + 1, kind
        elif source[at] == "{" and interpolated:
            at = _brace_end(source, at, end, depth)
        else:
            at += 1
    return end, "broken"


def _is_interpolated(source: str, at: int) -> bool:
    """Whether the string at `at` follows `s!` or the like. Lean allows a space between."""
    return source[max(0, at - 80) : at].rstrip().endswith(("!", "dbg_trace"))


def _brace_end(source: str, at: int, end: int, depth: int) -> int:
    """The position after the brace that closes the one at `at`."""
    braces = 0
    for token in _tokens(source, at, end, depth + 1):
        braces += {"{": 1, "}": -1}.get(token.text, 0)
        if braces == 0:
            return token.end
    return end


def _raw_string(source: str, at: int, end: int) -> tuple[int, Literal["string", "broken"]]:
    opening = RAW_STRING.match(source, at, end)
    assert opening
    closing = '"' + "#" * (len(opening.group()) - 2)
    found = source.find(closing, opening.end(), end)
    return (end, "broken") if found < 0 else (found + len(closing), "string")


def _character_end(source: str, at: int, end: int) -> int | None:
    """The end of 'x' or '\\n'. A prime that does not begin a character literal is a single symbol."""
    found = CHARACTER.match(source, at, end)
    return found.end() if found else None


def _interpolated(source: str, at: int, end: int, depth: int) -> Iterator[Token]:
    """The tokens of code between braces."""
    while at < end:
        if source[at] == "{":
            stop = _brace_end(source, at, end, depth)
            yield from _tokens(source, at + 1, max(at + 1, stop - 1), depth + 1)
            at = stop
        else:
            at += 2 if source[at] == "\\" else 1


def _starts_command(source: str, at: int, end: int) -> bool:
    """Whether a `#` begins a word such as #eval: not in `0#8`, `#[1]`, `#v[1]`."""
    after = source[at + 1 : at + 2]
    if not after or at + 1 >= end or not _starts_identifier(after) or source.startswith("v[", at + 1):
        return False
    return at == 0 or not (source[at - 1].isalnum() or source[at - 1] in "_)'!?")


def _starts_identifier(char: str) -> bool:
    return char == "«" or (char not in "'!?" and not char.isdigit() and PLAIN.match(char) is not None)


def _identifier(source: str, at: int, end: int) -> tuple[int, str]:
    """The position after a dotted name, and the name without quotes."""
    parts: list[str] = []
    while True:
        if at < end and source[at] == "«":
            close = source.find("»", at, end)
            stop = end if close < 0 else close + 1
            parts.append(source[at + 1 : stop].rstrip("»"))
        else:
            plain = PLAIN.match(source, at, end)
            stop = plain.end() if plain else at
            parts.append(source[at:stop])
        at = stop
        dotted = at + 1 < end and source[at] == "."
        if not (dotted and (_starts_identifier(source[at + 1]))):
            return at, ".".join(parts)
        at += 1
