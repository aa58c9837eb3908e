"""NuminaMath-LEAN: competition problems, with a person's proof, a prover's, both or none.

A person's proof counts where it is `complete`; `with_sorry` and `statement` are counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from burnqed.core.errors import StatementError
from burnqed.data.sources.declared import Column, Hub, SourceInfo, Stated
from burnqed.data.sources.places import Places
from burnqed.data.sources.rows import Notes, Row
from burnqed.data.sources.stated import stated_rows
from burnqed.data.steps import WholeProof
from burnqed.lean.statement import split_proof

INFO = SourceInfo(
    name="numinamath-lean",
    about="NuminaMath-LEAN: competition problems, some with a person's or a prover's proof",
    gives=("proofs", "statements"),
    # Only the first seven digits of its commits could be looked up (51fa67f): that pins nothing.
    origin=Hub("AI-MO/NuminaMath-LEAN", "", ("data/train-*.parquet",)),
    licence="Apache-2.0",
    lean="not stated; others check it with v4.15.0",
    rows=104_155,
    columns=(
        Column("uuid"),
        Column("problem", null=True),
        Column("question_type", null=True),
        Column("answer", null=True),
        Column("author", null=True),
        Column("formal_statement"),
        Column("formal_ground_truth", null=True),
        Column("ground_truth_type", null=True),
        Column("formal_proof", null=True),
        Column("rl_data", "object", null=True),
        Column("source", null=True),
        Column("problem_type", null=True),
        Column("exam", null=True),
    ),
)
_TYPES = ("complete", "with_sorry", "statement")


def proofs(rows: Iterable[Row], notes: Notes) -> Iterator[WholeProof]:
    places = Places()
    for row in rows:
        with notes.reading():
            found = dict.fromkeys(text for text in _proofs(row, notes) if text.strip())
            if not found:
                notes.counts["no proof"] += 1
            for text in found:
                try:
                    proved = split_proof(text)
                except StatementError as error:
                    notes.counts["unreadable"] += 1
                    notes.on_problem(f"{row.where}: {error.message}")
                    continue
                name = places.name((row.part, row.number), proved.name)
                yield WholeProof(INFO.name, name, proved.statement, proved.proof, proved.context)


def _proofs(row: Row, notes: Notes) -> Iterator[str]:
    kind = row.values["ground_truth_type"]
    if kind:
        if kind not in _TYPES:
            raise row.wrong(
                f"`ground_truth_type` is {kind!r}, and should be one of {', '.join(_TYPES)}"
            )
        notes.counts[f"ground truth {kind}"] += 1
    if kind == "complete":
        yield row.values["formal_ground_truth"] or ""
    yield row.values["formal_proof"] or ""


def statements(rows: Iterable[Row], notes: Notes) -> Iterator[Stated]:
    for _, stated in stated_rows(rows, notes, INFO.name):
        yield stated
