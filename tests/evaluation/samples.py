"""Results that no search made: each theorem's outcome is given, and the figures follow from it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

from burnqed.evaluation.metrics import wilson
from burnqed.evaluation.results import BenchmarkId, BudgetResult, Cost, IterationResult, TheoremResult
from burnqed.trajectories.schema import TheoremOutcome

BUDGETS = (10, 30, 100)
REASONS: dict[TheoremOutcome, str] = {"proved": "", "exhausted": "nodes", "error": "memory"}

Outcomes = Mapping[str, tuple[TheoremOutcome, int]]


def result_of(
    outcomes: Outcomes,
    budgets: Sequence[int] = BUDGETS,
    *,
    benchmark: str = "made-up",
    checksum: str | None = None,
    settings: Mapping[str, Any] | None = None,
    attempts: int = 1,
    iteration: int = 0,
) -> IterationResult:
    """What became of each theorem, and after how many nodes: with fewer, the budget is exhausted.

    Without a checksum, equal names have equal ones. All attempts at a theorem go the same way.
    """
    by_names = hashlib.sha256("\n".join(sorted(outcomes)).encode()).hexdigest()
    nodes = sum(min(nodes, max(budgets)) for _, nodes in outcomes.values()) * attempts
    return IterationResult(
        iteration=iteration,
        timestamp="2026-01-31T12:00:00+00:00",
        llm_path=None,
        ebm_path=None,
        benchmark=BenchmarkId(benchmark, by_names if checksum is None else checksum, len(outcomes)),
        settings=dict(settings or {}),
        attempts=attempts,
        budget_results=tuple(_within(budget, outcomes, attempts, budgets) for budget in budgets),
        cost=Cost(nodes, nodes * 8, nodes / 10, nodes / 20, 1.0, 0),
    )


def _within(budget: int, outcomes: Outcomes, attempts: int, budgets: Sequence[int]) -> BudgetResult:
    found = tuple(_theorem(name, *outcomes[name], budget, attempts, budgets) for name in outcomes)
    solved, total = sum(t.proved for t in found), len(found)
    rate = solved / total if total else 0.0
    seconds = [t.time_secs for t in found] or [0.0]
    return BudgetResult(
        budget=budget,
        solved=solved,
        total=total,
        rate=rate,
        interval=wilson(solved, total),
        pass_at={1: rate, attempts: rate},
        avg_nodes=mean(t.nodes_used for t in found) if found else 0.0,
        avg_time_secs=mean(seconds),
        median_time_secs=median(seconds),
        exhausted=dict(Counter(t.reason for t in found if t.outcome == "exhausted")),
        errors=dict(Counter(t.reason for t in found if t.outcome == "error")),
        per_theorem=found,
    )


def _theorem(
    name: str, end: TheoremOutcome, nodes: int, budget: int, attempts: int, budgets: Sequence[int]
) -> TheoremResult:
    outcome: TheoremOutcome = end if nodes <= budget else "exhausted"
    proved = outcome == "proved"
    return TheoremResult(
        name=name,
        proved=proved,
        budget_at_proof=min(b for b in budgets if b >= nodes) if proved else None,
        nodes_used=min(nodes, budget),
        time_secs=min(nodes, budget) / 10,
        outcome=outcome,
        proof="by simp" if proved else "",
        reason=REASONS[outcome],
        detail="it grew too large" if outcome == "error" else "",
        successes=attempts if proved else 0,
    )
