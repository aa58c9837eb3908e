"""`burn-qed search`: a set of theorems, every attempt kept."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import compose, policies, sets, stopping, tables, values
from burnqed.cli.progress import SetProgress
from burnqed.core.errors import InputError
from burnqed.core.runs import SUMMARY, check_resumed, open_run, publish
from burnqed.evaluation.prove import HEARTBEATS
from burnqed.evaluation.run import SAVE_EVERY, Plan, run, unfinished, without_lean
from burnqed.lean.pool import run_sync
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import TRAJECTORIES, Origin


def search_command(
    theorems: Annotated[
        str,
        typer.Option("--theorems", metavar="SET", help="An INDEX.json, or a benchmark's name."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="The run's directory.")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that is in --out.")
    ] = False,
    nodes: compose.NodesOption = 100,
    depth: sets.DepthOption = 50,
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
    seconds: sets.SecondsOption = None,
    temperature: policies.TemperatureOption = None,
    noise: Annotated[
        bool,
        typer.Option(
            "--noise",
            help=f"Search with noise, for proofs that are new: at temperature {policies.NOISE:g} "
            "by itself, and the rows say so.",
        ),
    ] = False,
    iteration: sets.IterationOption = 0,
    value: values.ValueOption = None,
    encoder: values.EncoderOption = None,
    value_anyway: values.AnywayOption = False,
    split: sets.SplitOption = None,
    leak_rule: sets.LeakRuleOption = None,
    seed: compose.SeedOption = 0,
    save_every: Annotated[int, typer.Option(min=1, help="Save after so many theorems.")] = SAVE_EVERY,
    imports: compose.ImportOption = None,
    workers: compose.WorkersOption = None,
    toolchain: compose.ToolchainOption = None,
    project: compose.ProjectOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Search a set of theorems, several at a time, and keep everything that was tried.

    RUN/trajectories gets Parquet files with a row per tried step, saved every 50 theorems, every minute
    and when the run is stopped (Ctrl-C, SIGTERM); --resume goes on where it was stopped or killed, and
    searches no theorem twice but those that Lean failed. `burn-qed summary RUN` prints what is there.

    Exit codes: 0 every theorem was searched (proved or not), 2 some statements are wrong, 3 some could
    not be searched because Lean failed, 130 or 143 stopped by a signal.
    """
    from burnqed.trajectories.store import open_writer

    origin: Origin = "noise" if noise else "search"
    if noise and temperature == 0:
        raise InputError("temperature 0 has no noise", hint="leave out --temperature, or --noise")
    if noise and temperature is None:
        temperature = policies.NOISE
    index = sets.chosen(theorems, leak_rule, split)
    modules = sets.modules_of(index, imports)
    sets.check_out(out)
    if resume:  # before a Lean with other modules is set up
        check_resumed(out, {"modules": list(modules)})
    found, spec = compose.lean(toolchain, project, modules)
    chosen = policies.choice(
        policy, model, url=url, logprobs=logprobs, prompt=prompt, prompt_tokens=prompt_tokens,
        tactic_tokens=tactic_tokens, device=device, dtype=dtype,
    )  # fmt: skip
    prepared = policies.prepare(
        chosen, lambda: compose.library(found, spec, modules, project, workers), workers
    )
    guide = values.guide(value, encoder, value_anyway, prepared)
    candidates = chosen.candidates if candidates is None else candidates
    warmth = chosen.temperature(temperature, guide.value is not None)
    asked = {
        "command": "search", "theorems": index.name, "theorems_checksum": index.checksum,
        "nodes": nodes, "depth": depth, "candidates": candidates, "seconds": seconds,
        "temperature": warmth, "origin": origin, "iteration": iteration, "seed": seed,
        "heartbeats": HEARTBEATS,
        **prepared.about, **guide.about, "modules": list(modules), "toolchain": found.label,
    }  # fmt: skip
    open_run(out, asked, resume=resume, places={**prepared.places, **guide.places})
    budget = Budget(nodes=nodes, depth=depth, candidates=candidates, seconds=seconds)
    provenance = Provenance(out.resolve().name, iteration, origin, warmth)
    plan = Plan(index.theorems, seed, provenance, save_every)

    async def work() -> signal.Signals | None:
        stop = sets.Stop()
        with open_writer(out / TRAJECTORIES, tables.warn, again=without_lean) as writer:
            todo = len(unfinished(plan, writer.earlier))
            bar = SetProgress(len(plan.theorems), len(plan.theorems) - todo, shown=not as_json)
            bar.count(writer.earlier)
            with bar.shown():
                settings = Settings(temperature=warmth)
                async with compose.prover(spec, workers, prepared, budget, settings, guide) as prover:
                    await run(prover, plan, writer, bar.record, stop.event, bar.event)
        return stop.signal

    stopped = run_sync(work())
    summary = tables.summed_up(out / TRAJECTORIES)
    tables.print_summary(summary, as_json)
    if stopped is not None:
        raise stopping.stopped(stopped)
    publish(out / SUMMARY, tables.summary_json(summary) + "\n")
    tables.refuse_damage(summary)
    raise sets.end(set(summary.errors))
