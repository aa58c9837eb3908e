"""The words of a goal or a statement: what a lemma and a state that needs it have in common.

Both are texts that Lean printed, so the same notation stands for the same constants. Names of
variables say nothing; behind the dot of a variable is the name of a function.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

_TOKEN = re.compile(r"[^\W\d][\w.'!?✝]*|\d+|\][?!]|[^\w\s()\[\]{}⟨⟩⦃⦄,:;]+")
_SAYS_NOTHING = frozenset({
    "∀", "∃", "∃!", "fun", "Type", "Sort", "Prop", "→", "↦", "=>", ":=", "=", "⊢", "↑", "if", "then",
    "else", "let", "have", "match", "with", "case",
})  # fmt: skip
_SHORT = 2  # a name of so many letters is a variable's


def words_of(text: str) -> list[str]:
    """In the order of the text, each as often as it is there."""
    return [word for token in _TOKEN.findall(text) for word in _words(token)]


@lru_cache(maxsize=2**16)
def _words(token: str) -> tuple[str, ...]:
    token = token.strip(".")
    if not token or token in _SAYS_NOTHING or "✝" in token or token.startswith("inst"):
        return ()
    if not (token[0].isalpha() or token[0] == "_"):
        return (token,)
    head, *fields = token.split(".")
    if not fields:
        return (token,) if len(token) > _SHORT else ()
    if head[0].isupper() and not "α" <= head[0].lower() <= "ω":
        return token, f".{fields[-1]}"  # a constant, and what one would write behind a variable
    return tuple(f".{field}" for field in fields if not field.isdecimal())


def words_of_name(name: str) -> list[str]:
    """The words that a lemma's name is made of, marked: those of a text are others."""
    return [f"name:{word}" for part in name.split(".") for word in part.split("_") if word]


@lru_cache(maxsize=2**18)
def bucket(word: str, size: int) -> int:
    """The row of a table of `size` rows in which a word's numbers stand; some share one."""
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest()) % size
