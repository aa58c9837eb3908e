"""Lean files as an index: every theorem in them, to be proved where it stands.

The context of a theorem is all of its file before it, so earlier theorems may be used and later ones
are not there. The text of a file is kept once, in `files`, and each theorem says how much of it is its
context. What cannot be read or does not elaborate is an entry too, with an `error` in place of a
statement: it belongs to the set. A theorem of which only the proof fails is to be proved like the
others, and `proof_error` says what Lean said.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError, LeanError, StatementError
from burnqed.core.types import Theorem, TheoremText
from burnqed.data.lean_sources import loaded_modules, read_text, relative, sources
from burnqed.data.overshadowed import overshadowed
from burnqed.lean.outline import Outline, OutlinedTheorem, outline
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.lean.statement import Declaration, declarations, split_header
from burnqed.lean.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Indexed:
    """An index in the making.

    `problems` has a line for each error, also of commands that are no theorems; `left_out` for each
    theorem that is fine and yet not in the set: the judge takes none that is private or `mutual`.
    """

    entries: tuple[dict[str, Any], ...]
    files: dict[str, str]
    problems: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


async def file_entries(pool: Pool, paths: Sequence[Path], root: Path) -> Indexed:
    """The theorems of Lean files, in order; a folder stands for those below it.

    Paths are told from `root`. Two theorems of one name are told apart by the file of the second.
    """
    found = list(sources(paths))
    loaded = await loaded_modules(pool) if found else frozenset()
    parts = await asyncio.gather(
        *(_file(pool, path, relative(path, root), loaded, trouble) for path, trouble in found)
    )
    taken: set[str] = set()
    entries: list[dict[str, Any]] = []
    for entry in chain.from_iterable(part.entries for part in parts):
        name = _unique(entry["name"], entry["file_path"], taken)
        taken.add(name)
        entries.append({**entry, "name": name})
    return Indexed(
        tuple(entries),
        {path: text for part in parts for path, text in part.files.items()},
        tuple(line for part in parts for line in part.problems),
        tuple(line for part in parts for line in part.left_out),
    )


def imports_of(paths: Sequence[Path]) -> list[str]:
    """What these files import. One that cannot be read says nothing: `file_entries` tells of it."""
    imports: dict[str, None] = {}
    for path, trouble in sources(paths):
        with suppress(InputError):
            imports.update(dict.fromkeys(() if trouble else split_header(read_text(path)).imports))
    return list(imports)


async def _file(pool: Pool, path: Path, name: str, loaded: frozenset[str], trouble: str) -> Indexed:
    try:
        if trouble:
            raise InputError(trouble)
        source = split_header(read_text(path))
        if not tokenize(source.body):  # it imports others, and says no more
            return Indexed((), {})
        absent = [module for module in source.imports if module not in loaded]
        if absent:
            raise InputError(f"it imports {absent[0]}, which is not loaded")
        found = await outline(pool, source.body)
    except InputError as error:
        return Indexed((_bad_entry(name, name, error.message),), {}, (f"{name}: {error.message}",))
    except LeanError as error:
        error.message = f"while {name} was read: {error.message}"
        raise
    body = source.body
    for bad in found.bad:
        body = body[: bad.start] + re.sub(r"[^\n]", " ", body[bad.start : bad.end]) + body[bad.end :]
    # In order of position: those that Lean named, and those that it could not even parse.
    placed = [(at, _bad_entry(lost, name, why)) for at, lost, why in _lost(found, source.body)]
    for theorem in filter(_in, found.theorems):
        entry = _entry(theorem, source.body, name, source.imports)
        why = overshadowed(theorem.start, entry["statement"], found.bad, source.body)
        if theorem.error and not why:
            whole = _is_whole(theorem, source.body)
            fine = whole and await _starts(pool, entry, body[: theorem.start])
            why = "" if fine else theorem.error
        placed.append((theorem.start, _bad_entry(theorem.name, name, why) if why else entry))
    return Indexed(
        tuple(entry for _, entry in sorted(placed, key=lambda item: item[0])),
        {name: body} if any("context" in entry for _, entry in placed) else {},
        tuple(f"{name}: {text}" for text in _told(found)),
        tuple(f"{name}: {text}" for text in _left_out(found, source.body)),
    )


def _in(theorem: OutlinedTheorem) -> bool:
    return not theorem.private and not theorem.mutual


def _kind(theorem: OutlinedTheorem) -> str:
    return "private" if theorem.private else "in a `mutual` block"


def _told(found: Outline) -> list[str]:
    """What Lean says against commands, and what else is against a theorem."""
    wrong = [t for t in found.theorems if t.error and _in(t)]
    alone = [t for t in wrong if not any(bad.start <= t.start < bad.end for bad in found.bad)]
    told = [(bad.start, bad.error) for bad in found.bad]
    return [text for _, text in sorted([*told, *((t.start, f"{t.name}: {t.error}") for t in alone)])]


def _entry(theorem: OutlinedTheorem, body: str, path: str, imports: tuple[str, ...]) -> dict[str, Any]:
    entry = {
        "name": theorem.name,
        "statement": _statement(theorem, body),
        "file_path": path,
        "context": {"file": path, "length": theorem.start},
        "imports": list(imports),
    }
    if theorem.error:
        return {**entry, "proof_error": theorem.error}
    return {**entry, "difficulty": theorem.size, "has_sorry": theorem.sorry}


def _is_whole(theorem: OutlinedTheorem, body: str) -> bool:
    """Whether its type was parsed to the end: a proof follows, and not the rest of a broken type."""
    rest = tokenize(body[theorem.signature_end : theorem.end])
    return bool(rest) and rest[0].text in (":=", "|", "where")


async def _starts(pool: Pool, entry: dict[str, Any], context: str) -> bool:
    """Whether a theorem's statement is fine though its command is not: it is its proof that fails."""
    text = TheoremText(f"{context}\n{entry['statement']}")
    try:
        async with open_session(pool) as session:
            await session.start(Theorem(entry["name"], text))
    except StatementError:
        return False
    return True


