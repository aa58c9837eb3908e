"""`burn-qed eval`: how good a prover is on a benchmark."""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import compose, policies, result_tables, sets, stopping, tables, values
from burnqed.cli.comparison_tables import print_comparison
from burnqed.cli.progress import SetProgress
from burnqed.core.errors import InputError
from burnqed.core.runs import MANIFEST, SUMMARY, open_run, publish
from burnqed.data.index import TheoremIndex
from burnqed.evaluation.compare import compare
from burnqed.evaluation.evaluate import AttemptRecords, Identity, evaluate
from burnqed.evaluation.prove import HEARTBEATS
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
from burnqed.evaluation.run import SAVE_EVERY, Plan, run, unfinished, without_lean
from burnqed.lean.pool import run_sync
from burnqed.lean.process import LaunchSpec
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import TRAJECTORIES, TheoremRecord
from burnqed.trajectories.summary import summarize


def eval_command(
    theorems: sets.SetArgument,
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="The run's directory.")],
    budgets: Annotated[
        str, typer.Option(help="Nodes per theorem and attempt; one search serves all of them.")
    ] = "10,30,100",
    pass_n: Annotated[
        int, typer.Option("--pass-n", min=1, help="Attempts at each theorem, with seeds of their own.")
    ] = 1,
    temperature: policies.TemperatureOption = None,
    seed: compose.SeedOption = 0,
    iteration: sets.IterationOption = 0,
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="An earlier result, to print the difference to.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the evaluation that is in --out.")
    ] = False,
    split: sets.SplitOption = None,
    leak_rule: sets.LeakRuleOption = None,
    policy: policies.PolicyOption = None,
    model: policies.ModelOption = None,
    url: policies.UrlOption = None,
    logprobs: policies.LogprobsOption = True,
    prompt: policies.PromptOption = None,
    prompt_tokens: policies.PromptTokensOption = None,
    tactic_tokens: policies.TacticTokensOption = None,
    device: policies.DeviceOption = "auto",
    dtype: policies.DtypeOption = "auto",
    candidates: policies.CandidatesOption = None,
    value: values.ValueOption = None,
    encoder: values.EncoderOption = None,
    value_anyway: values.AnywayOption = False,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Evaluate with --value and without it, and compare.")
    ] = False,
    depth: sets.DepthOption = 50,
    seconds: sets.SecondsOption = None,
    imports: compose.ImportOption = None,
    workers: compose.WorkersOption = None,
    toolchain: compose.ToolchainOption = None,
    project: compose.ProjectOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Evaluate the prover on a benchmark: how many theorems it proves, at which budget.

    Each theorem ends as proved (the judge accepted the proof), exhausted (which budget) or error
    (which), and all three count in every denominator. Smaller budgets are read off the search with the
    largest, which is exact. Budgets are nodes and not seconds, so the same seed gives the same result.

    RUN gets result.json, summary.json and, for each attempt, the trajectories. `burn-qed report RUN`
    draws it, `burn-qed compare RUN OTHER` says whether two differ. Ctrl-C saves; --resume goes on, also
    with more attempts of the same --temperature.

    With --ablate, RUN/with-value and RUN/without-value are two evaluations that differ in nothing but
    --value, and RUN/ablation.json says which theorems only one of them proves, and how likely it is
    that chance did it.

    Examples:

        burn-qed eval qed-core --budgets 10,30,100 --pass-n 2 --out runs/first

        burn-qed eval core-300 --policy mix --model models/nano --out runs/mix

        burn-qed eval library.json --leak-rule self --out runs/library --against runs/earlier

        burn-qed eval core-300 --budgets 10,30 --value models/value --ablate --out runs/ablation

    Exit codes: 0 every theorem was searched (proved or not), 2 some statements are wrong, 3 some could
    not be searched because Lean failed, 130 or 143 stopped by a signal.
    """
    chosen = policies.choice(
        policy, model, url=url, logprobs=logprobs, prompt=prompt, prompt_tokens=prompt_tokens,
        tactic_tokens=tactic_tokens, device=device, dtype=dtype,
    )  # fmt: skip
    if ablate and value is None:
        raise InputError("--ablate needs a value model to leave out", hint="give --value DIR")
    if ablate and against is not None:
        raise InputError(
            "--ablate compares its own two evaluations, and --against another",
            hint="leave out one of them; `burn-qed compare` compares any",
        )
    nodes = sets.read_budgets(budgets)
    _temperature(temperature, pass_n, chosen, False)  # it refuses one that makes no sense
    index = sets.chosen(theorems, leak_rule, split)
    earlier = None if against is None else _earlier(against, index, nodes)
    modules = sets.modules_of(index, imports)
    sets.check_out(out)
    found, spec = compose.lean(toolchain, project, modules)
    prepared = policies.prepare(
        chosen, lambda: compose.library(found, spec, modules, project, workers), workers
    )
    guide = values.guide(value, encoder, value_anyway or ablate, prepared)
    warmth = _temperature(temperature, pass_n, chosen, guide.value is not None)
    candidates = chosen.candidates if candidates is None else candidates
    asked: dict[str, Any] = {
        "command": "eval", "theorems": index.name, "theorems_checksum": index.checksum,
        "nodes": nodes[-1], "depth": depth, "candidates": candidates, "seconds": seconds,
        "temperature": warmth, "iteration": iteration, "seed": seed, "heartbeats": HEARTBEATS,
        **prepared.about, **guide.about, "modules": list(modules), "toolchain": found.label,
        "version": version("burn-qed"),
    }  # fmt: skip
    job = _Job(
        index=index,
        asked=asked,
        out=out,
        spec=spec,
        workers=workers,
        policy=prepared,
        guide=guide,
        nodes=nodes,
        budget=Budget(nodes=nodes[-1], depth=depth, candidates=candidates, seconds=seconds),
        temperature=warmth,
        iteration=iteration,
        seeds=tuple(range(seed, seed + pass_n)),
        resume=resume,
        shown=not as_json,
    )
    done = _ablate(job, as_json) if ablate else _evaluate(job)
    if isinstance(done, _Stopped):
        _print_so_far(job, done, as_json)
        raise stopping.stopped(done.signal)
    if isinstance(done, _Evaluated) and as_json:
        typer.echo(json.dumps(_json(done.result, earlier), ensure_ascii=False))
    elif isinstance(done, _Evaluated):
        result_tables.print_result(done.result, earlier)
    raise sets.end(done.errors)


@dataclass(frozen=True, slots=True)
class _Evaluated:
    result: IterationResult
    errors: set[str]


@dataclass(frozen=True, slots=True)
class _Ablated:
    errors: set[str]


@dataclass(frozen=True, slots=True)
class _Stopped:
    """What was searched before a signal came: no result, and nothing that can be compared."""

    signal: signal.Signals
    records: list[TheoremRecord]


def _evaluate(job: _Job) -> _Evaluated | _Stopped:
    """One evaluation in its directory: as far as it goes, or went before."""
    places = {**job.policy.places, **job.guide.places}
    open_run(job.out, job.asked, resume=job.resume, places=places)
    stopped = run_sync(_search(job))
    attempts = [_read(job.out, number) for number in range(1, len(job.seeds) + 1)]
    records = [record for attempt in attempts for record in attempt.records.values()]
    if stopped is not None:
        return _Stopped(stopped, records)
    identity = Identity(
        settings=job.asked,
        iteration=job.iteration,
        llm_path=places.get("model"),
        ebm_path=places.get("value") if job.guide.value is not None else None,
        training_metrics=job.guide.training,
    )
    result = evaluate(job.index, attempts, job.nodes, identity)
    write_result(job.out / RESULT, result)
    write_summary(job.out / SUMMARY, [result])
    errors = {kind for b in result.budget_results for kind in b.errors}
    errors |= {record.reason for record in records if record.outcome == "error"}
    return _Evaluated(result, errors)


def _print_so_far(job: _Job, stopped: _Stopped, as_json: bool) -> None:
    """What was not reached is neither an error nor unproved: it is not counted."""
    summary = summarize(stopped.records)
    done, total = len(stopped.records), len(job.index.theorems) * len(job.seeds)
    if as_json:
        content = {"stopped": stopped.signal.name, "searches_done": done, "searches_asked": total}
        so_far = json.loads(tables.summary_json(summary))
        typer.echo(json.dumps({**content, "so_far": so_far}, ensure_ascii=False))
    else:
        tables.print_summary(summary, as_json=False)
        typer.echo(f"{done} of {total} searches were done; there is no result yet", err=True)


def _ablate(job: _Job, as_json: bool) -> _Ablated | _Stopped:
    """Without the value model and with it, at equal budgets; stops after one that was stopped."""
    plain = {key: told for key, told in job.asked.items() if not key.startswith("value")}
    arms = (
        replace(job, out=job.out / WITHOUT, asked=plain, guide=values.Guide()),
        replace(job, out=job.out / WITH),
    )
    done: list[_Evaluated] = []
    for arm in arms:
        if job.shown:
            print(arm.out.name, file=sys.stderr)
        own = replace(arm, resume=job.resume and (arm.out / MANIFEST).exists())
        arm_done = _evaluate(own)
        if isinstance(arm_done, _Stopped):
            return arm_done
        done.append(arm_done)
    without, given = (one.result for one in done)
    comparison = compare([("without value", without), ("with value", given)])
    publish(job.out / ABLATION, comparison.to_json() + "\n")
    if as_json:
        typer.echo(comparison.to_json())
    else:
        print_comparison(comparison)
    return _Ablated({kind for one in done for kind in one.errors})


def _json(result: IterationResult, earlier: IterationResult | None) -> dict[str, Any]:
    content = dataclasses.asdict(result)
    if earlier is not None:
        comparison = compare([("the earlier", earlier), ("this", result)])
        content["against"] = json.loads(comparison.to_json())
    return content


def _temperature(given: float | None, attempts: int, policy: policies.Choice, valued: bool) -> float:
    if given is None:
        return policy.temperature(None, valued) if attempts == 1 else policies.SAMPLING
    if given == 0 and attempts > 1:
        raise InputError(
            f"{attempts} attempts at temperature 0 are one attempt {attempts} times",
            hint=f"leave out --temperature, or give one above 0; the default is {policies.SAMPLING:g}",
        )
    return policy.temperature(given)


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


@dataclass(frozen=True, slots=True)
class _Job:
    index: TheoremIndex
    asked: dict[str, Any]
    out: Path
    spec: LaunchSpec
    workers: int | None
    policy: policies.Prepared
    guide: values.Guide
    nodes: tuple[int, ...]
    budget: Budget
    temperature: float
    iteration: int
    seeds: tuple[int, ...]
    resume: bool
    shown: bool


def _directory(out: Path, number: int) -> Path:
    return out / f"attempt-{number}" / TRAJECTORIES


async def _search(job: _Job) -> signal.Signals | None:
    """All attempts, one after the other; the signal that stopped them, if one did."""
    from burnqed.trajectories.store import open_writer

    stop = sets.Stop()
    settings = Settings(temperature=job.temperature)
    async with compose.prover(
        job.spec, job.workers, job.policy, job.budget, settings, job.guide
    ) as prover:
        for number, seed in enumerate(job.seeds, start=1):
            provenance = Provenance(job.out.resolve().name, job.iteration, "search", job.temperature)
            plan = Plan(job.index.theorems, seed, provenance, SAVE_EVERY)
            with open_writer(_directory(job.out, number), tables.warn, again=without_lean) as writer:
                todo = len(unfinished(plan, writer.earlier))
                label = f"attempt {number} of {len(job.seeds)}: " if len(job.seeds) > 1 else ""
                bar = SetProgress(len(plan.theorems), len(plan.theorems) - todo, job.shown, label)
                bar.count(writer.earlier)
                if todo:
                    with bar.shown():
                        await run(prover, plan, writer, bar.record, stop.event, bar.event)
            if stop.signal is not None:
                break
    return stop.signal


def _read(out: Path, number: int) -> AttemptRecords:
    from burnqed.trajectories.store import iter_steps, read_records

    directory = _directory(out, number)
    if not directory.is_dir():
        return AttemptRecords.of([], read_clock([]))
    clock = read_clock(iter_steps(directory, columns=CLOCK_COLUMNS, on_problem=tables.warn))
    return AttemptRecords.of(read_records(directory, lambda _told_already: None), clock)
