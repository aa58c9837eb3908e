"""Turns the records of one or more attempts at a benchmark into its result."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from burnqed.core.types import LibraryConstant
from burnqed.data.index import Entry, TheoremIndex, statement_sha
from burnqed.evaluation.metrics import pass_at, wilson
from burnqed.evaluation.reading import Clock, Reading, read_off
from burnqed.evaluation.results import (
    BenchmarkId,
    BudgetResult,
    Cost,
    IterationResult,
    TheoremResult,
    TrainingMetrics,
)
from burnqed.trajectories.schema import TheoremRecord

NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True)
class AttemptRecords:
    """One attempt at the whole set: its records by theorem, and the times of its nodes."""

    records: Mapping[tuple[str, str], TheoremRecord]  # by name and statement
    clock: Clock

    @classmethod
    def of(cls, records: Sequence[TheoremRecord], clock: Clock) -> AttemptRecords:
        return cls({(r.theorem, r.statement_sha): r for r in records}, clock)

    def record(self, entry: Entry) -> TheoremRecord | None:
        return self.records.get((entry.theorem.name, statement_sha(entry.theorem.statement)))


@dataclass(frozen=True, slots=True)
class Identity:
    """Facts about an evaluation besides its figures."""

    settings: Mapping[str, Any]
    iteration: int = 0
    llm_path: str | None = None
    ebm_path: str | None = None
    training_metrics: TrainingMetrics | None = None
    timestamp: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


def evaluate(
    index: TheoremIndex,
    attempts: Sequence[AttemptRecords],
    budgets: Sequence[int],
    identity: Identity,
) -> IterationResult:
    """The result at each budget. Theorems without a record count, as errors: `not reached`."""
    ordered = sorted(set(budgets))
    records = [r for attempt in attempts for r in attempt.records.values()]
    return IterationResult(
        iteration=identity.iteration,
        timestamp=identity.timestamp,
        llm_path=identity.llm_path,
        ebm_path=identity.ebm_path,
        training_metrics=identity.training_metrics,
        benchmark=BenchmarkId(
            index.name, index.checksum, len(index.entries), index.revision, index.leak_rules
        ),
        settings=dict(identity.settings),
        attempts=len(attempts),
        budget_results=tuple(_at_budget(index, attempts, b, ordered) for b in ordered),
        cost=Cost(
            nodes=sum(r.nodes for r in records),
            steps=sum(r.steps for r in records),
            search_secs=sum(r.seconds for r in records),
            lean_secs=sum(r.lean_seconds for r in records),
            judge_secs=sum(r.judge_seconds for r in records),
            clock_stops=sum(attempt.clock.stops for attempt in attempts),
        ),
    )


def _at_budget(
    index: TheoremIndex, attempts: Sequence[AttemptRecords], budget: int, budgets: Sequence[int]
) -> BudgetResult:
    theorems = tuple(_theorem(entry, attempts, budget, budgets) for entry in index.entries)
    solved, total = sum(t.proved for t in theorems), len(theorems)
    times = [t.time_secs for t in theorems]
    return BudgetResult(
        budget=budget,
        solved=solved,
        total=total,
        rate=solved / total if total else 0.0,
        interval=wilson(solved, total),
        pass_at={
            k: statistics.fmean(pass_at(k, len(attempts), t.successes) for t in theorems)
            for k in range(1, len(attempts) + 1)
        }
        if theorems
        else {},
        avg_nodes=statistics.fmean(t.nodes_used for t in theorems) if theorems else 0.0,
        avg_time_secs=statistics.fmean(times) if times else 0.0,
        median_time_secs=statistics.median(times) if times else 0.0,
        exhausted=_reasons(theorems, "exhausted"),
        errors=_reasons(theorems, "error"),
        per_theorem=theorems,
    )


def _theorem(
    entry: Entry, attempts: Sequence[AttemptRecords], budget: int, budgets: Sequence[int]
) -> TheoremResult:
    readings = [(_reading(entry, attempt, budget), attempt.record(entry)) for attempt in attempts]
    proved = [(r, record) for r, record in readings if r.outcome == "proved"]
    failed = [(r, record) for r, record in readings if r.outcome == "error"]
    if proved:
        chosen, record = min(proved, key=lambda pair: pair[0].nodes)
    else:
        chosen, record = max(failed or readings, key=lambda pair: pair[0].nodes)
    statement = entry.theorem.statement
    return TheoremResult(
        name=entry.theorem.name,
        proved=bool(proved),
        budget_at_proof=min(b for b in budgets if b >= chosen.nodes) if proved else None,
        nodes_used=chosen.nodes,
        time_secs=chosen.seconds,
        outcome=chosen.outcome,
        proof=record.proof if proved and record else "",
        reason=chosen.reason,
        detail=chosen.detail,
        successes=len(proved),
        failures=len(failed),
        leak_rule=statement.leak_rule if isinstance(statement, LibraryConstant) else None,
        group=str(entry.fields.get("group") or ""),
    )


def _reading(entry: Entry, attempt: AttemptRecords, budget: int) -> Reading:
    record = attempt.record(entry)
    if record is None:
        return Reading("error", NOT_REACHED, "the run ended before this theorem", 0, 0.0)
    return read_off(record, attempt.clock.ends.get(record.theorem, ()), budget)


def _reasons(theorems: Sequence[TheoremResult], outcome: str) -> dict[str, int]:
    counts = Counter(t.reason for t in theorems if t.outcome == outcome)
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
