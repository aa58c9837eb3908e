"""Searches of the siblings of known proofs: hard negatives for a value model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.core.errors import NotEnough
from burnqed.core.files import publish
from burnqed.core.runs import SUMMARY, check_out, open_run
from burnqed.core.types import Theorem
from burnqed.core.watching import Bar, Watcher
from burnqed.data.index import TheoremIndex
from burnqed.evaluation.compare import count
from burnqed.evaluation.negatives import Beside, Effort, checksum, paths
from burnqed.evaluation.run import Kept, Plan, seed_of, work_through
from burnqed.lean.pool import run_sync
from burnqed.prover import sets
from burnqed.prover.assembly import assemble, check
from burnqed.prover.config import NegativesConfig
from burnqed.prover.leans import modules_of
from burnqed.prover.policies import Warn
from burnqed.prover.sites import HERE, Cluster
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import TRAJECTORIES

if TYPE_CHECKING:  # it loads pyarrow
    from burnqed.trajectories.store import TrajectoryWriter

_SAVE_EVERY = 10  # theorems: each is several searches


@dataclass(frozen=True, slots=True)
class Looked:
    """What there now is to learn from; not `whole` when it was stopped before its end."""

    whole: bool
    statistics: Mapping[str, int]
    errors: Mapping[str, int]  # theorems that could not be looked at, by kind


def negatives(
    runs: Sequence[Path],
    theorems: str,
    out: Path,
    config: NegativesConfig,
    watcher: Watcher,
    *,
    resume: bool,
    cluster: Cluster = HERE,
) -> Looked:
    """Search the siblings of the proofs of some runs of one set. What is whole gets a summary.json."""
    from burnqed.trajectories.store import find_trajectories, iter_rows

    check(config)
    cluster.ready(config)
    index = sets.chosen(theorems, config.leak_rule, config.split)
    check_out(out)
    found = paths(*(iter_rows(find_trajectories(run), watcher.warn) for run in runs))
    todo = [t for t in index.theorems if len(found.get(t.name, ())) >= config.min_steps]
    if not todo:
        raise _nothing_to_do(index, runs, found, config.min_steps)
    modules = modules_of(config, index.imports)
    assembled = assemble(config, modules, config.nodes, watcher.warn, out if resume else None)
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
        async with cluster.opened(assembled, watcher.warn) as site:

            async def look(writer: TrajectoryWriter, bar: Bar) -> None:
                async def one(theorem: Theorem) -> Kept:
                    seed = seed_of(config.seed, theorem.name)
                    job = Beside(theorem, found[theorem.name], effort, seed, name)
                    return await site.do(job, bar.event)

                await work_through(plan, one, site.at_once, writer, bar.record, stop)

            await sets.go_through(plan, out / TRAJECTORIES, watcher, look)
        return not stop.is_set()

    whole = run_sync(work())
    looked = _looked(whole, runs, out, watcher.warn)
    if whole:
        publish(out / SUMMARY, json.dumps(looked.statistics) + "\n")
    return looked


def _looked(whole: bool, runs: Sequence[Path], out: Path, warn: Warn) -> Looked:
    from burnqed.trajectories.store import find_trajectories, iter_rows, read_records
    from burnqed.value.groups import contrasts

    records = read_records(out / TRAJECTORIES, on_problem=warn)
    # Where it was stopped before anything was saved, there is nothing beside the proofs yet.
    saved = [out] if any((out / TRAJECTORIES).glob("part-*.parquet")) else []
    found = contrasts(*(iter_rows(find_trajectories(run), warn) for run in [*runs, *saved]))
    errors = Counter(r.reason for r in records if r.outcome == "error")
    return Looked(whole, found.statistics, errors)


def _nothing_to_do(
    index: TheoremIndex, runs: Sequence[Path], proofs: Mapping[str, Sized], min_steps: int
) -> NotEnough:
    """Why no proof can be used: of other theorems, not found, or too short."""
    from burnqed.trajectories.store import find_trajectories, read_records

    where = ", ".join(map(str, runs))
    own = [len(proofs[theorem.name]) for theorem in index.theorems if theorem.name in proofs]
    if not own:
        places = [find_trajectories(run) for run in runs]
        searched = {r.theorem for place in places for r in read_records(place, lambda _problem: None)}
        if searched.isdisjoint(theorem.name for theorem in index.theorems):
            return NotEnough(
                f"no theorem of {index.name} was searched in {where}",
                hint="SET must be the set that the runs searched",
            )
        return NotEnough(
            f"no theorem of {index.name} was proved in {where}",
            hint="search it with more --nodes first: negatives need proofs",
        )
    return NotEnough(
        f"no theorem of {index.name} has a proof of {min_steps} steps or more in {where}: the longest "
        f"of {count(len(own), 'proof')} has {max(own)}",
        hint=f"give --min-steps {max(own)}, or search harder theorems",
    )
