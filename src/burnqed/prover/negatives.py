"""Searches beside the proofs of runs, for states that a value model learns to tell from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.core.errors import NotEnough
from burnqed.core.runs import check_out, open_run
from burnqed.core.types import Theorem
from burnqed.data.index import TheoremIndex
from burnqed.evaluation.compare import count
from burnqed.evaluation.negatives import Effort, checksum, paths, search_siblings
from burnqed.evaluation.run import Kept, Plan, seed_of, work_through
from burnqed.lean.pool import run_sync
from burnqed.prover import sets
from burnqed.prover.assembly import assemble, check, modules_of
from burnqed.prover.config import NegativesConfig
from burnqed.prover.watching import Bar, Watcher
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import TRAJECTORIES

if TYPE_CHECKING:  # it loads pyarrow
    from burnqed.trajectories.store import TrajectoryWriter

_SAVE_EVERY = 10  # theorems: each is several searches


def negatives(
    runs: Sequence[Path],
    theorems: str,
    out: Path,
    config: NegativesConfig,
    watcher: Watcher,
    *,
    resume: bool,
) -> bool:
    """Look beside the proofs of runs of one set; False when it was stopped before its end."""
    from burnqed.trajectories.store import find_trajectories, iter_rows

    check(config)
    index = sets.chosen(theorems, config.leak_rule, config.split)
    check_out(out)
    found = paths(*(iter_rows(find_trajectories(run), watcher.warn) for run in runs))
    todo = [t for t in index.theorems if len(found.get(t.name, ())) >= config.min_steps]
    if not todo:
        raise _nothing_to_do(index, runs, found, config.min_steps)
    assembled = assemble(config, modules_of(config, index.imports), config.nodes, watcher.warn)
    effort = Effort(config.siblings, config.walks, config.walk_length, config.nodes)
    asked = {
        "command": "negatives", "theorems": index.name, "theorems_checksum": index.checksum,
        "proofs_checksum": checksum({theorem.name: found[theorem.name] for theorem in todo}),
        "min_steps": config.min_steps, "siblings": config.siblings, "walks": config.walks,
        "walk_length": config.walk_length, "nodes": config.nodes, **assembled.about,
    }  # fmt: skip
    places = {"runs": [str(run.resolve()) for run in runs], **assembled.places}
    open_run(out, asked, resume=resume, places=places)
    name = out.resolve().name
    provenance = Provenance(run=name, temperature=assembled.temperature)
    plan = Plan(todo, config.seed, provenance, _SAVE_EVERY)

    async def work() -> bool:
        stop = watcher.stopping()
        async with assembled.opened() as prover:

            async def look(writer: TrajectoryWriter, bar: Bar) -> None:
                async def one(theorem: Theorem) -> Kept:
                    seed = seed_of(config.seed, theorem.name)
                    path = found[theorem.name]
                    return await search_siblings(prover, theorem, path, effort, seed, name, bar.event)

                await work_through(plan, one, prover.pool.size, writer, bar.record, stop)

            await sets.go_through(plan, out / TRAJECTORIES, watcher, look)
        return not stop.is_set()

    return run_sync(work())


def _nothing_to_do(
    index: TheoremIndex, runs: Sequence[Path], proofs: Mapping[str, Sized], min_steps: int
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
                hint="SET is the set that the runs searched",
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
