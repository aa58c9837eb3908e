"""Evaluations made up from what became of each theorem."""

from __future__ import annotations

import dataclasses
import random
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from burnqed.evaluation.metrics import pass_at, wilson
from burnqed.evaluation.results import (
    BenchmarkId,
    BudgetResult,
    Cost,
    IterationResult,
    TheoremResult,
    write_result,
)


def proved(
    name: str, nodes: int, seconds: float = 1.0, proof: str = "by simp", **more: Any
) -> TheoremResult:
    return TheoremResult(name, True, None, nodes, seconds, "proved", proof, successes=1, **more)


def exhausted(name: str, nodes: int = 100, seconds: float = 9.0, **more: Any) -> TheoremResult:
    return TheoremResult(name, False, None, nodes, seconds, "exhausted", reason="nodes", **more)


def failed(name: str, kind: str = "LeanDied", detail: str = "it died", **more: Any) -> TheoremResult:
    return TheoremResult(name, False, None, 3, 2.0, "error", reason=kind, detail=detail, **more)


def result_of(
    theorems: Sequence[TheoremResult],
    budgets: Sequence[int] = (10, 30, 100),
    attempts: int = 1,
    **more: Any,
) -> IterationResult:
    """An evaluation in which this became of the theorems at the largest budget."""
    benchmark = BenchmarkId("made up", "c0ffee" * 10 + "feed", len(theorems), "v1")
    content: dict[str, Any] = {
        "iteration": 0,
        "timestamp": "2026-02-03T04:05:06+00:00",
        "llm_path": None,
        "ebm_path": None,
        "benchmark": benchmark,
        "settings": {"policy": "portfolio", "seed": 0},
        "attempts": attempts,
        "budget_results": tuple(_within(theorems, budget, budgets, attempts) for budget in budgets),
        "cost": Cost(1234, 45678, 910.5, 700.25, 80.125, 0),
    }
    return IterationResult(**(content | more))


def _within(
    theorems: Sequence[TheoremResult], budget: int, budgets: Sequence[int], attempts: int
) -> BudgetResult:
    each = tuple(_cut(theorem, budget, budgets) for theorem in theorems)
    solved, total = sum(t.proved for t in each), len(each)
    times = [t.time_secs for t in each] or [0.0]
    return BudgetResult(
        budget, solved, total, solved / total if total else 0.0, wilson(solved, total),
        {k: statistics.fmean([pass_at(k, attempts, t.successes) for t in each] or [0.0])
         for k in range(1, attempts + 1)},
        statistics.fmean([t.nodes_used for t in each] or [0]), statistics.fmean(times),
        statistics.median(times),
        dict(Counter(t.reason for t in each if t.outcome == "exhausted")),
        dict(Counter(t.reason for t in each if t.outcome == "error")), each,
    )  # fmt: skip


def _cut(theorem: TheoremResult, budget: int, budgets: Sequence[int]) -> TheoremResult:
    if not theorem.proved:
        return dataclasses.replace(theorem, nodes_used=min(theorem.nodes_used, budget))
    if theorem.nodes_used > budget:
        return exhausted(theorem.name, budget, leak_rule=theorem.leak_rule, group=theorem.group)
    suffices = min(b for b in budgets if theorem.nodes_used <= b)
    return dataclasses.replace(theorem, budget_at_proof=suffices)


_PROOFS = (
    "theorem {name} : ∀ n : Nat, 2 ∣ n * (n + 1) := by\n  omega",
    "theorem {name} (a b : Nat) (h : a ≤ b) : a < b + 1 := by\n  intro x\n"
    "  rcases h with ⟨k, hk⟩\n  · simp_all [Nat.mul_add, Nat.add_comm, Nat.left_distrib]\n"
    "  · exact Nat.lt_of_le_of_lt (Nat.le_trans h (Nat.le_add_right b 0)) (Nat.lt_succ_self (b + 0))",
)


def realistic(seed: int, count: int = 150, skill: float = 1.0, **more: Any) -> IterationResult:
    """As an evaluation comes out: five levels, harder and harder, two attempts, some errors."""
    chance = random.Random(seed)
    theorems = []
    for i in range(count):
        name, level = f"level_{i % 5 + 1}_problem_{i // 5 + 1}", i % 5 + 1
        rule = "module" if i % 7 == 0 else None
        about: dict[str, Any] = {"group": f"level {level}", "leak_rule": rule}
        nodes = int(chance.lognormvariate(1.1 * level / skill, 1.5)) + 1
        seconds = nodes * chance.uniform(0.05, 0.4)
        dice = chance.random()
        if dice < 0.03:
            kind = chance.choice(["LeanDied", "statement", "refused"])
            detail = f"{kind}: the text of what happened to {name}\n  with a second line"
            theorems.append(failed(name, kind, detail, **about))
        elif nodes > 100:
            theorems.append(exhausted(name, 100, 100 * chance.uniform(0.05, 0.4), **about))
        else:
            text = chance.choice(_PROOFS).format(name=name) + "\n  done" * (40 * (i % 50 == 7))
            won = dataclasses.replace(
                proved(name, nodes, seconds, text, **about), successes=chance.choice([1, 2])
            )
            theorems.append(won)
    settings = {"policy": "portfolio", "nodes": 100, "depth": 50, "candidates": 32, "seconds": None,
                "temperature": skill, "seed": seed, "modules": ["Init", "Std"]}  # fmt: skip
    rules = ("module",)
    benchmark = BenchmarkId("qed-core", "5ca1ab1e" * 8, count, "2026.02", rules)
    content: dict[str, Any] = {"benchmark": benchmark, "settings": settings}
    return result_of(theorems, attempts=2, **(content | more))


def write_run(directory: Path, result: IterationResult) -> Path:
    """A run's directory that holds this result."""
    write_result(directory / "result.json", result)
    return directory
