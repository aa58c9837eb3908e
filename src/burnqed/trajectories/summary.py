"""What is in a set of trajectories, as numbers. How they look is the command line's business."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnqed.trajectories.schema import TheoremOutcome, TheoremRecord

if TYPE_CHECKING:
    import pyarrow as pa

BUDGETS = (1, 10, 30, 100, 300, 1000, 3000)
STEP_COLUMNS = ("outcome", "label", "origin")


@dataclass(frozen=True, slots=True)
class StepCounts:
    """The rows, counted three ways; each adds up to all of them."""

    by_outcome: dict[str, int]
    by_label: dict[str, int]
    by_origin: dict[str, int]

    @property
    def rows(self) -> int:
        return sum(self.by_label.values())


@dataclass(frozen=True, slots=True)
class TheoremLine:
    """One line of the table of theorems."""

    theorem: str
    outcome: TheoremOutcome
    reason: str
    nodes: int
    steps: int
    seconds: float
    proof_steps: int


@dataclass(frozen=True, slots=True)
class Summary:
    """`proved`, `exhausted` (by budget) and `errors` (by kind) add up to `theorems`, always."""

    theorems: int
    proved: int
    proved_within: dict[int, int]  # by nodes: what a smaller budget would have proved
    exhausted: dict[str, int]
    errors: dict[str, int]
    nodes: int
    nodes_mean: float
    nodes_median: float
    expansions: int
    # Per expansion; over the theorems that had one.
    candidates_min: int
    candidates_mean: float
    candidates_max: int
    seconds: float
    lean_seconds: float
    other_seconds: float  # of the searches, outside of Lean
    judge_seconds: float
    leak_rules: tuple[str, ...]  # that its library theorems were proved under
    steps: int
    step_counts: StepCounts | None  # None when the rows were not looked at
    lines: tuple[TheoremLine, ...]
    damage: tuple[str, ...]  # parts that are not whole: what was in them is not in these figures

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False)


def count_steps(batches: Iterable[pa.RecordBatch]) -> StepCounts:
    """Count the rows of batches that have the `STEP_COLUMNS`."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in STEP_COLUMNS}
    for batch in batches:
        for name, counter in counts.items():
            for entry in batch.column(name).value_counts().to_pylist():
                counter[entry["values"]] += entry["counts"]
    outcome, label, origin = (_by_size(counts[name]) for name in STEP_COLUMNS)
    return StepCounts(outcome, label, origin)


def summarize(
    records: Sequence[TheoremRecord],
    step_counts: StepCounts | None = None,
    damage: Sequence[str] = (),
) -> Summary:
    """The numbers of these theorems; a theorem that is there twice counts twice."""
    expanded = [record for record in records if record.expansions]
    expansions = sum(record.expansions for record in expanded)
    nodes = [record.nodes for record in records]
    return Summary(
        theorems=len(records),
        proved=sum(record.outcome == "proved" for record in records),
        proved_within=_within(records),
        exhausted=_reasons(records, "exhausted"),
        errors=_reasons(records, "error"),
        nodes=sum(nodes),
        nodes_mean=statistics.fmean(nodes) if nodes else 0.0,
        nodes_median=statistics.median(nodes) if nodes else 0.0,
        expansions=expansions,
        candidates_min=min((record.candidates_min for record in expanded), default=0),
        candidates_mean=sum(r.candidates_total for r in expanded) / expansions if expansions else 0.0,
        candidates_max=max((record.candidates_max for record in expanded), default=0),
        seconds=sum(record.seconds for record in records),
        lean_seconds=sum(record.lean_seconds for record in records),
        other_seconds=sum(max(record.seconds - record.lean_seconds, 0.0) for record in records),
        judge_seconds=sum(record.judge_seconds for record in records),
        leak_rules=tuple(sorted({record.leak_rule for record in records if record.leak_rule})),
        steps=sum(record.steps for record in records),
        step_counts=step_counts,
        lines=tuple(_line(record) for record in records),
        damage=tuple(damage),
    )


def _within(records: Sequence[TheoremRecord]) -> dict[int, int]:
    """Exact, because a search with fewer nodes is the beginning of the one with more."""
    most = max((record.nodes for record in records), default=0)
    used = [record.nodes for record in records if record.outcome == "proved"]
    return {n: sum(nodes <= n for nodes in used) for n in BUDGETS if n <= most}


def _reasons(records: Sequence[TheoremRecord], outcome: TheoremOutcome) -> dict[str, int]:
    return _by_size(Counter(record.reason for record in records if record.outcome == outcome))


def _by_size(counts: Counter[str]) -> dict[str, int]:
    """The largest first; equal ones by name, so that a table is the same each time."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _line(record: TheoremRecord) -> TheoremLine:
    return TheoremLine(
        record.theorem,
        record.outcome,
        record.reason,
        record.nodes,
        record.steps,
        record.seconds,
        record.proof_steps,
    )
