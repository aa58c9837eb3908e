"""Evaluates a prover on a set of theorems: attempts at each, and the result at every budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from burnqed.core.errors import InputError
from burnqed.core.files import publish
from burnqed.core.runs import MANIFEST, SUMMARY, check_out, open_run
from burnqed.core.watching import Watcher
from burnqed.data.index import TheoremIndex
from burnqed.evaluation.compare import Comparison, compare
from burnqed.evaluation.evaluate import AttemptRecords, Identity
from burnqed.evaluation.evaluate import evaluate as summed_up
from burnqed.evaluation.reading import CLOCK_COLUMNS, read_clock
from burnqed.evaluation.results import (
    ABLATION,
    RESULT,
    WITH,
    WITHOUT,
    IterationResult,
    read_result,
    write_result,
    write_summary,
)
from burnqed.evaluation.run import SAVE_EVERY, Plan
from burnqed.lean.pool import run_sync
from burnqed.prover import sets
from burnqed.prover.assembly import Assembled, assemble, check, unguided
from burnqed.prover.config import EvalConfig
from burnqed.prover.leans import modules_of
from burnqed.prover.policies import Warn
from burnqed.prover.sites import HERE, Cluster
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import TRAJECTORIES, TheoremRecord


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A result, and the earlier one to compare with. `errors` counts what went wrong, by kind."""

    result: IterationResult
    errors: Counter[str]
    earlier: IterationResult | None = None


@dataclass(frozen=True, slots=True)
class Ablated:
    """Evaluations without and with the value model, at equal budgets."""

    without: IterationResult
    given: IterationResult
    comparison: Comparison
    errors: Counter[str]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The searches that ended before a stop. They are not a result and cannot be compared."""

    records: list[TheoremRecord]
    asked: int  # searches


def evaluate(
    theorems: str | TheoremIndex,
    out: Path,
    config: EvalConfig,
    watcher: Watcher,
    *,
    resume: bool,
    against: Path | None = None,
    cluster: Cluster = HERE,
) -> Evaluated | Ablated | Stopped:
    """Evaluate into a run's directory, or continue there."""
    check(config)
    cluster.ready(config)
    if config.ablate and against is not None:
        raise InputError(
            "--ablate compares its own two evaluations, and --against another",
            hint="leave out one of them; `burn-qed compare` compares any two",
        )
    nodes = tuple(sorted(set(config.budgets)))
    if not nodes:
        raise InputError("no budgets", hint="numbers of nodes, such as 10,30,100")
    index = (
        theorems
        if isinstance(theorems, TheoremIndex)
        else sets.chosen(theorems, config.leak_rule, config.split)
    )
    earlier = None if against is None else _earlier(against, index, nodes)
    check_out(out)
    if config.ablate:
        config = msgspec.structs.replace(config, value_anyway=True)
    modules = modules_of(config, index.imports)
    begun = out / WITHOUT if config.ablate else out
    assembled = assemble(config, modules, nodes[-1], watcher.warn, begun if resume else None)
    job = _Job(index, out, assembled, config, nodes, watcher, resume, cluster)
    if config.ablate:
        return _ablate(job)
    done = _evaluate(job)
    return replace(done, earlier=earlier) if isinstance(done, Evaluated) else done


@dataclass(frozen=True, slots=True)
class _Job:
    index: TheoremIndex
    out: Path
    assembled: Assembled
    config: EvalConfig
    nodes: tuple[int, ...]
    watcher: Watcher
    resume: bool
    cluster: Cluster

    @property
    def seeds(self) -> range:
        return range(self.config.seed, self.config.seed + self.config.pass_n)

    @property
    def asked(self) -> dict[str, Any]:
        return {
            "command": "eval", "theorems": self.index.name, "theorems_checksum": self.index.checksum,
            "nodes": self.nodes[-1], "iteration": self.config.iteration, **self.assembled.about,
            "version": version("burn-qed"),
        }  # fmt: skip


