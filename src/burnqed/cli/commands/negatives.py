"""`burn-qed negatives`: what lies beside the proofs of a run, searched until it is given up."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sized
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import compose, policies, sets, stopping, tables
from burnqed.cli.progress import SetProgress
from burnqed.cli.values import Guide
from burnqed.core.errors import NotEnough
from burnqed.core.runs import SUMMARY, open_run, publish
from burnqed.core.types import Theorem
from burnqed.data.index import TheoremIndex
from burnqed.evaluation.compare import count
from burnqed.evaluation.negatives import Effort, checksum, look_beside, paths
from burnqed.evaluation.prove import HEARTBEATS
from burnqed.evaluation.run import Kept, Plan, seed_of, unfinished, without_lean, work_through
from burnqed.lean.pool import run_sync
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import TRAJECTORIES

_SAVE_EVERY = 10  # theorems: each is several searches


def negatives_command(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Runs of `burn-qed search` with proofs.")
    ],
    theorems: Annotated[
        str, typer.Option("--theorems", metavar="SET", help="The set that the runs searched.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="The new run's directory.")],
    siblings: Annotated[
        int, typer.Option(min=0, help="Siblings to search at each state of a proof, drawn by seed.")
    ] = 4,
    min_steps: Annotated[
        int,
        typer.Option(
            min=1, help="Only proofs of so many steps: what is beside one step is mostly as easy."
        ),
    ] = 2,
    walks: Annotated[int, typer.Option(min=0, help="Walks away from each proof.")] = 1,
    walk_length: Annotated[int, typer.Option(min=2, help="Steps of a walk.")] = 3,
    nodes: Annotated[
        int, typer.Option(min=1, help="States that each sibling's search may try before giving up.")
    ] = 8,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that is in --out.")
    ] = False,
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
    temperature: policies.TemperatureOption = None,
    split: sets.SplitOption = None,
    leak_rule: sets.LeakRuleOption = None,
    seed: compose.SeedOption = 0,
    imports: compose.ImportOption = None,
    workers: compose.WorkersOption = None,
    toolchain: compose.ToolchainOption = None,
    project: compose.ProjectOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Search beside the proofs of a run, for states that a value model learns to tell from them.

    At each state of an accepted proof the policy's tactics are tried again. Where one leads elsewhere
    than the proof, the state it leads to gets a search of its own: if that is spent without a proof,
    the state is a negative; if the judge accepts what it finds, a positive. Walks take some steps at
    random first. What was not searched stays unknown.

    OUT/trajectories gets the same Parquet rows as `burn-qed search` writes, with the origins probe and
    walk; `burn-qed train value --data RUN --data OUT` learns from both. Ctrl-C saves, --resume goes on.

    Example:

        burn-qed negatives runs/teacher --theorems library.json --out runs/beside

    Exit codes: 0 all proofs were looked at, 1 there is none that is long enough, 2 bad input, 3 some
    could not be because Lean failed or a proof no longer replays, 130 or 143 stopped by a signal.
    """
    from burnqed.trajectories.store import find_trajectories, iter_rows, open_writer, read_records

    index = sets.chosen(theorems, leak_rule, split)
    sets.check_out(out)
    found_paths = paths(*(iter_rows(find_trajectories(run), tables.warn) for run in runs))
    todo = [t for t in index.theorems if len(found_paths.get(t.name, ())) >= min_steps]
    if not todo:
        raise _nothing_to_do(index, runs, found_paths, min_steps)
    modules = sets.modules_of(index, imports)
    found, spec = compose.lean(toolchain, project, modules)
    chosen = policies.choice(
        policy, model, url=url, logprobs=logprobs, prompt=prompt, prompt_tokens=prompt_tokens,
        tactic_tokens=tactic_tokens, device=device, dtype=dtype,
    )  # fmt: skip
    prepared = policies.prepare(
        chosen, lambda: compose.library(found, spec, modules, project, workers), workers
    )
    candidates = chosen.candidates if candidates is None else candidates
    warmth = chosen.temperature(temperature)
    effort = Effort(siblings, walks, walk_length, nodes)
    asked = {
        "command": "negatives", "theorems": index.name, "theorems_checksum": index.checksum,
        "proofs_checksum": checksum({theorem.name: found_paths[theorem.name] for theorem in todo}),
        "min_steps": min_steps, "siblings": siblings, "walks": walks, "walk_length": walk_length,
        "nodes": nodes, "candidates": candidates, "temperature": warmth, "seed": seed,
        "heartbeats": HEARTBEATS, **prepared.about, "modules": list(modules), "toolchain": found.label,
    }  # fmt: skip
    places = {"runs": [str(run.resolve()) for run in runs], **prepared.places}
    open_run(out, asked, resume=resume, places=places)
    name = out.resolve().name
    plan = Plan(todo, seed, Provenance(run=name, temperature=warmth), _SAVE_EVERY)

    async def work() -> signal.Signals | None:
        stop = sets.Stop()
        with open_writer(out / TRAJECTORIES, tables.warn, again=without_lean) as writer:
            left = len(unfinished(plan, writer.earlier))
            bar = SetProgress(len(todo), len(todo) - left, shown=not as_json)
            bar.count(writer.earlier)
            budget, settings = Budget(nodes=nodes, candidates=candidates), Settings(temperature=warmth)
            with bar.shown():
                async with compose.prover(spec, workers, prepared, budget, settings, Guide()) as prover:

                    async def one(theorem: Theorem) -> Kept:
                        own = seed_of(seed, theorem.name)
                        path = found_paths[theorem.name]
                        return await look_beside(prover, theorem, path, effort, own, name, bar.event)

                    await work_through(plan, one, prover.pool.size, writer, bar.record, stop.event)
        return stop.signal

    stopped = run_sync(work())
    records = read_records(out / TRAJECTORIES, on_problem=tables.warn)
    # Where it was stopped before anything was saved, there is nothing beside the proofs yet.
    saved = [out] if any((out / TRAJECTORIES).glob("part-*.parquet")) else []
    statistics = _contrasts([*runs, *saved])
    if as_json:
        typer.echo(json.dumps(statistics))
    else:
        tables.print_facts("to learn from", statistics)
    if stopped is not None:
        raise stopping.stopped(stopped)
    publish(out / SUMMARY, json.dumps(statistics) + "\n")
    raise sets.end({r.reason for r in records if r.outcome == "error"})


