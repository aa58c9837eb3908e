"""What a source of data states, as theorems to prove: entries of an index, each shown to Lean.

A trace says what its theorems state, in their files. Published statements, and whole proofs, are texts
with what stands before them. Steps say it by their first state, as far as it can be read back. What
does not elaborate on this Lean is an entry with an `error`: it belongs to the set, and is counted.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError, LeanError, StatementError
from burnqed.core.tasks import until_stopped
from burnqed.core.types import LibraryConstant, Theorem
from burnqed.data.first_state import NoStatement, statement_of
from burnqed.data.index import parse_index
from burnqed.data.replay import STRICT
from burnqed.data.sources import written
from burnqed.data.sources.declared import Stated
from burnqed.data.sources.open import Opened
from burnqed.data.sources.places import Places
from burnqed.data.sources.rows import BadRows, Notes
from burnqed.data.steps import Step
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.lean.statement import split_header

Entry = dict[str, Any]
_AGAIN = "a second row of the same theorem"


@dataclass(frozen=True, slots=True)
class StatedSet:
    """Entries, the modules and the texts that they need, and how many rows were left out, by why."""

    entries: tuple[Entry, ...]
    imports: tuple[str, ...]
    files: dict[str, str]
    left_out: dict[str, int]


def read_stated(source: Opened, warn: Callable[[str], None]) -> StatedSet:
    """What a source states, before Lean has seen it."""
    if source.index is not None:
        raise InputError(f"{source.given} is an index of theorems already", hint="--theorems takes it")
    if source.info is written.TRACE:
        return _of_trace(source, warn)
    bad = BadRows()
    notes = Notes(warn, bad.add)
    if "statements" in source.info.gives or "proofs" in source.info.gives:
        found = _of_texts(_texts(source, notes))
    else:
        found = _of_steps(source.steps(notes))
    bad.tell(warn)
    if not found.entries:
        raise InputError(f"{source.given} states nothing")
    return found


def of_pool(
    pool: Iterable[Step], inputs: Mapping[str, Opened], warn: Callable[[str], None]
) -> StatedSet:
    """What the proofs of a pool prove. `inputs` are what its rows come from, by their sources."""
    wanted: dict[str, set[str]] = {}
    for step in pool:
        wanted.setdefault(step.source, set()).add(step.theorem)
    entries: dict[str, Entry] = {}
    imports: dict[str, None] = {}
    files: dict[str, str] = {}
    again = 0
    for name, theorems in wanted.items():
        found = read_stated(inputs[name], warn)
        imports |= dict.fromkeys(found.imports)
        called = _called(name, found.files)
        for entry in found.entries:
            if entry["name"] not in theorems:
                continue
            again += entry["name"] in entries
            if isinstance(context := entry.get("context"), dict):
                file = called[context["file"]]
                files[file] = found.files[context["file"]]
                entry = entry | {"context": {**context, "file": file}, "file_path": file}
            entries.setdefault(entry["name"], {**entry, "source": name})
    left_out = {"of a name that another source has": again} if again else {}
    return StatedSet(tuple(entries.values()), tuple(imports), files, left_out)


def _called(source: str, files: Mapping[str, str]) -> dict[str, str]:
    """What the files of a source are called, wherever they lie."""
    root = Path(os.path.commonpath([Path(file).parent for file in files])) if files else Path()
    return {file: f"{source}/{Path(file).relative_to(root).as_posix()}" for file in files}


def _texts(source: Opened, notes: Notes) -> Iterator[Stated]:
    if "statements" in source.info.gives:
        yield from source.statements(notes)
        return
    for proof in source.proofs(notes):
        yield Stated(proof.source, proof.theorem, proof.statement, proof.context)


def _of_texts(stated: Iterable[Stated]) -> StatedSet:
    places = Places()
    entries: dict[str, Entry] = {}
    imports: dict[str, None] = {}
    again = 0
    for one in stated:
        name = places.name((one.theorem, one.context, one.statement), one.theorem)
        again += name in entries
        try:
            header = split_header(one.context)
        except StatementError as error:
            entries[name] = _wrong({"name": name, "statement": one.statement}, error.message)
            continue
        imports |= dict.fromkeys(header.imports)
        entries[name] = {
            "name": name, "statement": one.statement, "context": header.body.strip(),
            "imports": list(header.imports), "source": one.source,
        }  # fmt: skip
    return StatedSet(tuple(entries.values()), tuple(imports), {}, {_AGAIN: again} if again else {})


def _of_steps(steps: Iterable[Step]) -> StatedSet:
    entries: dict[str, Entry] = {}
    again = 0
    for step in steps:
        if step.depth:
            continue
        if step.theorem in entries:
            again += 1
            continue
        entry: Entry = {"name": step.theorem, "statement": step.state, "source": step.source}
        try:
            said = statement_of(step.state)
        except NoStatement as error:
            entries[step.theorem] = _wrong(entry, str(error))
        else:
            entries[step.theorem] = entry | {"statement": said.text, "levels": list(said.levels)}
    return StatedSet(tuple(entries.values()), (), {}, {_AGAIN: again} if again else {})


def _of_trace(source: Opened, warn: Callable[[str], None]) -> StatedSet:
    """The theorems whose steps were recorded, by the names of their rows."""
    from burnqed.data.trace_store import read_files

    places = Places()
    entries: list[Entry] = []
    files: dict[str, str] = {}
    imports: dict[str, None] = {}
    for file in read_files(source.parts[0].path.parent.parent, warn):
        imports |= dict.fromkeys(file.imports)
        for theorem in file.theorems:
            if theorem.outcome != "steps":
                continue
            entry: Entry = {
                "name": places.name((file.path, theorem.name), theorem.name),
                "statement": theorem.statement, "file_path": file.path, "difficulty": theorem.steps,
            }  # fmt: skip
            match file.theorem(theorem).statement:
                case LibraryConstant(name, leak_rule):
                    entries.append(entry | {"constant": name, "leak_rule": leak_rule})
                case _:
                    files[file.path] = file.text
                    entries.append(entry | {"context": {"file": file.path, "length": theorem.at}})
    if not entries:
        raise InputError(f"{source.given} has no recorded theorem")
    return StatedSet(tuple(entries), tuple(imports), files, {})


async def checked(
    pool: Pool,
    found: StatedSet,
    loaded: Sequence[str],
    on_theorem: Callable[[], None] = lambda: None,
) -> StatedSet:
    """The same with an error in place of each statement that does not elaborate.

    Those of a trace have been elaborated: they are as they are. Names that nobody declares are errors,
    and not variables: it would be another statement.
    """
    done: dict[int, Entry] = {}
    todo = iter(enumerate(found.entries))

    async def work() -> None:
        for place, entry in todo:
            why = entry.get("error") or await _against(pool, entry, found, loaded)
            done[place] = _wrong(entry, why) if why else entry
            on_theorem()

    await until_stopped([work() for _ in range(pool.size)], asyncio.Event())
    entries = tuple(done[place] for place in range(len(found.entries)))
    return StatedSet(entries, found.imports, found.files, found.left_out)


async def _against(pool: Pool, entry: Entry, found: StatedSet, loaded: Sequence[str]) -> str:
    if "constant" in entry or isinstance(entry.get("context"), dict):
        return ""
    absent = [module for module in entry.get("imports", ()) if module not in loaded]
    if absent:
        return f"it imports {absent[0]}, which is not loaded"
    if isinstance(context := entry.get("context"), str):
        entry = entry | {"context": f"{STRICT}{context}"}
    try:
        (theorem,) = parse_index("it", "", {"theorems": [entry], "files": found.files}).theorems
        return await _started(pool, theorem)
    except InputError as error:
        return error.message


async def _started(pool: Pool, theorem: Theorem) -> str:
    try:
        async with open_session(pool) as session:
            await session.start(theorem)
    except StatementError as error:
        return error.message.removeprefix(f"{theorem.name}: ")
    except LeanError as error:
        error.message = f"while {theorem.name} was read: {error.message}"
        raise
    return ""


def _wrong(entry: Entry, why: str) -> Entry:
    return {key: value for key, value in entry.items() if key != "context"} | {"error": why}
