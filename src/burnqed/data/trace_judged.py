"""What the judge says of recorded steps: in their file, all at once; else of each proof alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from burnqed.core.errors import BurnQedError
from burnqed.data.trace_store import FileTrace, TraceRow
from burnqed.lean.judge import judge_file, judge_proof
from burnqed.lean.pool import Pool


async def judged(judges: Pool, file: FileTrace, rows: Iterable[TraceRow], rewritten: str) -> FileTrace:
    """The file with the verdicts on its recorded proofs; `rewritten` has their steps for proofs."""
    tactics: dict[str, list[str]] = {}
    for row in rows:
        tactics.setdefault(row.theorem, []).append(row.tactic)
    said: dict[str, str] = {}
    with suppress(BurnQedError):
        verdicts = await judge_file(judges, rewritten)
        said = {v.theorem: "accepted" for v in verdicts if v.accepted and v.theorem in tactics}
    # What the judge does not list (it is private), or refuses for what stands before it in the file.
    for theorem in file.theorems:
        if theorem.outcome == "steps" and theorem.name not in said:
            statement = file.theorem(theorem).statement
            try:
                verdict = await judge_proof(judges, statement, tactics[theorem.name])
                said[theorem.name] = "accepted" if verdict.accepted else verdict.reason
            except BurnQedError as error:
                said[theorem.name] = error.message
    theorems = tuple(replace(t, judged=said.get(t.name, "")) for t in file.theorems)
    return replace(file, theorems=theorems)
