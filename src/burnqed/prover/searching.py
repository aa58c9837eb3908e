"""A set of theorems searched, every attempt kept, for something to learn from."""

from __future__ import annotations

from pathlib import Path

from burnqed.core.runs import check_out, check_resumed, open_run
from burnqed.evaluation.run import Plan
from burnqed.lean.pool import run_sync
from burnqed.prover import sets
from burnqed.prover.assembly import assemble, check, modules_of
from burnqed.prover.config import SearchConfig
from burnqed.prover.watching import Watcher
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import TRAJECTORIES, Origin


def search(theorems: str, out: Path, config: SearchConfig, watcher: Watcher, *, resume: bool) -> bool:
    """Search a set into a run's directory, or go on with it; False when it was stopped."""
    check(config)
    index = sets.chosen(theorems, config.leak_rule, config.split)
    modules = modules_of(config, index.imports)
    check_out(out)
    if resume:  # before a Lean with other modules is set up
        check_resumed(out, {"modules": list(modules)})
    assembled = assemble(config, modules, config.nodes, watcher.warn)
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
        async with assembled.opened() as prover:
            await sets.search_through(prover, plan, out / TRAJECTORIES, watcher, stop)
        return not stop.is_set()

    return run_sync(work())
