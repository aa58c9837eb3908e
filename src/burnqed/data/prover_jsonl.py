"""JSON lines as most provers' benchmarks come: a `header`, and a `formal_statement` without a proof.

    {"name": …, "split": "test", "header": "import Mathlib\\nopen Real\\n",
     "formal_statement": "theorem … : … := by"}

The header's imports are the modules to load, the rest of it the theorem's context. Some files have no
header, and its text before each theorem. In some, such as ProofNet, theorems of different books have
the same name: the second `exercise_1_4` of a file is `exercise_1_4#2` here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError, StatementError
from burnqed.lean.statement import Source, split_header


@dataclass(frozen=True, slots=True)
class Lines:
    """Entries, and the modules that their headers import."""

    entries: list[dict[str, Any]]
    imports: list[str]


def read_prover_jsonl(path: Path) -> Lines:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    return parse_prover_jsonl(str(path), text.split("\n"))


def parse_prover_jsonl(where: str, lines: Sequence[str]) -> Lines:
    """The entries of these lines. `where` is what errors call them."""
    entries: list[dict[str, Any]] = []
    imports: dict[str, None] = {}
    taken: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if line.strip():
            entry, modules = _entry(f"{where}:{number}", line)
            entry["name"] = _unique(entry["name"], taken)
            taken.add(entry["name"])
            entries.append(entry)
            imports.update(dict.fromkeys(modules))
    if not entries:
        raise InputError(f"{where} has no theorems")
    return Lines(entries, list(imports))


def _unique(name: str, taken: set[str]) -> str:
    """Some benchmarks have two theorems of one name, which results could not tell apart."""
    if name not in taken:
        return name
    return next(longer for k in count(2) if (longer := f"{name}#{k}") not in taken)


def _entry(where: str, line: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    try:
        told = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    match told:
        case {"name": str(name), "formal_statement": str(statement)} if name and statement.strip():
            pass
        case _:
            raise InputError(
                f"{where} has no `name` and `formal_statement`",
                hint='a line is {"name": …, "header": …, "formal_statement": "theorem … := by"}',
            )
    header, body = _source(where, told.get("header") or ""), _source(where, statement)
    entry = {
        "name": name,
        "statement": body.body.strip() if body.imports else statement,
        "context": header.body.strip(),
        "file_path": where,
    }
    if isinstance(told.get("split"), str):
        entry["split"] = told["split"]
    return entry, (*header.imports, *body.imports)


def _source(where: str, text: Any) -> Source:
    if not isinstance(text, str):
        raise InputError(f"{where} has a `header` that is no text")
    try:
        return split_header(text)
    except StatementError as error:
        raise InputError(f"{where}: {error.message}") from error
