"""Replaces `sorry`s by proofs, formatted as a person would.

This works on the tokens of the text alone. Columns matter in Lean's tactic blocks, so a proof of
several lines goes either below the line, deeper than any block that the line opens, or in place of the
`sorry` with its lines aligned. The rest of the source does not change.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from burnqed.lean.tokens import CLOSERS, Token, tokenize

WIDTH = 100
DECLARATIONS = frozenset(("theorem", "lemma", "example", "def", "abbrev", "instance"))
INTRODUCERS = frozenset(("have", "let", "haveI", "letI", "suffices", "obtain"))
# After these, a new block or step begins on the line: what follows must be deeper than that.
OPENERS = frozenset(("·", "by", "calc", "do", "then", "else"))
# The keyword of a definition is between its `:=` and the last of these before it.
BARRIERS = frozenset((":=", "by", "calc", "where", "with", ";", "do"))
# A term alone after one of these needs no parentheses.
ALONE_AFTER = frozenset(("(", "⟨", "[", "{", ",", ":=", "from", "exact", "else"))
ALONE_BEFORE = frozenset((")", "⟩", "]", "}", ","))


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a `sorry`, in characters of the source, and what replaces it.

    Each alternative is a list of tactics. There are several if one `sorry` runs on several goals
    (`<;> sorry`).
    """

    start: int
    end: int
    is_tactic: bool
    alternatives: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters of the source, and what they are replaced by."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Plan:
    start: int
    end: int
    text: Callable[[int], str]  # from the column at which it is written


def put(source: str, places: Sequence[Place]) -> str:
    """The source with every place filled."""
    out, at = [], 0
    for edit in edits(source, places):
        out += [source[at : edit.start], edit.text]
        at = edit.end
    return "".join([*out, source[at:]])


def edits(source: str, places: Sequence[Place]) -> list[Edit]:
    """What fills every place, in the order of the source. They belong together."""
    filler = _Filler(source)
    plans = [plan for place in places for plan in filler.plans(place)]
    found = []
    out, at = "", 0
    for plan in sorted(plans, key=lambda e: e.start):
        out += source[at : plan.start]
        text = plan.text(len(out) - (out.rfind("\n") + 1))
        found.append(Edit(plan.start, plan.end, text))
        out += text
        at = plan.end
    return found


def block(tactics: Sequence[str]) -> list[str]:
    """The lines of a proof. Each tactic keeps its own indentation below the block's."""
    texts = (textwrap.dedent(t.replace("\r\n", "\n")).strip("\n") for t in tactics)
    return [line.rstrip() for text in texts for line in text.split("\n")]


def _one_of(alternatives: Sequence[Sequence[str]]) -> list[str]:
    """A block that tries each alternative."""
    blocks = [block(tactics) for tactics in alternatives]
    if len(blocks) == 1:
        return blocks[0]
    if all(len(lines) == 1 and "|" not in lines[0] for lines in blocks):
        line = " ".join(["first", *(f"| {_bare(lines)[0]}" for lines in blocks)])
        if len(line) <= WIDTH // 2:
            return [line]
    indented = (f"  {'| ' if at == 0 else '  '}{line}" for b in blocks for at, line in enumerate(b))
    return ["first", *indented]


def _bare(lines: list[str]) -> list[str]:
    """The text without a comment at the end of the last line, so that something can follow."""
    text = "\n".join(lines)
    return text[: max((t.end for t in tokenize(text)), default=0)].split("\n")


