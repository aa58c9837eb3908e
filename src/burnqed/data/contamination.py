"""Is a theorem one of a benchmark's? By its name, or by what it states, as far as text can tell.

What is stated is brought into one form from both sides: from a statement as it is written (`theorem t
(n : ℕ) (h : 0 < n) : P n`, or `∀ n : ℕ, 0 < n → P n`) and from the state that its proof begins with
(hypotheses, one to a line, and the target behind `⊢`). In this form hypotheses are numbered and not
named, and what Lean's printer adds or leaves out is left out: type ascriptions, arrows of coercions,
brackets around single words. It asks no Lean, so a statement that unfolds to another is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from burnqed.core.types import LibraryConstant
from burnqed.data.index import TheoremIndex
from burnqed.data.spill import key_of
from burnqed.lean.tokens import CLOSERS, tokenize

_OPENERS = {**CLOSERS, "⦃": "⦄"}
_SAME = {
    "forall": "∀", "exists": "∃", "λ": "fun", "ℕ": "Nat", "ℤ": "Int", "ℚ": "Rat", "ℝ": "Real",
    "ℂ": "Complex", "/\\": "∧", "\\/": "∨", "->": "→", "<->": "↔", "<=": "≤", ">=": "≥", "!=": "≠",
    "=>": "↦", "↑": "", "⇑": "",
}  # fmt: skip
_LONG = ("<->", "->", "<=", ">=", "!=", "=>", "∃!")
# What binds names, whose types are printed or not, and what ends the names.
_BODY = {"∃": ",", "∀": ",", "fun": "↦"}
# What follows one of these reaches as far as it can, so an arrow behind it is not the statement's own.
_REACHES = frozenset({"∃", "∀", "fun", "let", "have", "if", "match", "↔", "∃!", "Σ", "Π", "show", ":="})
_LOCAL = frozenset({"let", "have", "letI", "haveI"})
_BOUNDS = frozenset({"∈", "∉", "<", ">", "≤", "≥", "≠", "⊆"})  # as in `∀ x ∈ s, …`
_DECLARES = frozenset({"theorem", "lemma"})
_LETTER = re.compile(r"(?!π)[^\W\d_][\d₀-₉]*'*")  # what Lean binds by itself, and what is bound inside
_MAX_LOOSE = 8
_MAX_NESTING = 50  # nobody writes brackets that deep
_HYPOTHESIS = re.compile(r"^(\S[^:\n]*?) :(?=\s)", re.DOTALL)

Tokens = list[str]
Binder = tuple[str, Tokens]


@dataclass(frozen=True, slots=True)
class Held:
    """The theorems that must not be trained on, by name and by what they state."""

    names: Mapping[str, str] = field(default_factory=dict)  # to the set's name
    statements: Mapping[int, tuple[str, str]] = field(default_factory=dict)  # to set and theorem

    def has_statement(self, statement: str) -> tuple[str, str] | None:
        return self.statements.get(statement_key(statement)) if self.statements else None

    def has_state(self, state: str) -> tuple[str, str] | None:
        if not self.statements:
            return None
        return next((self.statements[key] for key in state_keys(state) if key in self.statements), None)


def held_out(sets: Iterable[TheoremIndex]) -> Held:
    names: dict[str, str] = {}
    statements: dict[int, tuple[str, str]] = {}
    for index in sets:
        for entry in index.entries:
            name = entry.theorem.name
            names.setdefault(name, index.name)
            if isinstance(entry.theorem.statement, LibraryConstant):  # whatever it is called there
                names.setdefault(entry.theorem.statement.name, index.name)
            text = entry.fields.get("statement")
            if isinstance(text, str) and text.strip():
                statements.setdefault(statement_key(text), (index.name, name))
    return Held(names, statements)


def statement_key(text: str) -> int:
    """Of a proposition, or of a whole `theorem … : …`, with or without a proof behind it."""
    tokens = _tokens(text)
    binders: list[Binder] = []
    start = next((i for i, token in enumerate(tokens) if token in _DECLARES), None)
    if start is not None:
        at = start + 2
        if tokens[at : at + 2] == [".", "{"]:
            at = _closing(tokens, at + 1) + 1
        while at < len(tokens) and tokens[at] in _OPENERS:
            end = _closing(tokens, at)
            binders += _binders(tokens[at : end + 1])
            at = end + 1
        tokens = tokens[at + 1 :] if tokens[at : at + 1] == [":"] else tokens[at:]
    return _key(binders, _until_proof(tokens))


def state_keys(state: str) -> list[int]:
    """Of the first goal of a state, as Lean prints it; one of them is the statement's.

    A statement need not name its first variables: they may be bound by themselves (`α` in `List α`) or
    by a `variable` before it. So there is a key without each of the first hypotheses that may be such.
    """
    entries: list[str] = []
    for line in state.split("\n\n", 1)[0].splitlines():
        if line.startswith((" ", "\t")) and entries:
            entries[-1] += "\n" + line
        elif not line.startswith("case ") and line.strip():
            entries.append(line)
    binders: list[Binder] = []
    target = ""
    for entry in entries:
        found = _HYPOTHESIS.match(entry)
        if entry.startswith("⊢"):
            target = entry[1:]
        elif found:
            kind = _tokens(entry[found.end() :])
            binders += [("" if "✝" in name else name, kind) for name in found[1].split()]
    loose = next((i for i, (name, _) in enumerate(binders) if not _is_loose(name)), len(binders))
    tokens = _tokens(target)
    return [_key(binders[skipped:], tokens) for skipped in range(min(loose, _MAX_LOOSE) + 1)]


def _is_loose(name: str) -> bool:
    """Whether a variable or an instance may be there without having been written."""
    return not name or _LETTER.fullmatch(name) is not None


# ------------------------------------------------------------------------------- one form


def _key(binders: Sequence[Binder], target: Tokens) -> int:
    if any(_nesting(tokens) > _MAX_NESTING for tokens in (target, *(kind for _, kind in binders))):
        return key_of(*(word for _, kind in binders for word in kind), *target)  # as it is written
    return key_of(*_said(binders, target))


def _said(binders: Sequence[Binder], target: Tokens) -> Tokens:
    every = list(binders)
    while True:
        more, target = _opened(target)
        if not more:
            break
        every += more
    names: dict[str, str] = {}
    said: Tokens = []
    for place, (name, kind) in enumerate([*every, ("", target)]):
        words = ["Type"] if kind[:1] in (["Type"], ["Sort"]) else _bare(_unwrapped(kind))
        for word in words:
            if _LETTER.fullmatch(word):
                names.setdefault(word, f"@{len(names)}")  # bound by itself, or further inside
        said.append(" ".join(names.get(word, word) for word in words))
        if name:
            names[name] = f"#{place}"
    return said


def _unwrapped(tokens: Tokens) -> Tokens:
    """Without brackets around all of it."""
    while tokens[:1] == ["("] and _closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tokens


def _opened(target: Tokens) -> tuple[list[Binder], Tokens]:
    """The hypotheses that a target begins with, and the rest of it."""
    target = _unwrapped(target)
    if target[:1] == ["∀"]:
        comma = _find(target, ",")
        head = target[1:comma] if comma else []
        grouped = bool(head) and head[0] in _OPENERS
        binders: list[Binder] = []
        at = 0
        while grouped and at < len(head) and head[at] in _OPENERS:
            end = _closing(head, at)
            binders += _binders(head[at : end + 1])
            at = end + 1
        if grouped and at == len(head):
            return binders, target[comma + 1 :] if comma else []
        if head and not grouped and not _outside(head[: _find(head, ":")]) & _BOUNDS:
            return _binders(["(", *head, ")"]), target[comma + 1 :] if comma else []
        return [], target
    arrow = _find(target, "→")
    if arrow and not _outside(target[:arrow]) & _REACHES and _find(target, "↔") is None:
        return [("", target[:arrow])], target[arrow + 1 :]
    return [], target


def _binders(group: Tokens) -> list[Binder]:
    """`(a b : T)`, `{a}`, `[inst : C a]`, `[C a]`, with their brackets."""
    inner = group[1:-1]
    colon = _find(inner, ":")
    if colon is None:
        return [("", inner)] if group[0] == "[" else [(name, []) for name in inner]
    kind = inner[colon + 1 :]
    default = _find(kind, ":=")
    return [("" if name == "_" else name, kind[:default]) for name in inner[:colon]]


def _bare(tokens: Tokens) -> Tokens:
    """As it would print, and less: `∃ x y,` and `∀ x y,` without types or brackets, `x ∈ s` behind the
    comma; no `: T` in `(x : T)`, no brackets around one word.
    """
    out: Tokens = []
    at = 0
    while at < len(tokens):
        end = _find(tokens[at:], _BODY[tokens[at]]) if tokens[at] in _BODY else None
        if end is not None:
            names, bound = _bound_names(tokens[at + 1 : at + end])
            if out[-1:] == [","] and _last(out, tokens[at]):
                out[-1:] = [*names, ","]  # `∃ x, ∃ y, …` prints as `∃ x y, …`
            else:
                out += [tokens[at], *names, tokens[at + end]]
            out += [*bound, "∧" if tokens[at] == "∃" else "→"] if bound else []
            at += end + 1
        elif tokens[at] == "(":
            end = _closing(tokens, at)
            inner = tokens[at + 1 : end]
            inner = _bare(inner[: _find(inner, ":")])
            out += inner if len(inner) == 1 else ["(", *inner, ")"]
            at = end + 1
        else:
            out.append(tokens[at])
            at += 1
    return out


def _bound_names(head: Tokens) -> tuple[Tokens, Tokens]:
    """The names in `x y : T` and in `(x : T) (y : U)`; of `x ∈ s` the name, and all of it."""
    if head[:1] and head[0] in _OPENERS:
        end = _closing(head, 0)
        names, _ = _bound_names(head[1:end])
        more, bound = _bound_names(head[end + 1 :])
        return [*names, *more], bound
    names = head[: _find(head, ":")]
    return (names[:1], names) if _outside(names) & _BOUNDS else (names, [])


def _last(out: Tokens, word: str) -> bool:
    """Whether the words before the last comma are names that this word binds."""
    at = len(out) - 2
    while at > 0 and out[at].isidentifier():
        at -= 1
    return at >= 0 and out[at] == word


def _until_proof(tokens: Tokens) -> Tokens:
    pending = depth = 0
    for at, token in enumerate(tokens):
        depth += (token in _OPENERS) - (token in _OPENERS.values())
        pending += token in _LOCAL
        if token == ":=" and depth == 0:
            if not pending:
                return tokens[:at]
            pending -= 1
    return tokens


def _nesting(tokens: Tokens) -> int:
    depth = deepest = 0
    for token in tokens:
        depth += (token in _OPENERS) - (token in _OPENERS.values())
        deepest = max(deepest, depth)
    return deepest


def _outside(tokens: Tokens) -> set[str]:
    """What stands outside of all brackets."""
    depth = 0
    found: set[str] = set()
    for token in tokens:
        depth -= token in _OPENERS.values()
        if depth == 0:
            found.add(token)
        depth += token in _OPENERS
    return found


def _find(tokens: Tokens, wanted: str) -> int | None:
    """Where it stands outside of all brackets."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token in _OPENERS) - (token in _OPENERS.values())
        if token == wanted and depth == 0:
            return at
    return None


def _closing(tokens: Tokens, at: int) -> int:
    """Of the bracket that closes the one at `at`; the last token where none does."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] in _OPENERS) - (tokens[place] in _OPENERS.values())
        if depth == 0:
            return place
    return len(tokens) - 1


def _tokens(text: str) -> Tokens:
    """Words and symbols, each in the one way to write it."""
    out: Tokens = []
    end = -1
    for token in tokenize(text):
        word = token.text
        joined = (out[-1] if out and token.start == end else "") + word
        if joined in _LONG:
            out[-1] = joined
        else:
            out.append(word)
        end = token.end
    return [same for word in out if (same := _SAME.get(word, word))]
