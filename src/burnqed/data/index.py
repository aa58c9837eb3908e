"""Theorem indexes: the JSON files that say what is to be proved.

    {"theorems": [{"name": …, "statement": …, "file_path": …}, …]}

A statement is a proposition, or a whole `theorem … : …` with `"context"`, what stands before it in its
file: a text, or `{"file": F, "length": N}` for the first N characters of the index's own `"files"[F]`,
so that an index of a long file does not hold it once for each theorem. `"constant"` makes it a theorem
of the running Lean's library instead, whose statement is only for reading. `"error"` is a theorem that
could not be read: it stays in the list, so that it is counted. Keys that nobody here knows are kept.

Beside `"theorems"` there may be `"name"`, `"revision"` and `"imports"`, the modules that they need.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from burnqed.core.errors import InputError
from burnqed.core.files import publish
from burnqed.core.types import (
    LeakRule,
    LibraryConstant,
    Proposition,
    Statement,
    Theorem,
    TheoremText,
    Unreadable,
)
from burnqed.data.splits import split_of
from burnqed.lean.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Entry:
    """A theorem of an index, with the JSON object it came from."""

    theorem: Theorem
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TheoremIndex:
    """The theorems in the order of the file."""

    name: str
    entries: tuple[Entry, ...]
    imports: tuple[str, ...] = ()
    revision: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # that contexts are the beginning of

    @property
    def theorems(self) -> list[Theorem]:
        return [entry.theorem for entry in self.entries]

    @property
    def checksum(self) -> str:
        """Of what is to be proved: the names with their statements and leak rules.

        Not of the file: the order and the keys for reading make no other set of it.
        """
        lines = sorted(f"{t.name}\0{statement_sha(t.statement)}" for t in self.theorems)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def leak_rules(self) -> tuple[LeakRule, ...]:
        """The rules that its library theorems are proved under."""
        rules = {
            t.statement.leak_rule for t in self.theorems if isinstance(t.statement, LibraryConstant)
        }
        return tuple(sorted(rules))

    def part(self, split: str) -> TheoremIndex:
        """The theorems of one split: the one that an entry names, or that its name falls into."""
        chosen = tuple(
            entry
            for entry in self.entries
            if (entry.fields.get("split") or split_of(entry.theorem.name)) == split
        )
        if not chosen:
            raise InputError(f"no theorem of {self.name} is in the split {split}")
        return replace(self, name=f"{self.name}/{split}", entries=chosen)


def read_index(path: Path, leak_rule: LeakRule | None = None) -> TheoremIndex:
    """Read and check an index. `leak_rule` replaces the rule of every library theorem in it."""
    return parse_index(str(path), path.stem, read_json(path), leak_rule)


def read_json(path: Path) -> Any:
    """What a JSON file holds, or an error that names the file."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error


def parse_index(where: str, name: str, content: Any, leak_rule: LeakRule | None = None) -> TheoremIndex:
    """An index from its JSON. `where` is what errors call it, `name` its name if it says none."""
    whole = content if isinstance(content, dict) else {"theorems": content}
    listed, imports = whole.get("theorems"), whole.get("imports") or []
    if not isinstance(listed, list):
        raise InputError(
            f"{where} has no list of theorems",
            hint='an index is {"theorems": [{"name": …, "statement": …}, …]}',
        )
    if not isinstance(imports, list) or not all(isinstance(module, str) for module in imports):
        raise InputError(f"{where}: `imports` is not a list of modules")
    if not _is_unicode({key: value for key, value in whole.items() if key != "theorems"}):
        raise InputError(f"{where} is not valid Unicode text")
    files = whole.get("files") or {}
    entries = tuple(_entry(where, i, fields, files, leak_rule) for i, fields in enumerate(listed))
    _refuse_duplicates(where, entries)
    revision = str(whole.get("revision") or "")
    return TheoremIndex(str(whole.get("name") or name), entries, tuple(imports), revision, files)


def write_index(
    path: Path, name: str, entries: Sequence[dict[str, Any]], more: Mapping[str, Any] | None = None
) -> None:
    """`more` are the keys beside the theorems: `files`, `imports`, `revision`.

    What could not be read again is not written.
    """
    content = {"name": name, **(more or {}), "theorems": list(entries)}
    parse_index(str(path), name, content)
    publish(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def statement_sha(statement: Statement) -> str:
    """Tells two statements apart that go by the same name."""
    said = json.dumps([type(statement).__name__, *astuple(statement)], ensure_ascii=False)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _entry(where: str, index: int, fields: Any, files: Any, leak_rule: LeakRule | None) -> Entry:
    def wrong(what: str) -> InputError:
        return InputError(f"{where}: theorem {index + 1} {what}")

    if not isinstance(fields, dict):
        raise wrong("is not a JSON object")
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        raise wrong("has no name")
    if not _is_unicode(fields):
        raise wrong("is not valid Unicode text")
    if fields.get("error") is not None:
        return Entry(Theorem(name, Unreadable(str(fields["error"]))), fields)
    constant = fields.get("constant")
    if constant is not None:
        rule = leak_rule or fields.get("leak_rule", "module")
        if not isinstance(constant, str) or not constant or rule not in get_args(LeakRule):
            raise wrong(f"({name}) has a bad `constant` or `leak_rule`")
        return Entry(Theorem(name, LibraryConstant(constant, rule)), fields)
    text = fields.get("statement")
    if not isinstance(text, str) or not text.strip():
        raise wrong(f"({name}) has no statement")
    context = _context(fields.get("context") or "", files)
    if context is None:
        raise wrong(f"({name}) has a context that is no text, nor the beginning of one of the `files`")
    if context.strip() or _is_theorem(text):
        return Entry(Theorem(name, TheoremText(f"{context}\n{text}".strip("\n"))), fields)
    levels = fields.get("levels") or []
    if not isinstance(levels, list) or not all(isinstance(level, str) for level in levels):
        raise wrong(f"({name}) has bad `levels`: a list of names is wanted")
    return Entry(Theorem(name, Proposition(text, tuple(levels))), fields)


def _is_theorem(text: str) -> bool:
    """Whether it is a whole `theorem NAME …`, whatever stands before it, and not only a proposition."""
    tokens = tokenize(text)
    return any(
        word.text in ("theorem", "lemma") and after.kind == "identifier"
        for word, after in pairwise(tokens)
    )


def _context(given: Any, files: Any) -> str | None:
    """The text before a theorem; None where it is said in a way that makes no sense."""
    match given, files:
        case str(), _:
            return given
        case {"file": str(file), "length": int(length)}, dict() if length >= 0:
            text = files.get(file)
            return text[:length] if isinstance(text, str) and length <= len(text) else None
        case _:
            return None


def _is_unicode(fields: dict[str, Any]) -> bool:
    """JSON can say half a surrogate pair, which nothing after it could write."""
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_duplicates(where: str, entries: Sequence[Entry]) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.theorem.name in seen:
            raise InputError(
                f"{where}: the name {entry.theorem.name} comes twice",
                hint="every result is filed under its theorem's name; names must differ",
            )
        seen.add(entry.theorem.name)