def _bad_entry(name: str, path: str, why: str) -> dict[str, Any]:
    return {"name": name, "statement": "", "file_path": path, "error": why}


def _statement(theorem: OutlinedTheorem, body: str) -> str:
    """The theorem up to the end of its type, without doc comment and attributes.

    Those say nothing about what is to be proved, and some of them make theorems of their own.
    """
    cut_start, cut_end = theorem.cut
    before = body[theorem.start : cut_start].rstrip()
    bare = body[cut_end : theorem.signature_end].lstrip()
    return f"{before}\n{bare}" if before else bare


def _lost(found: Outline, body: str) -> Iterator[tuple[int, str, str]]:
    """Theorems, by their words alone, in what Lean could not parse."""
    for declaration in _unnamed(found, body):
        why = [bad.error for bad in found.bad if bad.start <= declaration.at < bad.end]
        if why:
            yield declaration.at, declaration.name, why[0]


def _unnamed(found: Outline, body: str) -> Iterator[Declaration]:
    """Theorems, by their words alone, that Lean does not tell of."""
    for declaration in declarations(body):
        if not any(t.start <= declaration.at < max(t.end, t.start + 1) for t in found.theorems):
            yield declaration


def _left_out(found: Outline, body: str) -> Iterator[str]:
    """Theorems that the set does not have, and why: nothing is dropped without a word."""
    lost = {name for _, name, _ in _lost(found, body)}
    yield from (f"{t.name} is {_kind(t)}" for t in found.theorems if not _in(t))
    for declaration in _unnamed(found, body):
        if declaration.name not in lost:
            yield f"{declaration.name}: Lean names no theorem where it stands"


def _unique(name: str, path: str, taken: set[str]) -> str:
    longer = f"{name} ({path})"
    names = chain((name, longer), (f"{longer} {number}" for number in count(2)))
    return next(candidate for candidate in names if candidate not in taken)
