"""Lean Workbook: contest problems made formal by a model, and steps of the proofs that were found.

Two files of one repository. `lean-workbook` is the problems, some with a proof;
`lean-workbook-steps` is what InternLM2.5-StepProver found, a tactic a row. Where it refuted a problem,
the steps are of a proof of the negation: that is another theorem, and its name says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from burnqed.data.sources.declared import Column, Hub, SourceInfo, Stated
from burnqed.data.sources.places import Places
from burnqed.data.sources.rows import Notes, Row
from burnqed.data.sources.stated import stated_rows
from burnqed.data.steps import Step, WholeProof

_REPOSITORY, _REVISION = "internlm/Lean-Workbook", "2e066e310b2c6d2c27616927ae131f82901c8f1c"
_LEAN = "v4.8.0-rc1, Mathlib of that tag"
# They are written for Mathlib, and come without imports.
_CONTEXT = "import Mathlib"

PROBLEMS = SourceInfo(
    name="lean-workbook",
    about="Lean Workbook and Lean Workbook Plus: contest problems, a few with a proof",
    gives=("statements", "proofs"),
    origin=Hub(_REPOSITORY, _REVISION, ("lean_workbook.json",)),
    licence="Apache-2.0",
    lean=_LEAN,
    # Of the two splits. The card says 57,231 for the first; who counted the file found this.
    rows=57_321 + 82_893,
    columns=(
        Column("natural_language_statement", null=True),
        Column("answer", null=True),
        Column("tags", "list", null=True),
        Column("formal_statement"),
        Column("split"),
        Column("proof", "list", null=True),
    ),
)
STEPS = SourceInfo(
    name="lean-workbook-steps",
    about="steps of proofs that InternLM2.5-StepProver found for Lean Workbook",
    gives=("steps",),
    origin=Hub(_REPOSITORY, _REVISION, ("wkbk_1009.parquet",)),
    licence="Apache-2.0",
    lean=_LEAN,
    rows=25_214,
    columns=(
        Column("id"),
        Column("status"),
        Column("tactic"),
        Column("state_before"),
        Column("state_after", null=True),
        Column("natural_language_statement", null=True),
        Column("answer", null=True),
        Column("formal_statement", null=True),
    ),
)


def steps(rows: Iterable[Row], notes: Notes) -> Iterator[Step]:
    places = Places()
    for row in rows:
        with notes.reading():
            problem, status = row.text("id"), row.values["status"].strip()
            before, after = row.text("state_before"), row.values["state_after"]
            tactic = row.text("tactic").strip()
            notes.counts[f"status {status or 'none'}"] += 1
            wanted = problem if status in ("", "proved") else f"{problem}#{status}"
            name, depth = places.step((problem, status), wanted)
            yield Step(STEPS.name, name, before, tactic, depth, after or None)


def statements(rows: Iterable[Row], notes: Notes) -> Iterator[Stated]:
    for _, stated in stated_rows(rows, notes, PROBLEMS.name, _CONTEXT):
        yield stated


def proofs(rows: Iterable[Row], notes: Notes) -> Iterator[WholeProof]:
    """Each proof that comes with a problem."""
    for row, stated in stated_rows(rows, notes, PROBLEMS.name, _CONTEXT):
        with notes.reading():
            found = row.values["proof"] or []
            if not found:
                notes.counts["no proof"] += 1
            for proof in found:
                if not isinstance(proof, str) or not proof.strip():
                    raise row.wrong("`proof` has one that is no text, or empty")
                yield WholeProof(
                    PROBLEMS.name, stated.theorem, stated.statement, _as_term(proof), stated.context
                )


def _as_term(proof: str) -> str:
    """A proof as what stands behind `:=`; some are only the tactics of it."""
    text = proof.strip()
    if text.startswith(":="):
        return text.removeprefix(":=").strip()
    return text if text.split()[0] == "by" else "by\n  " + "\n  ".join(text.split("\n"))
