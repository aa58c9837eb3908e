"""Goedel-Prover's proofs of Lean Workbook: a whole file a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from burnqed.core.errors import StatementError
from burnqed.data.sources.declared import Column, Hub, SourceInfo, Stated
from burnqed.data.sources.places import Places
from burnqed.data.sources.rows import Notes, Row
from burnqed.data.steps import WholeProof
from burnqed.lean.statement import split_proof

INFO = SourceInfo(
    name="goedel-workbook",
    about="Goedel-Prover-SFT's proofs of Lean Workbook, a whole file a row",
    gives=("proofs", "statements"),
    # Only the first seven digits of its commit could be looked up (dbbcd43): that pins nothing.
    origin=Hub("Goedel-LM/Lean-workbook-proofs", "", ("data/train-*.parquet",)),
    licence="not stated",
    lean="not stated",
    rows=29_750,
    columns=(Column("problem_id"), Column("full_proof")),
)


def proofs(rows: Iterable[Row], notes: Notes) -> Iterator[WholeProof]:
    places = Places()
    for row in rows:
        with notes.reading():
            try:
                found = split_proof(row.text("full_proof"))
            except StatementError as error:
                notes.counts["unreadable"] += 1
                notes.on_problem(f"{row.where}: {error.message}")
                continue
            name = places.name((row.part, row.number), row.text("problem_id"))
            yield WholeProof(INFO.name, name, found.statement, found.proof, found.context)


def statements(rows: Iterable[Row], notes: Notes) -> Iterator[Stated]:
    for proof in proofs(rows, notes):
        yield Stated(INFO.name, proof.theorem, proof.statement, proof.context)
