"""`burn-qed search`: a set of theorems, every attempt kept."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import compose, tables
from burnqed.cli.progress import SetProgress
from burnqed.core.runs import open_run
from burnqed.data.index import read_index
from burnqed.evaluation.prove import HEARTBEATS
from burnqed.evaluation.run import SAVE_EVERY, Plan, run, unfinished
from burnqed.lean.pool import run_sync
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import TheoremRecord

TRAJECTORIES = "trajectories"


def search_command(
    theorems: Annotated[
        Path, typer.Option("--theorems", metavar="INDEX.json", help="What is to be proved.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="The run's directory.")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that is in --out.")
    ] = False,
    nodes: compose.NodesOption = 100,
    depth: Annotated[int, typer.Option(min=1, help="Steps from the statement, at most.")] = 50,
    candidates: compose.CandidatesOption = compose.PORTFOLIO_CANDIDATES,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.1, help="Limit per theorem; results then depend on the machine's speed."),
    ] = None,
    temperature: Annotated[
        float, typer.Option(min=0, help="0 takes the likeliest candidates, more samples them.")
    ] = 0.0,
    leak_rule: Annotated[
        str | None,
        typer.Option(help="For library theorems, instead of the index's own rule: self or module."),
    ] = None,
    seed: compose.SeedOption = 0,
    save_every: Annotated[int, typer.Option(min=1, help="Theorems between two saves.")] = SAVE_EVERY,
    imports: compose.ImportOption = None,
    workers: compose.WorkersOption = None,
    toolchain: compose.ToolchainOption = None,
    project: compose.ProjectOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Search a set of theorems, several at a time, and keep everything that was tried.

    RUN/trajectories gets Parquet files with a row per tried step, saved every 50 theorems and when the
    run is stopped (Ctrl-C, SIGTERM); --resume goes on where it was stopped or killed, and no theorem
    is searched twice. `burn-qed summary RUN` prints what is there.

    Exit codes: 0 every theorem was searched (proved or not), 2 some statements are wrong, 3 some could
    not be searched because Lean failed, 130 or 143 stopped by a signal.
    """
    from burnqed.trajectories.store import open_writer, read_records

    rule = None if leak_rule is None else compose.leak_rule(leak_rule)
    index = read_index(theorems, rule)
    modules = tuple(dict.fromkeys(["Init", *(imports or ())]))
    found, spec = compose.lean(toolchain, project, modules)
    asked = {
        "command": "search", "theorems": index.name, "theorems_sha256": index.sha256,
        "nodes": nodes, "depth": depth, "candidates": candidates, "seconds": seconds,
        "temperature": temperature, "leak_rule": rule, "seed": seed, "heartbeats": HEARTBEATS,
        "policy": "portfolio", "modules": list(modules), "toolchain": found.label,
    }  # fmt: skip
    open_run(out, asked, resume=resume)
    budget = Budget(nodes=nodes, depth=depth, candidates=candidates, seconds=seconds)
    provenance = Provenance(run=out.resolve().name, temperature=temperature)
    plan = Plan(index.theorems, seed, provenance, save_every)

    async def work() -> signal.Signals | None:
        stop = _Stop()
        with open_writer(out / TRAJECTORIES, on_problem=tables.warn) as writer:
            todo = len(unfinished(plan, writer.earlier))
            bar = SetProgress(len(plan.theorems), len(plan.theorems) - todo, shown=not as_json)
            bar.count(writer.earlier)
            with bar.shown():
                settings = Settings(temperature=temperature)
                async with compose.prover(spec, workers, budget, settings) as prover:
                    await run(prover, plan, writer, bar.record, stop.event, bar.event)
        return stop.signal

    stopped = run_sync(work())
    records = read_records(out / TRAJECTORIES, on_problem=tables.warn)
    tables.print_summary(records, out / TRAJECTORIES, as_json)
    if stopped is not None:
        typer.echo(f"stopped; go on with: burn-qed search --resume --out {out} …", err=True)
        raise typer.Exit(128 + stopped)
    raise typer.Exit(exit_code(records))


def exit_code(records: list[TheoremRecord]) -> int:
    """What a set's errors come to: Lean's failures weigh more than wrong statements."""
    kinds = {record.reason for record in records if record.outcome == "error"} - {"refused"}
    if not kinds:
        return 0
    return 2 if kinds == {"statement"} else 3


class _Stop:
    """Set by the first Ctrl-C or SIGTERM. The second Ctrl-C is Python's own."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.signal: signal.Signals | None = None
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._set, number)

    def _set(self, number: signal.Signals) -> None:
        self.signal = number
        self.event.set()
        asyncio.get_running_loop().remove_signal_handler(number)