def _nothing_to_do(
    index: TheoremIndex, runs: list[Path], proofs: Mapping[str, Sized], min_steps: int
) -> NotEnough:
    """Why there is no proof to look beside: of other theorems, not found, or too short."""
    from burnqed.trajectories.store import find_trajectories, read_records

    where = ", ".join(map(str, runs))
    own = [len(proofs[theorem.name]) for theorem in index.theorems if theorem.name in proofs]
    if not own:
        places = [find_trajectories(run) for run in runs]
        searched = {r.theorem for place in places for r in read_records(place, lambda _told: None)}
        if searched.isdisjoint(theorem.name for theorem in index.theorems):
            return NotEnough(
                f"no theorem of {index.name} was searched in {where}",
                hint="--theorems is the set that the runs searched",
            )
        return NotEnough(
            f"no theorem of {index.name} was proved in {where}",
            hint="search it with larger --nodes: there has to be a proof to look beside",
        )
    return NotEnough(
        f"no theorem of {index.name} has a proof of {min_steps} steps or more in {where}: the longest "
        f"of {count(len(own), 'proof')} has {max(own)}",
        hint=f"--min-steps {max(own)} takes what there is; harder theorems have longer proofs",
    )


def _contrasts(runs: list[Path]) -> dict[str, int]:
    """What there now is to learn from."""
    from burnqed.trajectories.store import find_trajectories, iter_rows
    from burnqed.value.groups import contrasts

    return contrasts(*(iter_rows(find_trajectories(run), tables.warn) for run in runs)).statistics
