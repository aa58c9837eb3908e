"""Lean source for a theorem and a proof of it: the text that is judged, stored and shown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from burnqed.core.errors import StatementError
from burnqed.core.types import (
    FileHole,
    LibraryConstant,
    Negation,
    Proposition,
    Statement,
    TheoremText,
    Unreadable,
)
from burnqed.lean.tokens import CLOSERS, Token, tokenize

GOAL_NAME = "qed_goal"
# Inside a type, a `:=` of its own goes with each of these.
LOCAL = frozenset({"let", "have", "letI", "haveI"})
_THEOREM, _MARK = re.compile(r"\b(theorem|lemma)\b"), re.compile(":=")
# With hyphens, as some packages have («doc-gen4»). What else may stand in «» is in no file's name.
_PART = r"[^\W\d][\w'!?-]*"
_MODULE = re.compile(rf"(?:(?:{_PART}|«{_PART}»)(?:\.(?!\Z)|\Z))+")
_TRIED = 8  # times that a `:=` of a theorem's type is taken for the one before its proof
UNFINISHED = re.compile(r"\s*(:=\s*(by\s+)?sorry|:=\s*by|:=|by\s+sorry)\s*\Z")


@dataclass(frozen=True, slots=True)
class Source:
    """A Lean file in two: the modules that it imports, and the rest of it."""

    imports: tuple[str, ...]
    body: str


def split_header(source: str) -> Source:
    """Separate the `import` lines; the body keeps its line numbers."""
    tokens = tokenize(source)
    imports: list[str] = []
    at = 0
    end = 0
    if tokens and tokens[0].text in ("module", "prelude"):
        end, at = tokens[0].end, 1
    while at < len(tokens):
        start = at
        while at < len(tokens) and tokens[at].text in ("public", "meta"):
            at += 1
        if at >= len(tokens) or tokens[at].text != "import":
            at = start
            break
        at += 1
        if at < len(tokens) and tokens[at].text == "all":
            at += 1
        name = source[tokens[at].start : tokens[at].end] if at < len(tokens) else ""
        if not is_module_name(name):
            line = source.count("\n", 0, tokens[at - 1].start) + 1
            raise StatementError(
                f"an `import` names no module: `{name:.80}` in line {line}",
                hint="a module name is identifiers with dots between them, such as Std.Data.HashMap",
            )
        imports.append(tokens[at].text)
        end = tokens[at].end
        at += 1
    blank = re.sub(r"[^\n]", " ", source[:end])
    return Source(tuple(imports), blank + source[end:])


def is_module_name(text: str) -> bool:
    """Whether a text is identifiers with dots between them, which may stand in «»."""
    return _MODULE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Declaration:
    """A theorem as it is written: its full name, and where its command's keyword stands."""

    name: str
    at: int


def declarations(source: str, private: bool = False) -> list[Declaration]:
    """The theorems of a text, by its tokens alone: Lean may not have seen it, or not understood it.

    Private ones only when asked for: nobody else can use them.
    """
    found: list[Declaration] = []
    scopes: list[str] = []
    edge = Token("symbol", "", len(source), len(source))
    tokens = [edge, *tokenize(source), edge]
    for before, word, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        name = source[after.start : after.end] if after.kind == "identifier" else ""
        if word.text in ("theorem", "lemma") and name and (private or before.text != "private"):
            root = name.startswith("_root_.")
            prefix = "" if root else "".join(f"{scope}." for scope in scopes if scope)
            found.append(Declaration(prefix + name.removeprefix("_root_."), word.start))
        elif word.text in ("namespace", "section", "mutual"):
            scopes += [part if word.text == "namespace" else "" for part in scope_names(name)]
        elif word.text == "end":
            del scopes[-len(scope_names(name)) :]
    return found


def scope_names(name: str) -> list[str]:
    """`namespace A.B` opens two scopes, which `end A.B` closes, or `end B` and `end A`."""
    return re.findall(r"«[^»]*»|[^.«»]+", name) or [""]


