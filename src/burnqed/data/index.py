"""Theorem indexes: the JSON files that say what is to be proved.

    {"theorems": [{"name": …, "statement": …, "file_path": …}, …]}

A statement is a proposition, or a whole `theorem … : …` (with `"context"`, what stands before it in
its file). `"constant"` instead makes it a theorem of the running Lean's library, whose statement is
only for reading. Keys that nobody here knows are kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from burnqed.core.errors import InputError
from burnqed.core.runs import publish
from burnqed.core.types import (
    LeakRule,
    LibraryConstant,
    Proposition,
    Statement,
    Theorem,
    TheoremText,
)

_THEOREM = re.compile(
    r"^\s*(?:@\[[^\]]*\]\s*)?(?:(?:private|protected|noncomputable)\s+)*(?:theorem|lemma)\s", re.M
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A theorem of an index, with the JSON object it came from."""

    theorem: Theorem
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TheoremIndex:
    """The theorems in the order of the file; `sha256` is that of the file's content."""

    name: str
    entries: tuple[Entry, ...]
    sha256: str

    @property
    def theorems(self) -> list[Theorem]:
        return [entry.theorem for entry in self.entries]


def read_index(path: Path, leak_rule: LeakRule | None = None) -> TheoremIndex:
    """Read and check an index. `leak_rule` replaces the rule of every library theorem in it."""
    try:
        raw = path.read_bytes()
        content = json.loads(raw)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    listed = content.get("theorems") if isinstance(content, dict) else content
    if not isinstance(listed, list):
        raise InputError(
            f"{path} has no list of theorems",
            hint='an index is {"theorems": [{"name": …, "statement": …}, …]}',
        )
    entries = tuple(_entry(path, i, fields, leak_rule) for i, fields in enumerate(listed))
    _refuse_duplicates(path, entries)
    name = content.get("name") if isinstance(content, dict) else None
    return TheoremIndex(str(name or path.stem), entries, hashlib.sha256(raw).hexdigest())


def write_index(path: Path, name: str, entries: Sequence[dict[str, Any]]) -> None:
    publish(path, json.dumps({"name": name, "theorems": entries}, ensure_ascii=False, indent=1) + "\n")


def statement_sha(statement: Statement) -> str:
    """Tells two statements apart that go by the same name."""
    return hashlib.sha256(repr(statement).encode()).hexdigest()[:16]


def _entry(path: Path, index: int, fields: Any, leak_rule: LeakRule | None) -> Entry:
    def wrong(what: str) -> InputError:
        return InputError(f"{path}: theorem {index + 1} {what}")

    if not isinstance(fields, dict):
        raise wrong("is not a JSON object")
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        raise wrong("has no name")
    if not _is_unicode(fields):
        raise wrong("is not valid Unicode text")
    constant = fields.get("constant")
    if constant is not None:
        rule = leak_rule or fields.get("leak_rule", "module")
        if not isinstance(constant, str) or not constant or rule not in get_args(LeakRule):
            raise wrong(f"({name}) has a bad `constant` or `leak_rule`")
        return Entry(Theorem(name, LibraryConstant(constant, rule)), fields)
    text = fields.get("statement")
    if not isinstance(text, str) or not text.strip():
        raise wrong(f"({name}) has no statement")
    context = fields.get("context") or ""
    if not isinstance(context, str):
        raise wrong(f"({name}) has a context that is no text")
    if context or _THEOREM.search(text):
        return Entry(Theorem(name, TheoremText(f"{context}\n{text}".strip("\n"))), fields)
    levels = fields.get("levels") or []
    if not isinstance(levels, list) or not all(isinstance(level, str) for level in levels):
        raise wrong(f"({name}) has bad `levels`: a list of names is wanted")
    return Entry(Theorem(name, Proposition(text, tuple(levels))), fields)


def _is_unicode(fields: dict[str, Any]) -> bool:
    """JSON can say half a surrogate pair, which nothing after it could write."""
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_duplicates(path: Path, entries: Sequence[Entry]) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.theorem.name in seen:
            raise InputError(
                f"{path}: the name {entry.theorem.name} comes twice",
                hint="every result is filed under its theorem's name; names must differ",
            )
        seen.add(entry.theorem.name)
