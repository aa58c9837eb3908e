"""Lean source of a theorem and its proof: the text that is judged, stored and shown."""

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
# Inside a type, each of these has its own `:=`.
LOCAL = frozenset({"let", "have", "letI", "haveI"})
_THEOREM, _MARK = re.compile(r"\b(theorem|lemma)\b"), re.compile(":=")
# With hyphens, which some packages have («doc-gen4»). No file's name has other special characters.
_PART = r"[^\W\d][\w'!?-]*"
_MODULE = re.compile(rf"(?:(?:{_PART}|«{_PART}»)(?:\.(?!\Z)|\Z))+")
_TRIED = 8  # tries to find the `:=` before the proof among those of the type
UNFINISHED = re.compile(r"\s*(:=\s*(by\s+)?sorry|:=\s*by|:=|by\s+sorry)\s*\Z")


@dataclass(frozen=True, slots=True)
class Source:
    """A Lean file, split into the modules that it imports and the rest.

    One `of_modules` begins with `module`: it takes part in Lean's module system, where `flags` say how
    each import is written, with the first letters of `public`, `meta` and `all`.
    """

    imports: tuple[str, ...]
    body: str
    of_modules: bool = False
    flags: tuple[str, ...] = ()


def split_header(source: str) -> Source:
    """Separate the `import` lines; the body keeps its line numbers."""
    tokens = tokenize(source)
    imports: list[str] = []
    flags: list[str] = []
    at = 0
    end = 0
    of_modules = False
    while at < len(tokens) and tokens[at].text in ("module", "prelude"):
        of_modules |= tokens[at].text == "module"
        end, at = tokens[at].end, at + 1
    while at < len(tokens):
        start = at
        while at < len(tokens) and tokens[at].text in ("public", "meta"):
            at += 1
        said = "".join(token.text[0] for token in tokens[start:at])
        if at >= len(tokens) or tokens[at].text != "import":
            at = start
            break
        at += 1
        if at < len(tokens) and tokens[at].text == "all":
            at, said = at + 1, f"{said}a"
        name = source[tokens[at].start : tokens[at].end] if at < len(tokens) else ""
        if not is_module_name(name):
            line = source.count("\n", 0, tokens[at - 1].start) + 1
            raise StatementError(
                f"`import {name:.80}` in line {line} does not name a module",
                hint="a module name is identifiers with dots between them, such as Std.Data.HashMap",
            )
        imports.append(tokens[at].text)
        flags.append(said)
        end = tokens[at].end
        at += 1
    blank = re.sub(r"[^\n]", " ", source[:end])
    return Source(tuple(imports), blank + source[end:], of_modules, tuple(flags))


def is_module_name(text: str) -> bool:
    """Whether a text is identifiers with dots between them, which may be in «»."""
    return _MODULE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Declaration:
    """A theorem as written: its full name, and the position of its keyword."""

    name: str
    at: int


def declarations(source: str, private: bool = False) -> list[Declaration]:
    """The theorems of a text, by tokens alone: Lean may not have seen or understood it.

    Private theorems are only included on request, because nobody else can use them.
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
    """Follow scopes: `namespace A.B` opens two, closed by `end A.B`, or by `end B` and `end A`."""
    return re.findall(r"«[^»]*»|[^.«»]+", name) or [""]


def header(statement: Statement, levels: Sequence[str] = ()) -> str:
    """Everything before `:= proof`; `levels` are those of a library constant."""
    if isinstance(statement, Proposition):
        levels = f".{{{', '.join(statement.levels)}}}" if statement.levels else ""
        return f"theorem {GOAL_NAME}{levels} : {statement.text.strip()}"
    if isinstance(statement, LibraryConstant):
        universes = f".{{{', '.join(levels)}}}" if levels else ""
        return f"theorem {GOAL_NAME}{universes} : type_of% @{statement.name}{universes}"
    if isinstance(statement, FileHole):
        raise StatementError("a hole has no text of its own", hint="fill its file, and judge that")
    if isinstance(statement, Negation):
        raise StatementError("a negation has no text of its own", hint="certify its finished state")
    if isinstance(statement, Unreadable):
        raise StatementError(statement.why)
    return strip_proof(statement)


def strip_proof(statement: TheoremText) -> str:
    """A theorem's text without a `:= sorry` at its end.

    A finished proof is refused and not dropped, because the request would be unclear.
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
            "the theorem already has a proof", hint="write `:= by sorry` to have it proved"
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
    """Split a text that ends with a theorem and its proof."""
    # Most proofs are much longer than their theorems, and need not be scanned.
    words = list(_THEOREM.finditer(source))
    if len(words) == 1:
        for mark in islice(_MARK.finditer(source, words[0].end()), _TRIED):
            with suppress(StatementError):
                return _split(source, source[: mark.end()])
    return _split(source, source)


def _split(source: str, until: str) -> Proved:
    """Only the text before `until` is scanned for the theorem and its `:=`."""
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
    """The positions of `:=` outside of brackets, except those of a `let` or `have` in the type."""
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


def _opening(statement: Statement, levels: Sequence[str]) -> str:
    """The header and `:= by`, on a new line if a comment would swallow it."""
    text = header(statement, levels)
    return f"{text}\n  := by" if "--" in text.rsplit("\n", 1)[-1] else f"{text} := by"


def with_sorry(statement: Statement, levels: Sequence[str] = ()) -> str:
    """The statement as a theorem that ends in `sorry`."""
    return f"{_opening(statement, levels)} sorry\n"


def with_proof(statement: Statement, tactics: Sequence[str], levels: Sequence[str] = ()) -> str:
    """The whole theorem. Each tactic keeps its own indentation below the block's."""
    steps = (textwrap.indent(textwrap.dedent(t).strip("\n"), "  ") for t in tactics)
    return f"{_opening(statement, levels)}\n" + "\n".join(steps) + "\n"
