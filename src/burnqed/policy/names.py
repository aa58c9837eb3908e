"""Words and names in what Lean prints, and in tactics."""

from __future__ import annotations

import re

_IDENT = r"[^\W\d][\w'!?₀-₉✝]*(?:\.[^\W\d][\w'!?₀-₉]*|\.\d+)*"
IDENT = re.compile(_IDENT)
TOKEN = re.compile(rf"{_IDENT}|\d+|::|\+\+|&&|\|\||==|!=|>>>|<<<|\S")


def mentions(name: str, text: str) -> bool:
    """Whether a text speaks of a variable, also by one of its fields."""
    return any(word == name or word.startswith(name + ".") for word in TOKEN.findall(text))
