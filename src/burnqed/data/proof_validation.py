"""Are whole proofs still proofs here? They are judged as they are, and a rule decides.

    use      the judge accepts at least 80%
    migrate  it accepts fewer: `burn-qed data migrate` may move the others to this Lean

Rows without a proof, and Lean's own failures, say nothing about the data and are counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from burnqed.data import migration
from burnqed.data.validation import ENOUGH

Verdict = Literal["use", "migrate", "none"]


def report(rows: Iterable[Mapping[str, Any]], there: int) -> dict[str, Any]:
    told = migration.report(rows)
    tried = told["unchanged"] + told["failed"]
    return {
        "format": 1,
        "verdict": verdict(tried, told["unchanged"]),
        "there": there,
        "tried": tried,
        "accepted": told["unchanged"],
        "accepted_rate": told["survival"],
        "without_a_proof": told["empty"],
        "errors": told["error"],
        "causes": told["causes"],
        "failures": told["failures"],
    }


def verdict(tried: int, accepted: int) -> Verdict:
    """By the rule at the top; of nothing there is none."""
    if not tried:
        return "none"
    return "use" if accepted >= ENOUGH * tried else "migrate"
