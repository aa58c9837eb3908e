"""Lean text in coloured pieces. Joined together the pieces are the text, to the last character."""

from __future__ import annotations

from burnqed.lean.tactic_words import CORE
from burnqed.lean.tokens import Token, tokenize

# A kind of piece, and its text. The kind is a class of the page's style sheet; "" is plain.
Piece = tuple[str, str]

MOST_COLOURED = 200_000  # characters; a longer text is one plain piece

_DECLARING = frozenset({
    "abbrev", "at", "attribute", "axiom", "by", "class", "def", "deriving", "do", "else", "end",
    "example", "extends", "for", "forall", "from", "fun", "if", "import", "in", "inductive",
    "infixl", "infixr", "instance", "lemma", "let", "local", "macro", "match", "mutual",
    "namespace", "noncomputable", "notation", "open", "opaque", "partial", "private", "protected",
    "Prop", "return", "scoped", "section", "set_option", "sorry", "Sort", "structure", "syntax",
    "termination_by", "then", "theorem", "Type", "universe", "unsafe", "using", "variable", "where",
    "with",
})  # fmt: skip
_BINDING = frozenset("∀∃λΠΣ⊢")


def coloured(source: str) -> list[Piece]:
    """The pieces of a text: words of the language, tactics, strings, numbers, comments, others."""
    if len(source) > MOST_COLOURED:
        return [("", source)]
    pieces: list[Piece] = []
    at = 0
    for token in tokenize(source):
        if token.start < at:  # code in an interpolated string, which is one piece
            continue
        _between(pieces, source[at : token.start])
        _add(pieces, _kind(token), source[token.start : token.end])
        at = token.end
    _between(pieces, source[at:])
    return pieces


def _kind(token: Token) -> str:
    if token.kind == "identifier":
        if token.text in _DECLARING:
            return "word"
        return "tactic" if token.text in CORE else ""
    if token.kind == "symbol":
        return "word" if token.text in _BINDING else ""
    return token.kind


def _between(pieces: list[Piece], text: str) -> None:
    """What the tokenizer skips: blanks, and comments."""
    bare = text.lstrip()
    _add(pieces, "", text[: len(text) - len(bare)])
    _add(pieces, "comment" if bare else "", bare)


def _add(pieces: list[Piece], kind: str, text: str) -> None:
    if not text:
        return
    if pieces and pieces[-1][0] == kind:
        text = pieces.pop()[1] + text
    pieces.append((kind, text))
