"""Estimates how deep a text nests, from its tokens in one pass, before Lean parses it.

Lean's parser recurses at every level without a limit: a hundred thousand `¬`, `fun x =>` or `open A in`
take it minutes, or all memory. Open brackets nest, and so does any operator or word that waits for
something to its right. These count until their expression ends:

- at the closing bracket around it;
- at a comma in brackets, unless it is the comma of a binder (`∀ x, …`);
- where a line ends with an operand and the next does not begin with an infix operator: that is a new
  tactic, alternative or command. Only a `have` or `let` stays open, because its body may follow.

Scopes (`namespace`, `section`) nest until their `end`, and a name is as deep as it has parts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from burnqed.lean.tokens import CLOSERS, Token

# Lean's own default limit is 512. No file of Mathlib reaches 300.
MAX_NESTING = 1000
MAX_SCOPES = 100
MAX_PARTS = 100

_LOCAL = frozenset({"let", "have", "letI", "haveI", "show", "suffices"})
_BINDERS = frozenset({"fun", "forall", "exists", "λ", "Π", "Σ", *_LOCAL})
# Words that wait for something, possibly on the next line.
_WAITING = _BINDERS | {
    "all_goals", "any_goals", "at", "by", "calc", "conv", "do", "else", "exact", "first", "focus",
    "for", "from", "if", "in", "iterate", "match", "open", "refine", "repeat", "return", "set_option",
    "then", "try", "unless", "where", "while", "with",
}  # fmt: skip
_SCOPES = frozenset({"namespace", "section", "mutual"})
# Symbols that may begin a line without continuing the previous one: alternatives and bullets, followed
# by a blank, and prefix operators.
_BULLETS = frozenset({"|", "·", ".", "-"})
_PREFIXES = frozenset({"¬", "∀", "∃", "@", "_"})


@dataclass(slots=True)
class _Frame:
    """The text, or an open bracket in it: the levels around it, and those open in it."""

    around: int
    open: int = 0
    binder: bool = False  # the next comma belongs to a binder


@dataclass(frozen=True, slots=True)
class TooDeep:
    """What is nested too deeply, and where."""

    what: str
    at: int


def too_deep(source: str, tokens: Sequence[Token], limit: int = MAX_NESTING) -> TooDeep | None:
    """The first place where a text nests too deeply for Lean."""
    scopes = 0
    for token in tokens:
        if token.kind == "identifier":
            scopes = max(0, scopes + (token.text in _SCOPES) - (token.text == "end"))
            if scopes > MAX_SCOPES:
                return TooDeep(
                    f"namespaces or sections nested more than {MAX_SCOPES} deep", token.start
                )
            if token.text.count(".") >= MAX_PARTS:
                return TooDeep(f"a name of more than {MAX_PARTS} parts", token.start)
    deep = (at for level, at in _levels(source, tokens) if level > limit)
    at = next(deep, None)
    return None if at is None else TooDeep(f"nested more than {limit} deep", at)


def _levels(source: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The depth at each token, with the token's position."""
    frames = [_Frame(0)]
    local_lines, on_local_line = 0, False
    complete, end = True, 0
    for token in tokens:
        text, frame = token.text, frames[-1]
        if complete and "\n" in source[end : token.start] and _begins(source, token):
            local_lines = local_lines + 1 if on_local_line else 0
            frame.open, frame.binder, on_local_line, complete = 0, False, False, False
        end = token.end
        on_local_line |= text in _LOCAL
        if text in CLOSERS:
            frames.append(_Frame(frame.around + frame.open + 1))
            complete = False
        elif text in CLOSERS.values():
            if len(frames) > 1:
                frames.pop()
            complete = True
        elif text == "," and len(frames) > 1:
            frame.open = frame.open if frame.binder else 0
            frame.binder = complete = False
        elif token.kind == "symbol" or text in _WAITING:
            frame.open += 1
            frame.binder |= not complete and _may_bind(text)
            complete = False
        else:
            complete = True
        yield frames[-1].around + frames[-1].open + local_lines, token.start


def _begins(source: str, token: Token) -> bool:
    """Whether the first token of a line begins something new."""
    if token.kind != "symbol" or token.text in CLOSERS or token.text in _PREFIXES:
        return True
    return token.text in _BULLETS and source[token.end : token.end + 1].isspace()


def _may_bind(text: str) -> bool:
    return text in _BINDERS or unicodedata.category(text[0]) == "Sm"
