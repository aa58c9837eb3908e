"""Facts of a goal of which only the text is there: Pantograph's, an older record's, a test's.

Everywhere else Lean says them (`core.facts`). Here they are guessed: brackets, binders, and operators
by their precedence. A misreading costs one rejected tactic and nothing else.
"""

from __future__ import annotations

import re
from typing import cast, get_args

from burnqed.core.facts import Data, Definition, Facts, Form, Kind, Known, Stated
from burnqed.core.types import Goal
from burnqed.policy.names import IDENT, TOKEN

_OPEN, _CLOSE = "([{⟨⦃", ")]}⟩⦄"
# The loosest first, in groups that bind the same; only arguments of the first group are propositions.
_CONNECTIVES = {"↔": "iff", "→": "implies", "∨": "or", "∧": "and"}
_RELATIONS = {
    "=": "eq", "≠": "ne", "≤": "le", "<": "lt", "≥": "ge", ">": "gt", "∣": "dvd", "∈": "mem",
    "∉": "mem", "⊆": "subset",
}  # fmt: skip
_BOUNDS = ("∈", "∉", "<", "≤", ">", "≥", "≠")
_PROP_MARKS = frozenset("=≠≤<≥>∣∈∉↔∧∨¬∃∀⊆~")
_PREDICATES = frozenset({
    "True", "False", "Nodup", "Pairwise", "Perm", "Sublist", "IsPrefix", "IsSuffix", "IsInfix",
    "Subset", "Coprime", "WF", "WellFounded", "Nonempty", "Injective", "Surjective", "Sorted", "Even",
    "Odd", "Prime", "Disjoint", "Acc", "Equiv", "Mem", "LawfulBEq", "Inhabited",
})  # fmt: skip
_KEYWORDS = frozenset({
    "fun", "if", "then", "else", "let", "have", "match", "with", "in", "do", "show", "from", "by", "at",
    "Type", "Prop", "Sort", "True", "False", "true", "false",
})  # fmt: skip
_BINDING = re.compile(r"(?:fun|λ|∀|∃!?|let|have|if(?= \S+ :))\s+([^,=↦←]*)")
_WHAT_OF = re.compile(r"[:∈∉<≤>≥][^)}\]⦄]*")  # behind bound names
_NUMERAL = re.compile(r"(?<![\w.])\d+(?![\w.])")

_DEPTH = 40
# Mathlib's notations for types, which Lean prints in place of their names.
_OF_LETTERS = {
    "ℕ": "Nat", "ℤ": "Int", "ℚ": "Rat", "ℝ": "Real", "ℂ": "Complex", "ℝ≥0": "NNReal", "ℝ≥0∞": "ENNReal",
}  # fmt: skip

Words = list[re.Match[str]]


def facts_of_text(goal: Goal) -> Facts:
    types = {h.name: h.type for h in goal.hypotheses}

    def known(type: str) -> Known:
        if _is_proposition(type, types):
            return Known(Stated(form_of(type), _numerals(type)))
        return Known(data=_data(type))

    target = Stated(form_of(goal.target), _numerals(goal.target), _definitions(goal.target, types))
    return Facts(target, tuple(known(h.type) for h in goal.hypotheses))


def form_of(text: str) -> Form:
    """The form of a proposition, as far as its text tells."""
    return _form(list(TOKEN.finditer(text)), _DEPTH)


def _form(words: Words, depth: int) -> Form:
    words = _bare(words)
    if not words:
        return Form("other")
    first, place = words[0].group(), (words[0].start(), words[-1].end())
    if depth == 0:
        return Form("other", *place)
    if first in ("∀", "∃"):
        comma = next((i for i, _ in _outside(words) if words[i].group() == ","), None)
        if comma is not None:
            kind: Kind = "forall" if first == "∀" else "exists"
            return _bound(kind, words[1:comma], _form(words[comma + 1 :], depth - 1), place)
    for mark, connective in _CONNECTIVES.items():
        at = _split(words, (mark,))
        if at:
            parts = (_form(words[:at], depth - 1), _form(words[at + 1 :], depth - 1))
            return Form(cast(Kind, connective), *place, parts)
    if first == "¬":
        return Form("not", *place, (_form(words[1:], depth - 1),))
    at = _split(words, tuple(_RELATIONS))
    if at:
        kind = cast(Kind, _RELATIONS[words[at].group()])
        relation = Form(kind, *place, (_term(words[:at]), _term(words[at + 1 :])))
        return Form("not", *place, (relation,)) if words[at].group() == "∉" else relation
    if len(words) == 1 and first in ("True", "False"):
        return Form("true" if first == "True" else "false", *place)
    return Form("other", *place)


