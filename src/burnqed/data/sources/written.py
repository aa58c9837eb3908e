"""The formats that burn-qed writes itself: steps and whole proofs, and the statements of its indexes.

Rows may have more columns than these: a trace says more about a step than training needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from burnqed.core.types import LibraryConstant, TheoremText, Unreadable
from burnqed.data.index import TheoremIndex
from burnqed.data.sources.declared import Column, Format, SourceInfo, Stated
from burnqed.data.sources.rows import Notes, Row
from burnqed.data.steps import Step, WholeProof
from burnqed.lean.statement import declarations, strip_proof

STEPS = SourceInfo(
    name="steps",
    about="steps as burn-qed writes them",
    gives=("steps",),
    origin=Format(),
    licence="",
    lean="",
    columns=(
        Column("state"),
        Column("tactic"),
        Column("theorem"),
        Column("depth", "number"),
        Column("source", null=True, needed=False),
        Column("after", null=True, needed=False),
    ),
    extendable=True,
)
PROOFS = SourceInfo(
    name="proofs",
    about="whole proofs as burn-qed writes them",
    gives=("proofs",),
    origin=Format(),
    licence="",
    lean="",
    columns=(
        Column("theorem"),
        Column("statement"),
        Column("proof"),
        Column("context", null=True, needed=False),
        Column("source", null=True, needed=False),
    ),
    extendable=True,
)


def steps(rows: Iterable[Row], notes: Notes) -> Iterator[Step]:
    for row in rows:
        depth = row.values["depth"]
        if not isinstance(depth, int) or depth < 0:
            raise row.wrong(f"`depth` is {depth!r}, which is no number of steps")
        yield Step(
            source=row.values["source"] or row.part.name,
            theorem=row.text("theorem"),
            state=row.text("state"),
            tactic=row.text("tactic"),
            depth=depth,
            after=row.values["after"],
        )


def proofs(rows: Iterable[Row], notes: Notes) -> Iterator[WholeProof]:
    for row in rows:
        yield WholeProof(
            source=row.values["source"] or row.part.name,
            theorem=row.text("theorem"),
            statement=row.text("statement"),
            proof=row.text("proof"),
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
