"""What a trace came to: counts, and everything that was not recorded, with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from burnqed.data.trace import LONG
from burnqed.data.trace_store import FileTrace, TheoremTrace


def report(files: Sequence[FileTrace]) -> dict[str, Any]:
    """For machines; `files` and `theorems` are what `OUT/report.json` lists."""
    every = [(file, theorem) for file in files for theorem in file.theorems]
    recorded = [theorem for _, theorem in every if theorem.outcome == "steps"]
    judged = [theorem for theorem in recorded if theorem.judged]
    return {
        "files": {
            "found": len(files),
            "traced": sum(not file.problem for file in files),
            "skipped": _counted(file.problem for file in files),
        },
        "theorems": {
            "found": len(every),
            "recorded": len(recorded),
            "proved_by_terms": sum(t.outcome == "term" for _, t in every),
            "not_recorded": _counted(t.reason for _, t in every if t.outcome == "other"),
            "with_tactics": sum(t.outcome != "term" for _, t in every),
            "over_100_tactics": sum(t.steps > LONG for t in recorded),
            "grain": _counted(t.grain for t in recorded),
        },
        "judged": {
            "asked": len(judged),
            "accepted": sum(t.judged == "accepted" for t in judged),
            "refused": [_place(f, t) | {"why": t.judged} for f, t in every if _refused(t)],
        },
        "steps": sum(t.steps for t in recorded),
        "seconds": round(sum(file.seconds for file in files), 2),
        "skipped_files": [
            {"file": file.path, "reason": file.problem, "detail": file.detail}
            for file in files
            if file.problem
        ],
        "not_recorded": [
            _place(file, theorem) | {"reason": theorem.reason, "detail": theorem.detail}
            for file, theorem in every
            if theorem.outcome != "steps"
        ],
    }


def _refused(theorem: TheoremTrace) -> bool:
    return theorem.outcome == "steps" and theorem.judged not in ("", "accepted")


def _place(file: FileTrace, theorem: TheoremTrace) -> dict[str, Any]:
    return {"file": file.path, "line": theorem.line, "theorem": theorem.name}


def _counted(names: Any) -> dict[str, int]:
    return dict(sorted(Counter(name for name in names if name).items()))
