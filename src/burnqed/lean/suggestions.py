"""Lean's suggestions in place of a tactic that searches (`exact?`, `simp?`, `try?`).

They come in a message for people:

    Try this:                                   Try these:
      [apply] refine Nat.le_antisymm ?_ ?_        [apply] grind
      -- Remaining subgoals:                      [apply] grind =>
      -- ⊢ a ≤ b                                    cases #ef78
      -- ⊢ b ≤ a                                    · lia

Before Lean 4.26 it was `Try this: exact h`, and bullets below `Try these:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_HEAD = re.compile(r"\s*Try (this|these):[ \t]*")
_MARK = re.compile(r"[ ]{0,2}(\[\w+\]|•) ")
_INDENT = 2  # of all lines below the first


def suggestions(texts: Iterable[str]) -> tuple[str, ...]:
    """The tactics that these messages suggest, in order."""
    return tuple(tactic for text in texts for tactic in _of_message(text))


def _of_message(text: str) -> list[str]:
    head = _HEAD.match(text)
    if not head:
        return []
    first, *lines = text[head.end() :].split("\n")
    found: list[list[str]] = [[first]]
    for line in lines:
        mark = _MARK.match(line)
        if mark:
            found.append([line[mark.end() :]])
        else:
            # The older form has no indentation besides the tactic's own.
            found[-1].append(line if len(found) == 1 else _outdent(line))
    return [tactic for tactic in map(_without_comments, found) if tactic]


def _outdent(line: str) -> str:
    return line[_INDENT:] if line[:_INDENT].isspace() else line


def _without_comments(lines: list[str]) -> str:
    """The lines before the first comment, which lists the remaining goals."""
    kept: list[str] = []
    for line in lines:
        if line.lstrip().startswith("--"):
            break
        kept.append(line.rstrip())
    return "\n".join(kept).strip("\n ")