def header(statement: Statement) -> str:
    """Everything up to the place where `:= proof` belongs."""
    if isinstance(statement, Proposition):
        levels = f".{{{', '.join(statement.levels)}}}" if statement.levels else ""
        return f"theorem {GOAL_NAME}{levels} : {statement.text.strip()}"
    if isinstance(statement, LibraryConstant):
        return f"theorem {GOAL_NAME} : type_of% @{statement.name}"
    if isinstance(statement, FileHole):
        raise StatementError("a hole has no text of its own", hint="fill its file, and judge that")
    if isinstance(statement, Negation):
        raise StatementError("a negation has no text of its own", hint="certify its finished state")
    if isinstance(statement, Unreadable):
        raise StatementError(statement.why)
    return strip_proof(statement)


def strip_proof(statement: TheoremText) -> str:
    """A theorem's text without the `:= sorry` that may follow it.

    A finished proof behind it is refused rather than dropped: it is not clear what is asked.
    """
    text = statement.source.rstrip()
    code_end = max((t.end for t in tokenize(text)), default=0)
    text = text[:code_end]  # without trailing comments
    found = UNFINISHED.search(text)
    text = text[: found.start()] if found else text
    tokens = tokenize(text)
    start = _last_theorem(tokens)
    if start is None:
        raise StatementError(
            "no `theorem` in the statement", hint="write `theorem NAME BINDERS : TYPE`"
        )
    if not found and _proof_mark(tokens[start:]) is not None:
        raise StatementError(
            "the theorem already has a proof", hint="leave `:= by sorry` to have it proved"
        )
    return text


def _last_theorem(tokens: Sequence[Token]) -> int | None:
    marks = [i for i, t in enumerate(tokens) if t.text in ("theorem", "lemma")]
    return marks[-1] if marks else None


@dataclass(frozen=True, slots=True)
class Proved:
    """A theorem with its proof, in parts; `:=` stands between the statement and the proof."""

    name: str
    context: str
    statement: str
    proof: str


def split_proof(source: str) -> Proved:
    """A text that ends with a theorem and its proof, taken apart."""
    # Most proofs are much longer than their theorem, and need not be looked at.
    words = list(_THEOREM.finditer(source))
    if len(words) == 1:
        for mark in islice(_MARK.finditer(source, words[0].end()), _TRIED):
            with suppress(StatementError):
                return _split(source, source[: mark.end()])
    return _split(source, source)


def _split(source: str, until: str) -> Proved:
    """`until` is how much of the text is looked at to find the theorem and its `:=`."""
    found = declarations(until)
    if not found:
        raise StatementError("it has no theorem")
    name, at = found[-1].name, found[-1].at
    mark = _proof_mark([token for token in tokenize(until) if token.start >= at])
    if mark is None:
        raise StatementError(f"the proof of {name} does not begin with `:=`")
    proof = source[mark + len(":=") :].strip()
    return Proved(name, source[:at].strip(), source[at:mark].strip(), proof)


def _proof_mark(tokens: Sequence[Token]) -> int | None:
    """Where a `:=` stands outside brackets, and not as part of a `let` or `have` in the type."""
    depth = lets = 0
    for token in tokens:
        if token.text in CLOSERS:
            depth += 1
        elif token.text in CLOSERS.values():
            depth -= 1
        elif depth == 0 and token.text in LOCAL:
            lets += 1
        elif depth == 0 and token.text == ":=":
            if lets == 0:
                return token.start
            lets -= 1
    return None


def _opening(statement: Statement) -> str:
    """The header and `:= by`, on a line of its own where a comment would swallow it."""
    text = header(statement)
    return f"{text}\n  := by" if "--" in text.rsplit("\n", 1)[-1] else f"{text} := by"


def with_sorry(statement: Statement) -> str:
    """The statement as a theorem that is left open."""
    return f"{_opening(statement)} sorry\n"


def with_proof(statement: Statement, tactics: Sequence[str]) -> str:
    """The whole theorem. Each tactic keeps its own indentation below the block's."""
    steps = (textwrap.indent(textwrap.dedent(t).strip("\n"), "  ") for t in tactics)
    return f"{_opening(statement)}\n" + "\n".join(steps) + "\n"
