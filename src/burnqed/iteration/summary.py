"""A run's history, read off its directory; and `summary.json`, which is that without the theorems."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from burnqed.core.files import publish
from burnqed.core.runs import SUMMARY
from burnqed.data.index import read_index, statement_sha
from burnqed.evaluation.compare import Pairing, compare
from burnqed.evaluation.results import (
    RESULT,
    WITH,
    WITHOUT,
    IterationResult,
    read_result,
    summary_of,
)
from burnqed.iteration.config import Config, set_name
from burnqed.iteration.directory import (
    Spent,
    read_record,
    read_run,
    read_spent,
    record_of,
)
from burnqed.iteration.gates import gates_of, value_verdict
from burnqed.iteration.history import (
    BASELINE,
    FORMAT,
    Evaluated,
    History,
    Iteration,
    SearchCount,
    StageCost,
)
from burnqed.iteration.made import (
    JOINT,
    TEACHER_PAIRS,
    TRAIN,
    Done,
    evaluation_of,
    is_made,
    policy_training,
)
from burnqed.iteration.red_lines import drops
from burnqed.iteration.specs import Search, Stage
from burnqed.iteration.stages import stages
from burnqed.iteration.standing import read_look, read_made, read_standing, read_value


def collect(run: Path) -> History:
    """All that a run has come to, of its finished stages."""
    config, manifest = read_run(run)
    done, spent = read_standing(run, config), read_spent(run)
    last = max([number for number, _ in (*done, *spent)], default=BASELINE)
    proved: set[str] = set()
    damage: list[str] = []
    iterations: list[Iteration] = []
    for number in range(BASELINE, last + 1):
        one = _iteration(run, config, number, done, spent, proved, damage.append)
        proved.update(one.newly_proved)
        gates = gates_of(config, [*iterations, one], why_skipped(run, done, number))
        iterations.append(dataclasses.replace(one, gates=gates))
    train = run / TRAIN
    theorems = len(read_index(train).entries) if (BASELINE, "theorems") in done else 0
    name = run.resolve().name
    return History(name, manifest, theorems, tuple(iterations), damage=tuple(damage))


def why_skipped(run: Path, done: Done, number: int) -> dict[str, str]:
    """The stages of an iteration that were skipped, with the reason."""
    return {
        name: str(read_record(record_of(run, number, name)).get("why", ""))
        for (iteration, name), status in done.items()
        if iteration == number and status == "skipped"
    }


def _iteration(
    run: Path, config: Config, number: int, done: Done, spent: Mapping[tuple[int, str], Spent],
    before: set[str], on_problem: Callable[[str], None],
) -> Iteration:  # fmt: skip
    planned = stages(config, number, done)
    costs = [_cost(stage, done, spent) for stage in planned if stage.key in done or stage.key in spent]
    evaluated = {
        set_name(given): _evaluated(run / evaluation_of(number, set_name(given)))
        for given in config.eval.sets
        if done.get((number, f"eval-{set_name(given)}")) == "done"
    }
    if number == BASELINE:
        return Iteration(number, evaluated, stages=tuple(costs))
    searched = [s for s in planned if isinstance(s.spec, Search) and done.get(s.key) == "done"]
    counts, newly = _searches(run, searched, before, on_problem)
    pairs = f"trajectories/iter_{number}/pairs.jsonl" if number else TEACHER_PAIRS
    trained = run / policy_training(number) / RESULT
    value, together = read_value(run, number, done), is_made(number, JOINT, done)
    look = read_look(run, number, done)
    return Iteration(
        number=number,
        evaluated=evaluated,
        policy=value if together else read_made(trained, done, (number, "policy")),
        value=value,
        embeddings=look,
        dropped=tuple(line.name for line in drops(config, look, value)),
        pairs=read_made(
            (run / pairs).with_suffix(".json"),
            done,
            (number, "pairs" if number else "teacher-pairs"),
        ),
        searches=tuple(counts),
        newly_proved=tuple(newly),
        stages=tuple(costs),
    )


def _cost(stage: Stage, done: Done, spent: Mapping[tuple[int, str], Spent]) -> StageCost:
    took = spent.get(stage.key, Spent(0, 0.0))
    return StageCost(
        name=stage.name,
        command=stage.shown(),
        done=stage.key in done,
        runs=took.runs,
        seconds=round(took.seconds, 3),
        skipped=done.get(stage.key) == "skipped",
    )


def _evaluated(place: Path) -> Evaluated:
    if (place / WITHOUT).is_dir():
        return Evaluated(read_result(place / WITHOUT), read_result(place / WITH))
    return Evaluated(read_result(place))


def _searches(
    run: Path, searched: Sequence[Stage], before: set[str], on_problem: Callable[[str], None]
) -> tuple[list[SearchCount], list[str]]:
    """What each search did, and the theorems that none before it proved, in their order."""
    from burnqed.trajectories.store import find_trajectories, read_records

    counts, newly = [], dict[str, None]()
    for stage in searched:
        records = read_records(find_trajectories(run / stage.out), on_problem)
        index = read_index(run / stage.theorems)
        asked = {(t.name, statement_sha(t.statement)) for t in index.theorems}
        records = [r for r in records if (r.theorem, r.statement_sha) in asked]
        outcomes = [record.outcome for record in records]
        newly |= dict.fromkeys(
            r.theorem for r in records if r.outcome == "proved" and r.theorem not in before
        )
        counts.append(
            SearchCount(
                stage=stage.name,
                theorems=len(index.entries),
                proved=outcomes.count("proved"),
                exhausted=outcomes.count("exhausted"),
                errors=outcomes.count("error"),
                nodes=sum(record.nodes for record in records),
                tactics=sum(record.steps for record in records),
                lean_seconds=round(sum(record.lean_seconds for record in records), 3),
            )
        )
    return counts, list(newly)


# ------------------------------------------------------------------------------- summary.json


def write_summary(run: Path, history: History) -> None:
    publish(run / SUMMARY, json.dumps(to_json(history), ensure_ascii=False, indent=1) + "\n")


def to_json(history: History) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "run": history.name,
        "train_theorems": history.train_theorems,
        "ended": history.ended,
        "finished": history.finished,
        "damage": list(history.damage),
        "seconds": round(sum(s.seconds for one in history.iterations for s in one.stages), 3),
        "iterations": [_iteration_json(one, history) for one in history.iterations],
    }


def _iteration_json(one: Iteration, history: History) -> dict[str, Any]:
    first = history.iterations[0]
    content: dict[str, Any] = {
        "iteration": one.number,
        "label": one.label,
        "evaluated": {
            name: _arms(evaluated, first.evaluated.get(name) if one is not first else None)
            for name, evaluated in one.evaluated.items()
        },
        "gates": [dataclasses.asdict(gate) for gate in one.gates],
        "stages": [dataclasses.asdict(stage) for stage in one.stages],
        "seconds": round(sum(stage.seconds for stage in one.stages), 3),
    }
    if one.number == BASELINE:
        return content
    return content | {
        "policy": one.policy,
        "value": one.value,
        "embeddings": one.embeddings,
        "dropped": list(one.dropped),
        "pairs": one.pairs,
        "searches": [dataclasses.asdict(search) for search in one.searches],
        "newly_proved": len(one.newly_proved),
    }


def _arms(evaluated: Evaluated, first: Evaluated | None) -> dict[str, Any]:
    content: dict[str, Any] = {"without_value": _line(evaluated.without)}
    if evaluated.given is not None:
        content["with_value"] = _line(evaluated.given)
        content["value_effect"] = _against(evaluated.without, evaluated.given, value_verdict)
    if first is not None:
        content["against_baseline"] = _against(first.without, evaluated.without)
    return content


def _line(result: IterationResult) -> Any:
    return summary_of([result])["iterations"][0]


def _against(
    before: IterationResult,
    after: IterationResult,
    verdict: Callable[[Pairing], str] = lambda it: it.verdict,
) -> dict[int, Any]:
    """By budget: what was gained and lost, and how likely chance does that."""
    paired = compare([("before", before), ("after", after)]).pairs[0]
    return {
        budget: {
            "gained": list(it.gained),
            "lost": list(it.lost),
            "undecided": len(it.undecided),
            "p_value": it.p_value,
            "verdict": verdict(it),
        }
        for budget, it in paired.budgets.items()
    }
