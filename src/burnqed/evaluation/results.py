"""The result of an evaluation, in the form of `result.json`.

Every theorem of the benchmark is in every list, whatever its outcome: a denominator is never smaller
than the set. Proved means that the judge accepted the proof. An error is never an unproved theorem.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from burnqed.core.errors import InputError
from burnqed.core.files import publish
from burnqed.core.runs import command_of, shown_by
from burnqed.trajectories.schema import TheoremOutcome

FORMAT = 1
RESULT = "result.json"
ABLATION, WITH, WITHOUT = "ablation.json", "with-value", "without-value"  # of two evaluations


@dataclass(frozen=True, slots=True)
class BenchmarkId:
    """Identifies the theorems. Equal checksums mean equal names, statements and leak rules."""

    name: str
    checksum: str
    theorems: int
    revision: str = ""
    leak_rules: tuple[str, ...] = ()  # of its library theorems; () if there are none


@dataclass(frozen=True, slots=True)
class TheoremResult:
    """The outcome of a theorem within a budget, over all attempts.

    If it was proved, `nodes_used`, `time_secs` and `proof` are of the attempt with the fewest nodes;
    else of the one with the most. An error in one attempt without a proof in another is an error.
    `budget_at_proof` is the smallest of the evaluation's budgets that suffices.
    """

    name: str
    proved: bool
    budget_at_proof: int | None
    nodes_used: int
    time_secs: float
    outcome: TheoremOutcome
    proof: str = ""
    reason: str = ""  # exhausted: which budget; error: its kind
    detail: str = ""  # the error's text
    successes: int = 0  # how many of the attempts proved it
    failures: int = 0  # how many of them ended in an error
    leak_rule: str | None = None
    group: str = ""  # a part of the benchmark, such as its level


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """A budget of nodes per attempt. `solved`, `exhausted` and `errors` add up to `total`."""

    budget: int
    solved: int
    total: int
    rate: float
    interval: tuple[float, float]  # Wilson's, 95%
    pass_at: dict[int, float]  # k: the expected rate of k attempts
    avg_nodes: float
    avg_time_secs: float
    median_time_secs: float
    exhausted: dict[str, int]  # by budget
    errors: dict[str, int]  # by kind
    per_theorem: tuple[TheoremResult, ...]


@dataclass(frozen=True, slots=True)
class TrainingMetrics:
    """What the training of the value model behind a result came to, as its `result.json` says."""

    final_loss: float
    final_energy_gap: float
    final_rank_accuracy: float
    training_steps: int
    training_time_secs: float


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of all attempts and theorems. `steps` are tactics that Lean ran."""

    nodes: int
    steps: int
    search_secs: float
    lean_secs: float
    judge_secs: float
    clock_stops: int  # tactics stopped by the wall clock; only these may differ next time


@dataclass(frozen=True, slots=True)
class IterationResult:
    """One evaluation. `budget_results` are in order of budget. `settings` are all its settings."""

    iteration: int
    timestamp: str
    llm_path: str | None
    ebm_path: str | None
    benchmark: BenchmarkId
    settings: dict[str, Any]
    attempts: int
    budget_results: tuple[BudgetResult, ...]
    cost: Cost
    training_metrics: TrainingMetrics | None = None
    format: int = FORMAT

    @property
    def budgets(self) -> tuple[int, ...]:
        return tuple(result.budget for result in self.budget_results)

    def at(self, budget: int) -> BudgetResult:
        return next(result for result in self.budget_results if result.budget == budget)

    @property
    def largest(self) -> BudgetResult:
        return self.budget_results[-1]

    @property
    def failed(self) -> list[tuple[int, TheoremResult]]:
        """Every theorem with an error in some attempt, with the largest budget that has it."""
        found = {t.name: (self.largest.budget, t) for t in self.largest.per_theorem if t.failures}
        for b in self.budget_results:
            found |= {t.name: (b.budget, t) for t in b.per_theorem if t.outcome == "error"}
        return [found[t.name] for t in self.largest.per_theorem if t.name in found]

    @property
    def cumulative(self) -> frozenset[str]:
        """The theorems that were proved within any of the budgets."""
        return frozenset(t.name for b in self.budget_results for t in b.per_theorem if t.proved)


# Results with their labels.
Labelled = Sequence[tuple[str, IterationResult]]


def write_result(path: Path, result: IterationResult) -> None:
    publish(path, json.dumps(dataclasses.asdict(result), ensure_ascii=False, indent=1) + "\n")


def read_result(path: Path) -> IterationResult:
    """Read the result in a file, or in the `result.json` of a run's directory."""
    # Not `Path.is_dir`, which raises for a folder that may not be read.
    is_run = os.path.isdir(path)  # noqa: PTH112
    file = path / RESULT if is_run else path
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no {file}", hint=_why_none(path)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {file}: {error}") from error
    try:
        result = _result(content)
        _check(result)
        return result
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{file} is not the result of an evaluation ({error!r})",
            hint=shown_by(file.parent) or "`burn-qed eval` writes them",
        ) from error