class _Filler:
    """The tokens of one source, and questions about them."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.starts = [token.start for token in self.tokens]
        self.newline = "\r\n" if "\r\n" in source else "\n"

    # ------------------------------------------------------------------- deciding

    def plans(self, place: Place) -> list[_Plan]:
        at = bisect_left(self.starts, place.start)
        lines = _one_of(place.alternatives)
        before, gap = self._before(at), self.source[self._end_before(at) : place.start]
        own_line = "\n" in gap
        last = self._ends_line(at)
        opened = before in ("by", "=>") if place.is_tactic else before in (":=", "=>")
        if not place.is_tactic and own_line and last and opened and gap.isspace():
            # `:=` and a line with `sorry`: the `by` goes to the end of the line above.
            by = _Plan(self._end_before(at), self._end_before(at), lambda column: " by")
            return [by, _Plan(place.start, place.end, self._aligned(lines, "", ""))]
        below = last and not own_line and not gap.strip() and self._wants_lines(at, place, lines)
        if below and place.is_tactic and opened:
            indent = self._indent(at - 1 if before == "by" else at)
            return [_Plan(self._end_before(at), place.end, lambda column: self._below(lines, indent))]
        if below and not place.is_tactic and (opened or before in ALONE_AFTER or before == "<|"):
            text = "by" + self._below(lines, self._indent(at))
            return [_Plan(place.start, place.end, lambda column: text)]
        left, right = self._brackets(at, place, lines)
        if right or not last:
            lines = _bare(lines)
        return [_Plan(place.start, place.end, self._aligned(lines, left, right))]

    def _wants_lines(self, at: int, place: Place, lines: Sequence[str]) -> bool:
        """Whether the block goes below: always for a declaration's whole proof, else if necessary."""
        if len(lines) > 1:
            return True
        column = self._column(place.start) + (0 if place.is_tactic else len("by "))
        starter = self._starter(at - 1 if place.is_tactic else at)
        whole = starter is not None and self.tokens[starter].text in DECLARATIONS
        return whole or column + len(lines[0]) > WIDTH

    def _brackets(self, at: int, place: Place, lines: Sequence[str]) -> tuple[str, str]:
        """The text around a block in the middle of a line."""
        before, after = self._before(at), self._after(at)
        joined = {token.text for token in tokenize("\n".join(lines))}
        if place.is_tactic:
            tied = after in (";", "<;>")
            loose = len(lines) > 1 or (tied and bool(joined & {";", "by", "|", ">"}))
            if before == "<;>":
                loose = loose or ";" in joined
            return ("(", ")") if loose and (tied or before in (";", "<;>")) else ("", "")
        alone = before in ALONE_AFTER or before in ("=>", "<|")
        if alone and (self._ends_line(at) or after in ALONE_BEFORE):
            return "by ", ""
        return "(by ", ")"

    # -------------------------------------------------------------------- writing

    def _aligned(self, lines: Sequence[str], left: str, right: str) -> Callable[[int], str]:
        def text(column: int) -> str:
            return left + self._join(lines, " " * (column + len(left))) + right

        return text

    def _below(self, lines: Sequence[str], indent: int) -> str:
        pad = " " * indent
        return self.newline + pad + self._join(lines, pad)

    def _join(self, lines: Sequence[str], pad: str) -> str:
        return self.newline.join([lines[0], *(pad + line if line else "" for line in lines[1:])])

    # -------------------------------------------------------------- the text around

    def _end_before(self, at: int) -> int:
        return self.tokens[at - 1].end if at else 0

    def _before(self, at: int) -> str:
        """The symbol or word before a token; `=>`, `<;>` and `<|` are several tokens."""
        if at == 0:
            return ""
        head = self.source[: self.tokens[at - 1].end]
        long = next((s for s in ("<;>", "=>", "<|") if head.endswith(s)), None)
        return long or self.tokens[at - 1].text

    def _after(self, at: int) -> str:
        if at + 1 >= len(self.tokens):
            return ""
        start = self.tokens[at + 1].start
        return "<;>" if self.source.startswith("<;>", start) else self.tokens[at + 1].text

    def _ends_line(self, at: int) -> bool:
        """Whether the line has no more code."""
        if at + 1 >= len(self.tokens):
            return True
        return "\n" in self.source[self.tokens[at].end : self.tokens[at + 1].start]

    def _line_start(self, position: int) -> int:
        return self.source.rfind("\n", 0, position) + 1

    def _column(self, position: int) -> int:
        return position - self._line_start(position)

    def _margin(self, position: int) -> int:
        """The indentation of a line."""
        start = self._line_start(position)
        found = re.compile(r"[ \t]*").match(self.source, start)
        return (found.end() if found else start) - start

    def _indent(self, at: int) -> int:
        """The column of a block below the line that ends with the token `at`, or with its `=>`."""
        starter = self._starter(at)
        if starter is not None:
            token = self.tokens[starter]
            if token.text in DECLARATIONS:
                return self._margin(token.start) + 2
            if self._line_start(token.start) < self._line_start(self.tokens[at].start):
                return self._column(token.start) + 2
        return self._anchor(at) + 2

    def _starter(self, at: int) -> int | None:
        """The keyword (`theorem`, `have`, …) of the definition whose `:=` is before `at`."""
        if at == 0 or self.tokens[at - 1].text != ":=":
            return None
        depth = 0
        for index in range(at - 2, -1, -1):
            token = self.tokens[index]
            if token.text in CLOSERS.values():
                depth += 1
            elif token.text in CLOSERS:
                depth -= 1
            if depth < 0:
                return None
            if depth == 0 and token.text in DECLARATIONS | INTRODUCERS:
                return index
            if depth == 0 and (token.text in BARRIERS or self._is_arrow(token)):
                return None
        return None

    def _anchor(self, at: int) -> int:
        """The column of the innermost block or step that is open on a token's line before it."""
        line = self._line_start(self.tokens[at].start)
        first = bisect_left(self.starts, line)
        anchor = self._column(self.tokens[first].start)
        outer: list[int] = []
        is_function = False
        for index in range(first, at - 1):
            token, after = self.tokens[index], self.tokens[index + 1]
            if token.text in ("fun", "λ"):
                is_function = True
            elif token.text == "|":
                anchor, is_function = self._column(token.start), False
            elif token.text in CLOSERS.values() and outer:
                anchor = outer.pop()
            elif token.text in CLOSERS:
                outer.append(anchor)
                anchor = self._column(after.start)
            elif self._opens(token, index == first, is_function):
                anchor = self._column(after.start)
        return anchor

    def _opens(self, token: Token, is_first: bool, is_function: bool) -> bool:
        if self._is_arrow(token):
            return not is_function
        closes_both = self.source.endswith("<;>", 0, token.end)
        semicolon = token.text == ";" and not self.source.startswith(">", token.end)
        return token.text in OPENERS or (is_first and token.text == ".") or closes_both or semicolon

    def _is_arrow(self, token: Token) -> bool:
        return token.text == ">" and self.source[token.start - 1] == "="
