"""The figures of a set of trajectories. The command line prints them."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.trajectories.schema import TheoremOutcome, TheoremRecord

if TYPE_CHECKING:
    import pyarrow as pa

BUDGETS = (1, 10, 30, 100, 300, 1000, 3000)
STEP_COLUMNS = ("outcome", "label", "origin")


@dataclass(frozen=True, slots=True)
class StepCounts:
    """The rows, counted in three ways. Each adds up to all rows."""

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
    proved_within: dict[int, int]  # by nodes: how many a smaller budget would have proved
    exhausted: dict[str, int]
    errors: dict[str, int]
    nodes: int
    nodes_mean: float
    nodes_median: float
    expansions: int
    # Per expansion, over the theorems with at least one.
    candidates_min: int
    candidates_mean: float
    candidates_max: int
    seconds: float
    lean_seconds: float
    other_seconds: float  # of the searches, outside of Lean
    judge_seconds: float
    leak_rules: tuple[str, ...]  # of its library theorems
    steps: int
    step_counts: StepCounts | None  # None if the rows were not read
    lines: tuple[TheoremLine, ...]
    damage: tuple[str, ...]  # damaged parts: what was in them is missing in these figures

    def to_json(self, lines: bool = True) -> str:
        """With a line for each theorem, or without."""
        content = dataclasses.asdict(self)
        if not lines:
            del content["lines"]
        return json.dumps(content, ensure_ascii=False)


def count_steps(batches: Iterable[pa.RecordBatch]) -> StepCounts:
    """Count the rows of batches that have the `STEP_COLUMNS`."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in STEP_COLUMNS}
    for batch in batches:
        for name, counter in counts.items():
            for entry in batch.column(name).value_counts().to_pylist():
                counter[entry["values"]] += entry["counts"]
    outcome, label, origin = (_by_size(counts[name]) for name in STEP_COLUMNS)
    return StepCounts(outcome, label, origin)


def summed_up(directory: Path, on_problem: Callable[[str], None]) -> Summary:
    """What is in a set of trajectories; parts that are not whole are told."""
    from burnqed.trajectories.store import iter_steps, read_records

    damage: list[str] = []
    counts = count_steps(iter_steps(directory, columns=STEP_COLUMNS, on_problem=damage.append))
    for problem in damage:
        on_problem(problem)
    records = read_records(directory, on_problem=lambda _told_already: None)
    return summarize(records, counts, damage)


def summarize(
    records: Sequence[TheoremRecord],
    step_counts: StepCounts | None = None,
    damage: Sequence[str] = (),
) -> Summary:
    """The figures of these theorems. A theorem that occurs twice counts twice."""
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
    """This is exact, because a search with fewer nodes is the beginning of one with more."""
    most = max((record.nodes for record in records), default=0)
    used = [record.nodes for record in records if record.outcome == "proved"]
    return {n: sum(nodes <= n for nodes in used) for n in BUDGETS if n <= most}


def _reasons(records: Sequence[TheoremRecord], outcome: TheoremOutcome) -> dict[str, int]:
    return _by_size(Counter(record.reason for record in records if record.outcome == outcome))


def _by_size(counts: Counter[str]) -> dict[str, int]:
    """The largest first, equal ones by name, so that tables are reproducible."""
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
