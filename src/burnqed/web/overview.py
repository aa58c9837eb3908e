"""What one run has come to, for its page: settings, figures, curves, stages and gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from burnqed.core.errors import BurnQedError
from burnqed.core.runs import PLACES
from burnqed.evaluation.results import IterationResult
from burnqed.iteration import rounds
from burnqed.iteration.directory import read_run
from burnqed.iteration.summary import to_json
from burnqed.trajectories.schema import TheoremRecord
from burnqed.trajectories.summary import summarize
from burnqed.web.progress import progress
from burnqed.web.runs import Run
from burnqed.web.theorems import records_of, result_of


def overview(run: Run) -> dict[str, Any]:
    """The figures of a run. What cannot be read is named in `problems`, and the rest is shown."""
    problems: list[str] = []
    settings = {key: value for key, value in run.manifest.items() if key not in (PLACES, "command")}
    content: dict[str, Any] = {"settings": _flat(settings), "search": None, "budgets": []}
    if run.is_iteration:
        content["iterations"] = _iterations(run, problems)
    else:
        attempts = records_of(run, problems)
        records = [record for attempt in attempts for record in attempt]
        content["search"] = _search(records) | progress(run)
        content["attempts"] = len(attempts)
        result = result_of(run, problems)
        content["budgets"] = _budgets(result) if result else []
    return {**content, "problems": list(dict.fromkeys(problems))}


def _search(records: Sequence[TheoremRecord]) -> dict[str, Any]:
    """The figures of searches, as `burn-qed summary` has them."""
    found = summarize(records)
    return {
        "searched": found.theorems,
        "proved": found.proved,
        "exhausted": found.exhausted,
        "errors": found.errors,
        "within": _curve(records),
        "nodes": found.nodes,
        "steps": found.steps,
        "seconds": found.seconds,
        "lean_seconds": found.lean_seconds,
        "judge_seconds": found.judge_seconds,
    }


def _curve(records: Sequence[TheoremRecord]) -> list[tuple[int, int]]:
    """How many were proved within so many nodes, where that number grows.

    This is exact: a search with fewer nodes is the beginning of one with more.
    """
    at = Counter(record.nodes for record in records if record.outcome == "proved")
    curve, proved = [], 0
    for nodes in sorted(at):
        proved += at[nodes]
        curve.append((nodes, proved))
    return curve


def _budgets(result: IterationResult) -> list[dict[str, Any]]:
    return [
        {
            "nodes": one.budget, "proved": one.solved, "total": one.total, "rate": one.rate,
            "interval": one.interval, "exhausted": one.exhausted, "errors": one.errors,
        }
        for one in result.budget_results
    ]  # fmt: skip


def _iterations(run: Run, problems: list[str]) -> dict[str, Any] | None:
    """The history of expert iteration: rates, gates and stages, as in its summary.json."""
    try:
        config, _ = read_run(run.path)
        history = rounds.history(run.path, config)
    except BurnQedError as error:
        problems.append(error.message)
        return None
    problems += history.damage
    return to_json(history)


def _flat(settings: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Settings with their whole names, as text."""
    found: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            found |= _flat(value, f"{above}{name}.")
        else:
            found[f"{above}{name}"] = _text(value)
    return found


def _text(value: Any) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(_text, value)) or "–"
    return str(value)
