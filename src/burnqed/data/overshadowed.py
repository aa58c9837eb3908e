"""What commands with errors cost: theorems behind them may not say what they said.

Such a command is as if it were not there. A definition, a `variable` or an `open` that is not there can
give a name another meaning, up to none at all: Lean then takes it for a new variable. Of a theorem, an
example or a question (`#eval`) nothing is missed but a name.
"""

from __future__ import annotations

from collections.abc import Sequence

from burnqed.lean.outline import BadCommand
from burnqed.lean.statement import declarations
from burnqed.lean.tokens import tokenize

BEHIND = "it stands behind a command with errors"
# Commands that later ones take their meaning from.
_MEANINGFUL = frozenset(
    {
        "def", "abbrev", "instance", "structure", "inductive", "class", "variable", "universe", "open",
        "namespace", "section", "end", "notation", "infix", "infixl", "infixr", "prefix", "postfix",
        "macro", "syntax", "attribute", "opaque", "axiom", "elab", "declare_syntax_cat", "mutual",
        "macro_rules", "elab_rules", "initialize", "include", "omit", "export", "deriving", "run_cmd",
    }
)  # fmt: skip
_QUESTIONS = ("#eval", "#check", "#check_failure", "#print", "#reduce", "#guard", "#synth")


def overshadowed(start: int, statement: str, bads: Sequence[BadCommand], body: str) -> str:
    """Why a theorem that starts there may not say what it said; empty if it does."""
    words = {token.text for token in tokenize(statement)}
    for bad in bads:
        if bad.start >= start:
            break
        names = theorems_alone(body[bad.start : bad.end])
        lost = names is None or words.intersection(name.rpartition(".")[2] for name in names)
        if lost:
            return f"{BEHIND}: {bad.error}"
    return ""


def theorems_alone(text: str) -> list[str] | None:
    """The theorem that a command is, or none if it is an example or a question.

    None where it is, or has in front of it, something that others take their meaning from.
    """
    found = declarations(text, private=True)
    tokens = tokenize(text)
    first = next((t.start for t in tokens if t.text in ("theorem", "lemma", "example")), None)
    if first is None:
        asked = bool(tokens) and text[tokens[0].start :].startswith(_QUESTIONS)
        return [] if asked else None
    before = {token.text for token in tokens if token.start < first}
    return None if _MEANINGFUL & before else [one.name for one in found]
