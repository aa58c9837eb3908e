"""The stages of an iteration, in their order; what searches and evaluates.

Pure: what a stage is depends on the configuration and on what became of the stages before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import asdict, replace

from burnqed.data.benchmarks import BENCHMARKS, Packaged
from burnqed.iteration import specs
from burnqed.iteration.config import RANKED, RANKER, SERVED, Config, set_name
from burnqed.iteration.history import BASELINE
from burnqed.iteration.learning import learning, look, pairs
from burnqed.iteration.made import (
    TEACHER,
    TEACHER_PAIRS,
    TRAIN,
    Done,
    Settings,
    asked_of,
    evaluation_of,
    folder,
    guide,
    guided,
    held_out,
    own_runs,
    paths,
    runs_before,
    served,
    teacher_runs,
    value_model,
    workers,
)
from burnqed.iteration.sections import Theorems
from burnqed.iteration.specs import Stage
from burnqed.prover.config import EvalConfig, LeanConfig, SearchConfig
from burnqed.prover.data_config import IndexConfig
from burnqed.training.plans import NANO


def stages(config: Config, iteration: int, done: Done) -> list[Stage]:
    """All stages of an iteration, in their order."""
    if iteration == BASELINE:
        return [*_theorem_sets(config), *_evaluations(config, BASELINE, done)]
    searching = [*_searches(config, iteration, done)]
    looking = [*look(config, iteration, done)]
    # Before the searches that a value model may guide, and which a red line leaves without it.
    looked_first = iteration >= config.value.first
    taught = iteration == 0 and not config.data.base and config.policy.base != SERVED
    return [
        *(_teaching(config, done) if taught else ()),
        *learning(config, iteration, done),
        *((*looking, *searching) if looked_first else (*searching, *looking)),
        *_evaluations(config, iteration, done),
    ]


def _theorem_sets(config: Config) -> Iterator[Stage]:
    theorems, run, at = config.theorems, config.run, BASELINE
    for given in config.eval.sets:
        benchmark = BENCHMARKS.get(given)
        if benchmark is not None and not isinstance(benchmark.origin, Packaged):
            lean = LeanConfig(toolchain=run.toolchain, project=run.project)
            yield Stage(at, f"fetch-{given}", specs.Fetch(name=given, config=lean))
        name, sample = set_name(given), config.eval.sample
        drawn: Settings = {"at_most": sample, "seed": run.seed} if sample else {}
        asked = IndexConfig(theorems=given, **drawn)
        yield Stage(at, f"held-out-{name}", specs.Index(config=asked, out=Path(held_out(name))))
    own = run.project is not None and theorems.modules == Theorems().modules
    asked = IndexConfig(
        theorems=theorems.set or None,
        module=() if theorems.set or own else theorems.modules,
        split=theorems.split or None,
        without=config.eval.sets,
        at_most=theorems.sample or None,
        seed=run.seed,
        leak_rule=theorems.leak_rule,
        toolchain=run.toolchain,
        project=run.project,
    )
    yield Stage(at, "theorems", specs.Index(config=asked, out=Path(TRAIN)))


# --------------------------------------------------------------------------------- searching


def _teaching(config: Config, done: Done) -> Iterator[Stage]:
    """The untrained searches, each on what those before it left, and their proofs as pairs."""
    ranker = config.policy.base == RANKER
    # A ranker that has learnt nothing proposes lemmas already, and so finds some to learn from.
    rules = {"policy": RANKED if ranker else "portfolio"}
    teacher = served(config) if config.teacher.policy == SERVED else rules
    asked = {**teacher, "candidates": config.teacher.candidates}
    rounds = _Rounds(0, "teacher", TEACHER, config.teacher.nodes, config.teacher.sample, asked)
    yield from _rounds(config, rounds, [], done)
    if not ranker:
        yield pairs(config, 0, "teacher-pairs", teacher_runs(config, done), TEACHER_PAIRS)


def _searches(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    place, search = f"trajectories/{folder(iteration)}", config.search
    plain = {
        **asdict(search.settings), **asked_of(config, iteration, done), "candidates": search.candidates,
    }  # fmt: skip
    following = guided(plain, guide(iteration, done))
    earlier = runs_before(config, iteration, done) if iteration else teacher_runs(config, done)
    nodes = tuple(max(1, round(n * search.escalate**iteration)) for n in search.nodes)
    rounds = _Rounds(iteration, "search", place, nodes, search.sample, following)
    yield from _rounds(config, rounds, earlier, done)
    if iteration == 0 and search.noise_nodes:
        index, runs = f"{place}/noise.json", [*earlier, *own_runs(config, 0, done)]
        runs = [run for run in runs if run != f"{place}/noise"]
        yield _select(config, 0, "noise-theorems", runs, search.noise_sample, index)
        noise = {**guided(plain, None), "noise": True, "temperature": search.noise_temperature}
        out = f"{place}/noise"
        yield _search(config, 0, "noise", index, search.noise_nodes, noise, out, ("noise-theorems",))


@dataclass(frozen=True, slots=True)
class _Rounds:
    """One search of an iteration's theorems, repeated with more nodes for those still unproved.

    `name` begins the names of its stages. `place` is the run's directory for what it finds.
    """

    iteration: int
    name: str
    place: str
    nodes: tuple[int, ...]
    sample: int
    settings: Settings


def _rounds(config: Config, asked: _Rounds, earlier: list[str], done: Done) -> Iterator[Stage]:
    """Searches whose budgets rise, each on the theorems that none before it proved."""
    runs = list(earlier)
    for number, budget in enumerate(asked.nodes, start=1):
        index = TRAIN
        needs: tuple[str, ...] = ()
        if runs or asked.sample:
            # A sample is drawn once; later rounds take what the first left of it.
            first = number == 1 or not asked.sample
            source = TRAIN if first else f"{asked.place}/theorems_1.json"
            index, needs = f"{asked.place}/theorems_{number}.json", (f"{asked.name}-{number}-theorems",)
            drawn = asked.sample if number == 1 else 0
            select = _select(config, asked.iteration, needs[0], runs, drawn, index, source)
            yield select if first else replace(select, needs=(f"{asked.name}-1-theorems",))
        name, out = f"{asked.name}-{number}", f"{asked.place}/search_{number}"
        yield _search(config, asked.iteration, name, index, budget, asked.settings, out, needs)
        if done.get((asked.iteration, name)) != "skipped":
            runs.append(out)


def _select(
    config: Config, iteration: int, name: str, runs: list[str], sample: int, out: str,
    source: str = TRAIN,
) -> Stage:  # fmt: skip
    asked = IndexConfig(
        theorems=source, unproved=paths(runs), at_most=sample or None,
        seed=config.run.seed + iteration,
    )  # fmt: skip
    return Stage(iteration, name, specs.Index(config=asked, out=Path(out)), optional=True)


def _search(
    config: Config, iteration: int, name: str, index: str, nodes: int, settings: Settings,
    out: str, needs: tuple[str, ...],
) -> Stage:  # fmt: skip
    asked = SearchConfig(
        **settings, **workers(config), nodes=nodes, iteration=iteration, seed=config.run.seed
    )
    where = config.cluster.address
    spec = specs.Search(theorems=index, config=asked, out=Path(out), cluster=where)
    return Stage(iteration, name, spec, needs=needs)


# ----------------------------------------------------------------------------------- learning


def _evaluations(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    baseline, value = iteration == BASELINE, value_model(iteration, done)
    policy = untrained(config) if baseline else asked_of(config, iteration, done)
    settings = {**guided(asdict(config.eval.settings), value), **policy, **workers(config)}
    asked = EvalConfig(
        **settings,
        ablate=value is not None,
        budgets=config.eval.budgets,
        candidates=config.eval.candidates,
        iteration=max(iteration, 0),
        seed=config.run.seed,
    )
    for given in config.eval.sets:
        name = set_name(given)
        out = Path(evaluation_of(iteration, name))
        where = config.cluster.address
        spec = specs.Evaluate(theorems=held_out(name), config=asked, out=out, cluster=where)
        yield Stage(iteration, f"eval-{name}", spec)


def untrained(config: Config) -> Settings:
    """What there is before any training: the base model, or the portfolio where there is none."""
    if config.policy.base in (NANO, RANKER):
        return {"policy": "portfolio"}
    if config.policy.base == SERVED:
        return served(config)
    policy, device = config.search.policy, config.run.device
    return {"policy": policy, "model": config.policy.base, "device": device}


# ----------------------------------------------------------------------------------- settings
