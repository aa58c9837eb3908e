"""Goedel-Prover's proofs of Lean Workbook: a whole file a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from burnqed.data.sources.declared import Column, Hub, SourceInfo, Stated
from burnqed.data.sources.rows import Notes, Row
from burnqed.data.sources.stated import parted_rows
from burnqed.data.steps import WholeProof

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
    for _, name, parts in parted_rows(rows, notes, "full_proof", lambda row, _: row.text("problem_id")):
        yield WholeProof(INFO.name, name, parts.statement, parts.proof, parts.context)


def statements(rows: Iterable[Row], notes: Notes) -> Iterator[Stated]:
    for proof in proofs(rows, notes):
        yield Stated(INFO.name, proof.theorem, proof.statement, proof.context)