def _term(words: Words, kind: Kind = "term") -> Form:
    return Form(kind, words[0].start(), words[-1].end()) if words else Form(kind)


def _outside(words: Words) -> list[tuple[int, str]]:
    """The words that stand in no brackets."""
    depth, found = 0, []
    for i, word in enumerate(words):
        depth -= word.group() in _CLOSE
        if depth == 0:
            found.append((i, word.group()))
        depth += word.group() in _OPEN
    return found


def _split(words: Words, marks: tuple[str, ...]) -> int | None:
    """Where the first of these operators stands, outside of brackets and of a binder's body.

    What a sum ranges over is passed over: an operator behind it is outside of the sum.
    """
    ranges = False
    for i, word in _outside(words):
        ranges = word in ("∑", "∏") or (ranges and word != ",")
        if ranges:
            continue
        if word in marks and 0 < i < len(words) - 1:
            return i
        if i and word in ("∀", "∃", "fun", "λ"):
            return None
    return None


def _bare(words: Words) -> Words:
    """Without brackets around the whole of it."""
    while words and words[0].group() == "(" and _outside(words)[1:] == [(len(words) - 1, ")")]:
        words = words[1:-1]
    return words


def _bound(kind: Kind, binders: Words, body: Form, place: tuple[int, int]) -> Form:
    """A form for each variable in front of a body: `(x y : Nat) (h : p)`, `x y`, `x ∈ s`."""
    for group in reversed(_groups(binders)):
        words = [word.group() for word in group]
        names = words[: words.index(":")] if ":" in words else words
        if len(words) > 2 and words[1] in _BOUNDS:
            joins: Kind = "implies" if kind == "forall" else "and"
            body, names = Form(joins, *place, (_form(group, 1), body)), names[:1]
        type = _term(group[len(names) + 1 :], "type") if ":" in words else Form("type")
        for name in reversed(names):
            body = Form(kind, *place, (type, body), name)
    return body


def _groups(binders: Words) -> list[Words]:
    if not binders or binders[0].group() not in _OPEN:
        return [binders] if binders else []
    found, start = [], 0
    for i, _ in _outside(binders):
        if binders[i].group() in _CLOSE:
            found.append(binders[start + 1 : i])
            start = i + 1
    return found


def _is_proposition(type: str, types: dict[str, str]) -> bool:
    if type.startswith(("Prop", "Type", "Sort")):
        return False
    if any(char in _PROP_MARKS for char in type):
        return True
    head = (IDENT.match(type) or [""])[0]
    if head in types:
        return types[head] == "Prop" or types[head].endswith("→ Prop")
    return head.rpartition(".")[2] in _PREDICATES


def _data(type: str) -> Data:
    outside = {word for _, word in _outside(list(TOKEN.finditer(type)))}
    if "→" in outside:
        return Data("Function")
    if "×" in outside:
        return Data("Prod", inductive=True)
    head = _OF_LETTERS.get(head := _first_word(type), head)
    return Data(head, head[:1].isupper() and head not in ("Prop", "Type", "Sort"))


def _first_word(type: str) -> str:
    return (type.split(maxsplit=1) or [""])[0]


def _numerals(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in _NUMERAL.findall(text) if len(word) < 20)


def _definitions(text: str, types: dict[str, str]) -> tuple[Definition, ...]:
    """Names that are neither hypotheses nor bound: nobody says which of them can be unfolded."""
    bound = (_WHAT_OF.sub(" ", group) for group in _BINDING.findall(text))
    local = {*types, *(name for group in bound for name in IDENT.findall(group))}
    found: dict[str, None] = {}
    for match in IDENT.finditer(text):
        word, head = match.group(), match.group().split(".")[0]
        if head in types and word != head:
            type = _first_word(types[head])
            found |= {f"{type}.{field}": None for field in word.split(".")[1:] if not field.isdecimal()}
        elif text[max(0, match.start() - 1)] not in ".?" and head not in local | _KEYWORDS:
            plain = len(word) > 1 and "✝" not in word and not word.startswith("u_")
            found |= {word: None} if plain else {}
    return tuple(Definition(name) for name in found)


assert set(get_args(Kind)) >= {*_CONNECTIVES.values(), *_RELATIONS.values()}
