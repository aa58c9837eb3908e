"""Searches a set of theorems and keeps every attempt, as training data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnqed.core.files import publish
from burnqed.core.runs import SUMMARY, check_out, check_resumed, open_run
from burnqed.core.watching import Watcher
from burnqed.evaluation.run import Plan
from burnqed.lean.pool import run_sync
from burnqed.prover import sets
from burnqed.prover.assembly import assemble, check
from burnqed.prover.config import SearchConfig
from burnqed.prover.following import followed, following
from burnqed.prover.leans import modules_of
from burnqed.prover.sites import HERE, Cluster
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import TRAJECTORIES, Origin
from burnqed.trajectories.summary import Summary, summed_up


@dataclass(frozen=True, slots=True)
class Searched:
    """What there is now; not `whole` if it was stopped before its end."""

    whole: bool
    summary: Summary


def search(
    theorems: str,
    out: Path,
    config: SearchConfig,
    watcher: Watcher,
    *,
    resume: bool,
    cluster: Cluster = HERE,
) -> Searched:
    """Search a set into a run's directory, or continue there. What is whole gets a summary.json."""
    check(config)
    cluster.ready(config)
    index = sets.chosen(theorems, config.leak_rule, config.split)
    modules = modules_of(config, index.imports)
    check_out(out)
    if resume:  # before a Lean with other modules is set up
        check_resumed(out, {"modules": list(modules)})
    told = followed(config.follow, [t.name for t in index.theorems]) if config.follow else None
    assembled = assemble(config, modules, config.nodes, watcher.warn, out if resume else None)
    if told is not None:
        assembled = following(assembled, told)
    origin: Origin = "noise" if config.noise else "search"
    asked = {
        "command": "search", "theorems": index.name, "theorems_checksum": index.checksum,
        "nodes": config.nodes, "origin": origin, "iteration": config.iteration, **assembled.about,
    }  # fmt: skip
    open_run(out, asked, resume=resume, places=assembled.places)
    provenance = Provenance(out.resolve().name, config.iteration, origin, assembled.temperature)
    plan = Plan(index.theorems, config.seed, provenance, config.save_every)

    async def work() -> bool:
        stop = watcher.stopping()
        async with cluster.opened(assembled, watcher.warn) as site:
            await sets.search_through(site, plan, out / TRAJECTORIES, watcher, stop)
        return not stop.is_set()

    whole = run_sync(work())
    summary = summed_up(out / TRAJECTORIES, watcher.warn)
    if whole:
        publish(out / SUMMARY, summary.to_json(lines=False) + "\n")
    return Searched(whole, summary)
