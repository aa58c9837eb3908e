"""How a written proof is cut into steps: the text of each, and what must come of it.

A step acts on the first goal and the goals behind it stay, so steps written below each other are a
proof again. What only says which goal is meant (`·`, `{ }`, parentheses) is not a step. A tactic with
blocks inside (`induction … with`, `have … := by`) is cut into one with `?_` in their places, and the
steps of the blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from burnqed.lean.tokens import tokenize
from burnqed.lean.trace import Block, Tactic

_TACTIC = "Lean.Parser.Tactic."
PAREN = _TACTIC + "paren"
BRACES = _TACTIC + "tacticSeqBracketed"
BULLET = "Lean.cdot"
FOCUS = _TACTIC + "focus"
BOTH = _TACTIC + "tactic_<;>_"
CASE = frozenset({_TACTIC + "case", _TACTIC + "case'"})
NEXT = frozenset({_TACTIC + "tacticNext_=>_"})
FIRST = _TACTIC + "first"
TRY = _TACTIC + "tacticTry_"
REPEAT = _TACTIC + "tacticRepeat_"
ALL = _TACTIC + "allGoals"
ANY = frozenset({_TACTIC + "anyGoals", _TACTIC + "tacticAny_goals_"})
NEEDS_NO_GOAL = ANY | {ALL, TRY, REPEAT, _TACTIC + "done", _TACTIC + "skip"}
# Alternatives, each of which may be `?_`.
_ALTERNATIVES = frozenset({_TACTIC + name for name in ("induction", "cases", "match")})
_BRANCHES = frozenset({_TACTIC + name for name in ("tacIfThenElse", "tacDepIfThenElse")})
# As terms these have a body behind them; of the two goals the one that is stated comes first.
_STATES = frozenset(
    _TACTIC + name for name in ("tacticHave__", "tacticLet__", "tacticHaveI__", "tacticLetI__")
)
_OPENER = re.compile(r"(=>|:=|then|else)\s+\Z")
_WRAPPED_NAME = re.compile(r"case'?\s+(\S+)\s*(.*?)\s*=>\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cut:
    """A tactic without its blocks: its text, the blocks, and how many goals it adds beside theirs."""

    text: str
    blocks: tuple[Block, ...]
    more: int


def plain(kind: str) -> str:
    """A kind without the quotes that Lean writes around parts that are no identifiers."""
    return kind.replace("«", "").replace("»", "")


def written(body: str, start: int, end: int, holes: Sequence[Block] = (), by: str = "?_") -> str:
    """A stretch of the file with `?_` for these blocks, as it is written at the beginning of a line.

    What follows its first line keeps its place relative to it, and is never left of it: there, a new
    tactic would begin.
    """
    text, at = "", start
    for block in holes:
        fill = (
            by if block.is_by and not block.kind.endswith("'") else f"from {by}" if block.is_by else by
        )
        text += body[at : block.start] + fill
        at = block.end
    first, *rest = (text + body[at:end]).split("\n")
    margins = [len(line) - len(line.lstrip()) for line in rest if line.strip()]
    if margins:
        column = start - (body.rfind("\n", 0, start) + 1)
        shift = column if min(margins) >= column else min(margins) - 2
        rest = [line[shift:] if shift >= 0 else " " * -shift + line for line in rest]
    return "\n".join([first, *(line.rstrip() for line in rest)]).rstrip()


def cut_of(body: str, tactic: Tactic) -> Cut | None:
    """The tactic with holes, where its kind has a way to be written so."""
    kind = plain(tactic.kind)
    if kind in _ALTERNATIVES:
        blocks = tuple(b for b in tactic.blocks if not b.is_by and _is_one_alternative(body, b))
        return _cut(body, tactic, blocks)
    if kind in _BRANCHES:
        return _cut(body, tactic, tuple(b for b in tactic.blocks if not b.is_by))
    blocks = tuple(b for b in tactic.blocks if b.is_by)
    if _has_holes(body, tactic):
        return None
    if kind in _STATES:
        found = _cut(body, tactic, blocks, 1)
        return found and Cut(f"refine {found.text}; ?_", found.blocks, 1)
    if kind == _TACTIC + "exact":
        found = _cut(body, tactic, blocks)
        return found and Cut(f"refine{found.text.removeprefix('exact')}", found.blocks, 0)
    if kind == _TACTIC + "obtain":
        # `obtain PATTERN : TYPE` asks for the type first.
        found = _cut(body, tactic, blocks, 1)
        if found and len(blocks) == 1 and re.search(r":=\s*\?_\Z", found.text):
            return Cut(re.sub(r"\s*:=\s*\?_\Z", "", found.text), blocks, 1)
        return None
    if kind in (_TACTIC + "refine", "Lean.calcTactic", _TACTIC + "show", _TACTIC + "tacticShow_From_"):
        found = _cut(body, tactic, blocks)
        shows = found is not None and found.text.startswith("show")
        return Cut(f"refine {found.text}", found.blocks, 0) if found and shows else found
    return None


def _cut(body: str, tactic: Tactic, blocks: tuple[Block, ...], more: int = 0) -> Cut | None:
    if not blocks:
        return None
    return Cut(written(body, tactic.start, tactic.end, blocks), blocks, more)


def _is_one_alternative(body: str, block: Block) -> bool:
    """Whether it is for one case only: `| zero =>`, and not `| _ =>` or `| a | b =>`."""
    head = body[block.within_start : block.start]
    words = [token.text for token in tokenize(head)]
    return words.count("|") == 1 and words[1:2] != ["_"]


def _has_holes(body: str, tactic: Tactic) -> bool:
    """Whether it leaves goals of its own, which would stand among those of its blocks."""
    text = written(body, tactic.start, tactic.end, tactic.blocks, by="_")
    return any(t.text == "?" or t.text.startswith("?") for t in tokenize(text))


@dataclass(frozen=True, slots=True)
class Case:
    """`case tag x y =>`: which goal, and what its unnamed hypotheses are called."""

    tag: str | None
    names: str


def case_of(body: str, tactic: Tactic) -> Case | None:
    """None where several cases share a block."""
    head = body[tactic.start : tactic.blocks[0].start].strip()
    if plain(tactic.kind) in NEXT:
        return Case(None, head.removeprefix("next").removesuffix("=>").strip())
    found = _WRAPPED_NAME.fullmatch(head)
    if found is None or "|" in head:
        return None
    return Case(None if found[1] == "_" else found[1], found[2].strip())