def _why_none(run: Path) -> str:
    """A hint for a directory without a result, by its kind."""
    arms = [str(run / arm) for arm in (WITHOUT, WITH) if (run / arm).is_dir()]
    if arms:
        return f"it is an evaluation with and without a value model: give {' and '.join(arms)}"
    if command_of(run) == "eval":
        return "the evaluation was stopped: finish it with the same command and --resume"
    if command_of(run) == "run":
        return f"{shown_by(run)}; its evaluations are in {run / 'eval_results'}"
    return shown_by(run) or "`burn-qed eval` writes results"


def summary_of(results: Sequence[IterationResult]) -> dict[str, Any]:
    """The content of `summary.json`: an entry for each evaluation, without the theorems."""
    return {"format": FORMAT, "iterations": [_line(result) for result in results]}


def write_summary(path: Path, results: Sequence[IterationResult]) -> None:
    publish(path, json.dumps(summary_of(results), ensure_ascii=False, indent=1) + "\n")


def _line(result: IterationResult) -> dict[str, Any]:
    total, solved = result.benchmark.theorems, len(result.cumulative)
    return {
        "iteration": result.iteration,
        "timestamp": result.timestamp,
        "llm_path": result.llm_path,
        "ebm_path": result.ebm_path,
        "benchmark": dataclasses.asdict(result.benchmark),
        "attempts": result.attempts,
        "budgets": {
            b.budget: {"solved": b.solved, "total": b.total, "rate": b.rate, "interval": b.interval,
                       "errors": sum(b.errors.values())}
            for b in result.budget_results
        },
        "cumulative": {"solved": solved, "total": total, "rate": solved / total if total else 0.0},
        "training_metrics": result.training_metrics and dataclasses.asdict(result.training_metrics),
    }  # fmt: skip


def _result(content: dict[str, Any]) -> IterationResult:
    if content["format"] > FORMAT:
        raise ValueError(f"it is from a newer burn-qed, format {content['format']}")
    metrics = content["training_metrics"]
    benchmark = _known(BenchmarkId, content["benchmark"])
    budgets = sorted((_budget(entry) for entry in content["budget_results"]), key=lambda b: b.budget)
    whole = _known(IterationResult, {**content, "settings": dict(content["settings"])})
    return IterationResult(
        **{
            **whole,
            "benchmark": BenchmarkId(**{**benchmark, "leak_rules": tuple(benchmark["leak_rules"])}),
            "budget_results": tuple(budgets),
            "cost": Cost(**_known(Cost, content["cost"])),
            "training_metrics": metrics and TrainingMetrics(**_known(TrainingMetrics, metrics)),
        }
    )


def _budget(content: dict[str, Any]) -> BudgetResult:
    low, high = map(float, content["interval"])
    return BudgetResult(
        **{
            **_known(BudgetResult, content),
            "interval": (low, high),
            "pass_at": {int(k): float(rate) for k, rate in content["pass_at"].items()},
            "per_theorem": tuple(
                TheoremResult(**_known(TheoremResult, entry)) for entry in content["per_theorem"]
            ),
        }
    )


def _known(kind: type[Any], content: dict[str, Any]) -> dict[str, Any]:
    """Only the keys that this version knows: later versions of the same format may add some."""
    return {f.name: content[f.name] for f in dataclasses.fields(kind) if f.name in content}


def _check(result: IterationResult) -> None:
    """Check what every reader relies on: somebody may have written or changed the file."""
    numbers: list[tuple[object, type]] = [(result.attempts, int), (result.timestamp, str)]
    for b in result.budget_results:
        names = {t.name for t in b.per_theorem}
        proved = sum(t.outcome == "proved" for t in b.per_theorem)
        ended = proved + sum(b.exhausted.values()) + sum(b.errors.values())
        if len(names) != len(b.per_theorem) or b.total != len(names):
            raise ValueError(f"{b.budget} nodes: not every theorem occurs once")
        if b.solved != proved or ended != b.total:
            raise ValueError(f"{b.budget} nodes: the outcomes do not add up to the theorems")
        numbers += [(b.budget, int), (b.avg_nodes, float), (b.avg_time_secs, float)]
        for t in b.per_theorem:
            if t.outcome not in get_args(TheoremOutcome) or t.proved != (t.outcome == "proved"):
                raise ValueError(f"{t.name}: unknown outcome: {t.outcome!r}")
            numbers += [(t.name, str), (t.nodes_used, int), (t.time_secs, float), (t.detail, str)]
    for value, kind in numbers:
        if not isinstance(value, (int, float) if kind is float else kind):
            raise TypeError(f"{value!r} is not of type {kind.__name__}")
