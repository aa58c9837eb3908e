"""Does a proof leave something open? By its words, as Lean would tell them apart."""

from __future__ import annotations

import re

from burnqed.lean.tokens import tokenize

CHEATS = frozenset({"sorry", "admit", "cheat", "sorryAx"})
_MAYBE = re.compile("|".join(CHEATS))


def cheats(text: str) -> bool:
    """Whether `sorry`, `admit` or `cheat` is a word of it, however deep inside a combinator.

    `sorry_free` is another word, and what a comment, a string or «sorry» says is none of it.
    """
    return _MAYBE.search(text) is not None and any(
        token.kind == "identifier" and token.text in CHEATS and text[token.start] != "«"
        for token in tokenize(text)
    )