def _evaluate(job: _Job) -> Evaluated | Stopped:
    """One evaluation in its directory: a finished one is read, another is continued."""
    places: Mapping[str, Any] = job.assembled.places
    open_run(job.out, job.asked, resume=job.resume, places=places)
    whole = run_sync(_search(job))
    attempts = [read_attempt(job.out, k, job.watcher.warn) for k in range(1, len(job.seeds) + 1)]
    records = [record for attempt in attempts for record in attempt.records.values()]
    if not whole:
        return Stopped(records, len(job.index.theorems) * len(job.seeds))
    guide = job.assembled.guide
    identity = Identity(
        settings=job.asked,
        iteration=job.config.iteration,
        llm_path=places.get("model"),
        ebm_path=places.get("value") if guide.value is not None else None,
        training_metrics=guide.training,
    )
    result = summed_up(job.index, attempts, job.nodes, identity)
    write_result(job.out / RESULT, result)
    write_summary(job.out / SUMMARY, [result])
    errors = Counter(record.reason for record in records if record.outcome == "error")
    for one in result.budget_results:
        errors |= Counter(one.errors)
    return Evaluated(result, errors)


def _ablate(job: _Job) -> Ablated | Stopped:
    """Evaluate without and with the value model. If the first is stopped, so is the whole."""
    done: list[Evaluated] = []
    for name, assembled in ((WITHOUT, unguided(job.assembled)), (WITH, job.assembled)):
        out = job.out / name
        resume = job.resume and (out / MANIFEST).exists()
        arm = _evaluate(replace(job, out=out, assembled=assembled, resume=resume))
        if isinstance(arm, Stopped):
            return arm
        done.append(arm)
    without, given = (one.result for one in done)
    comparison = compare([("without value", without), ("with value", given)])
    publish(job.out / ABLATION, comparison.to_json() + "\n")
    return Ablated(without, given, comparison, done[0].errors | done[1].errors)


async def _search(job: _Job) -> bool:
    """Run all attempts in turn. True if none was stopped."""
    stop = job.watcher.stopping()
    many = len(job.seeds) > 1 or job.config.ablate
    async with job.cluster.opened(job.assembled, job.watcher.warn) as site:
        for number, seed in enumerate(job.seeds, start=1):
            name, iteration = job.out.resolve().name, job.config.iteration
            provenance = Provenance(name, iteration, "search", job.assembled.temperature)
            plan = Plan(job.index.theorems, seed, provenance, SAVE_EVERY)
            label = _label(job, number) if many else ""
            directory = _directory(job.out, number)
            await sets.search_through(site, plan, directory, job.watcher, stop, label)
            if stop.is_set():
                return False
    return True


def _label(job: _Job, number: int) -> str:
    """The label of one of several passes through the set."""
    attempt = f"attempt {number} of {len(job.seeds)}" if len(job.seeds) > 1 else ""
    arm = job.out.name if job.config.ablate else ""
    return ", ".join(filter(None, (arm, attempt))) + ": "


def _directory(out: Path, number: int) -> Path:
    return out / f"attempt-{number}" / TRAJECTORIES


def read_attempt(out: Path, number: int, warn: Warn) -> AttemptRecords:
    """What one attempt of an evaluation has saved."""
    from burnqed.trajectories.store import iter_steps, read_records

    directory = _directory(out, number)
    if not directory.is_dir():
        return AttemptRecords.of([], read_clock([]))
    clock = read_clock(iter_steps(directory, columns=CLOCK_COLUMNS, on_problem=warn))
    return AttemptRecords.of(read_records(directory, lambda _told_already: None), clock)


def _earlier(path: Path, index: TheoremIndex, budgets: tuple[int, ...]) -> IterationResult:
    earlier = read_result(path)
    if earlier.benchmark.checksum != index.checksum:
        raise InputError(
            f"{path} is about other theorems: {earlier.benchmark.name}, "
            f"checksum {earlier.benchmark.checksum[:12]}, and not {index.checksum[:12]}",
            hint="evaluate without --against; `burn-qed compare --allow-different` pairs equal names",
        )
    if not set(budgets) & set(earlier.budgets):
        known = ",".join(map(str, earlier.budgets))
        raise InputError(f"{path} has no result at these budgets", hint=f"it has --budgets {known}")
    return earlier
