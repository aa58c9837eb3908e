"""The benchmark of our own: 150 theorems of core Lean in five levels, from one step to hard.

Each file is a level, with the definitions that it speaks of and a reference proof of each theorem,
which the judge accepts in the tests. A search sees no proof: it gets the definitions, and of the
theorems only the one that it is to prove. Blank lines stand between declarations and nowhere else.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from burnqed.lean.statement import declarations
from burnqed.lean.tokens import CLOSERS, tokenize

LEVELS = range(1, 6)


def level_source(level: int) -> str:
    """A level's file, with its proofs."""
    return resources.files(__name__).joinpath(f"level{level}.lean").read_text(encoding="utf-8")


def entries() -> list[dict[str, Any]]:
    """An index entry for each theorem, in order of level."""
    return [entry for level in LEVELS for entry in _level_entries(level)]


def _level_entries(level: int) -> list[dict[str, Any]]:
    source = level_source(level)
    names = iter(declarations(source))
    context: list[str] = []
    found: list[dict[str, Any]] = []
    for block in source.strip().split("\n\n"):
        keywords = [token.start for token in tokenize(block) if token.text == "theorem"]
        if not keywords:
            context.append(block)
            continue
        statement = block[keywords[0] : _signature_end(block, keywords[0])].strip()
        found.append(
            {
                "name": next(names).name,
                "statement": statement,
                "context": "\n\n".join(context),
                "file_path": f"qed_core/level{level}.lean",
                "group": f"level {level}",
                "difficulty": len(tokenize(statement)),
            }
        )
    return found


def _signature_end(block: str, start: int) -> int:
    """Where the proof begins: the first `:=` outside of brackets."""
    depth = 0
    for token in tokenize(block):
        if token.start < start:
            continue
        depth += (token.text in CLOSERS) - (token.text in CLOSERS.values())
        if depth == 0 and token.text == ":=":
            return token.start
    raise ValueError(f"no proof: {block}")
