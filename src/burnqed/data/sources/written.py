"""The formats that burn-qed writes itself: traces, steps, whole proofs, the statements of its indexes.

Rows may have more columns than these: a trace says more about a step than training needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from burnqed.core.types import LibraryConstant, Theorem, TheoremText, Unreadable
from burnqed.data.index import TheoremIndex
from burnqed.data.sources.declared import Column, Format, Kind, SourceInfo, Stated
from burnqed.data.sources.files import Part
from burnqed.data.sources.places import Places
from burnqed.data.sources.rows import Notes, Row
from burnqed.data.steps import Step, WholeProof
from burnqed.lean.statement import declarations, strip_proof


def _own(name: str, about: str, kind: Kind, columns: tuple[Column, ...]) -> SourceInfo:
    """A format of files that are made here, by anyone, of anything: it has no licence and no Lean."""
    return SourceInfo(
        name, about, (kind,), Format(), licence="", lean="", columns=columns, extendable=True
    )


STEPS = _own(
    "steps",
    "steps as burn-qed writes them",
    "steps",
    (
        Column("state"),
        Column("tactic"),
        Column("theorem"),
        Column("depth", "number"),
        Column("source", null=True, needed=False),
        Column("after", null=True, needed=False),
        Column("premises", "list", null=True, needed=False),
        Column("dialect", null=True, needed=False),
    ),
)
TRACE = _own("trace", "what `burn-qed data trace` wrote", "steps", STEPS.columns)
PROOFS = _own(
    "proofs",
    "whole proofs as burn-qed writes them",
    "proofs",
    (
        Column("theorem"),
        Column("statement"),
        Column("proof", null=True),  # it may be empty: that is something to count, and no fault
        Column("context", null=True, needed=False),
        Column("source", null=True, needed=False),
    ),
)


def traced_parts(path: Path) -> tuple[Part, ...]:
    """The files of a trace; none where the path is not a trace."""
    if not path.is_dir():
        return ()
    from burnqed.data.trace_store import PARTS, is_trace

    found = sorted((path / PARTS).glob("part-*.parquet")) if is_trace(path) else []
    return tuple(Part(part) for part in found)


def traced_rows(parts: Sequence[Part], notes: Notes, source: str) -> Iterator[Row]:
    """The steps of a trace: of each Lean file as it was traced last.

    All of it is one source, so theorems of two files that share a name are told apart.
    """
    from burnqed.data.trace_store import read_rows

    places = Places()
    for number, traced in enumerate(read_rows(parts[0].path.parent.parent, notes.on_problem), start=1):
        notes.counts["rows"] += 1
        values = dataclasses.asdict(traced)
        if notes.on_row is not None:
            notes.on_row(values)
        name = places.name((traced.source, traced.theorem), traced.theorem)
        yield Row({**values, "theorem": name, "source": None}, parts[0], number, source)


def traced_theorems(
    parts: Sequence[Part], warn: Callable[[str], None]
) -> tuple[dict[str, Theorem], tuple[str, ...]]:
    """The theorems of a trace, by the names that its rows have here, and the modules they need."""
    from burnqed.data.trace_store import read_files

    places = Places()
    found: dict[str, Theorem] = {}
    imports: dict[str, None] = {}
    for file in read_files(parts[0].path.parent.parent, warn):
        imports |= dict.fromkeys(file.imports)
        for theorem in file.theorems:
            if theorem.outcome == "steps":
                name = places.name((file.path, theorem.name), theorem.name)
                found[name] = file.theorem(theorem)
    return found, tuple(imports)


def traced_imports(parts: Sequence[Part], warn: Callable[[str], None]) -> dict[str, tuple[str, ...]]:
    """What the files of a trace import, by the names of their theorems here."""
    from burnqed.data.trace_store import read_files

    places = Places()
    return {
        places.name((file.path, theorem.name), theorem.name): file.imports
        for file in read_files(parts[0].path.parent.parent, warn)
        for theorem in file.theorems
        if theorem.outcome == "steps"
    }


def steps(rows: Iterable[Row], notes: Notes) -> Iterator[Step]:
    for row in rows:
        with notes.reading():
            depth = row.values["depth"]
            if not isinstance(depth, int) or not 0 <= depth < 2**31:
                raise row.wrong(f"`depth` is {depth!r}, which is not a number of steps")
            yield Step(
                source=row.values["source"] or row.source,
                theorem=row.text("theorem"),
                state=row.text("state"),
                tactic=row.text("tactic").strip(),
                depth=depth,
                after=row.values["after"],
                premises=_premises(row),
                dialect=row.values.get("dialect") or "",
            )


def _premises(row: Row) -> tuple[str, ...]:
    """None where a file was written before steps had any."""
    told = row.values.get("premises") or ()
    if not all(isinstance(name, str) and name for name in told):
        raise row.wrong("`premises` is not a list of names")
    return tuple(told)


def proofs(rows: Iterable[Row], notes: Notes) -> Iterator[WholeProof]:
    for row in rows:
        with notes.reading():
            yield WholeProof(
                source=row.values["source"] or row.source,
                theorem=row.text("theorem"),
                statement=row.text("statement"),
                proof=row.values["proof"] or "",
                context=row.values["context"] or "",
            )


def stated(index: TheoremIndex, notes: Notes) -> Iterator[Stated]:
    """The theorems of an index; those of a library have no text, and others could not be read."""
    imports = "\n".join(f"import {module}" for module in index.imports)
    for entry in index.entries:
        notes.counts["rows"] += 1
        match entry.theorem.statement:
            case Unreadable(why):
                notes.counts["unreadable"] += 1
                notes.on_problem(f"{entry.theorem.name} of {index.name}: {why}")
            case LibraryConstant():
                notes.counts["library theorems"] += 1
            case TheoremText() as text:
                whole = strip_proof(text)
                at = declarations(whole)[-1].at
                before = f"{imports}\n{whole[:at]}".strip()
                yield Stated(index.name, entry.theorem.name, whole[at:].strip(), before)
            case _:
                statement = str(entry.fields["statement"])
                yield Stated(index.name, entry.theorem.name, statement, imports)
