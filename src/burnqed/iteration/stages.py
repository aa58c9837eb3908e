"""The stages of an iteration: what each does, and where what it makes goes.

Pure: what a stage is depends on the configuration and on what became of the stages before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import asdict, replace

from burnqed.data.benchmarks import BENCHMARKS, Packaged
from burnqed.iteration import specs
from burnqed.iteration.config import RANKED, RANKER, TRAIN_NAME, Config, set_name
from burnqed.iteration.history import BASELINE
from burnqed.iteration.specs import Stage
from burnqed.prover.config import (
    UNGUIDED,
    EncoderConfig,
    EvalConfig,
    ExportConfig,
    LeanConfig,
    NegativesConfig,
    SearchConfig,
)
from burnqed.prover.data_config import IndexConfig, PairsConfig
from burnqed.training.plans import NANO
from burnqed.training.settings import PolicyTraining, RankerTraining, ValueTraining

Status = Literal["done", "skipped"]
Done = Mapping[tuple[int, str], Status]  # by iteration and stage
Settings = Mapping[str, Any]  # of a search, by their names

TRAIN = f"theorems/{TRAIN_NAME}.json"
TEACHER = "trajectories/teacher"
TEACHER_PAIRS = f"{TEACHER}/pairs.jsonl"
VALUE = "value"


def folder(iteration: int) -> str:
    return "baseline" if iteration == BASELINE else f"iter_{iteration}"


def held_out(name: str) -> str:
    return f"theorems/{name}.json"


def model_of(config: Config, iteration: int) -> str:
    if config.policy.base == RANKER:
        return f"{policy_training(iteration)}/best"  # it is used as it was trained
    return f"models/llm/{folder(iteration)}"


def policy_training(iteration: int) -> str:
    return f"checkpoints/llm/{folder(iteration)}"


def value_training(iteration: int) -> str:
    return f"checkpoints/ebm/{folder(iteration)}"


def evaluation_of(iteration: int, name: str) -> str:
    return f"eval_results/{folder(iteration)}/{name}"


def stages(config: Config, iteration: int, done: Done) -> list[Stage]:
    """All stages of an iteration, in their order."""
    if iteration == BASELINE:
        return [*_theorem_sets(config), *_evaluations(config, BASELINE, done)]
    return [
        *(_teaching(config, done) if iteration == 0 and not config.data.base else ()),
        *(_ranker if config.policy.base == RANKER else _policy)(config, iteration, done),
        *(_value(config, iteration, done) if iteration >= config.value.first else ()),
        *_searches(config, iteration, done),
        *_evaluations(config, iteration, done),
    ]


def search_runs(config: Config, iteration: int, done: Done) -> list[str]:
    """The searches of an iteration that are done; the teacher's are the first of iteration 0."""
    taught = _teacher_runs(config, done) if iteration == 0 else []
    return [*taught, *_own_runs(config, iteration, done)]


def _teacher_runs(config: Config, done: Done) -> list[str]:
    rounds = () if config.data.base else range(1, len(config.teacher.nodes) + 1)
    return [f"{TEACHER}/search_{k}" for k in rounds if done.get((0, f"teacher-{k}")) == "done"]


def _own_runs(config: Config, iteration: int, done: Done) -> list[str]:
    rounds = [(f"search-{k}", f"search_{k}") for k in range(1, len(config.search.nodes) + 1)]
    return [
        f"trajectories/{folder(iteration)}/{run}"
        for name, run in (*rounds, ("noise", "noise"))
        if done.get((iteration, name)) == "done"
    ]


def _before(config: Config, iteration: int, done: Done) -> list[str]:
    """Every search of the earlier iterations."""
    return [run for one in range(iteration) for run in search_runs(config, one, done)]


# ------------------------------------------------------------------------------ theorem sets


def _theorem_sets(config: Config) -> Iterator[Stage]:
    theorems, run, at = config.theorems, config.run, BASELINE
    for given in config.eval.sets:
        benchmark = BENCHMARKS.get(given)
        if benchmark is not None and not isinstance(benchmark.origin, Packaged):
            lean = LeanConfig(toolchain=run.toolchain)
            yield Stage(at, f"fetch-{given}", specs.Fetch(name=given, config=lean))
        name, sample = set_name(given), config.eval.sample
        drawn: Settings = {"at_most": sample, "seed": run.seed} if sample else {}
        asked = IndexConfig(theorems=given, **drawn)
        yield Stage(at, f"held-out-{name}", specs.Index(config=asked, out=Path(held_out(name))))
    asked = IndexConfig(
        theorems=theorems.set or None,
        module=() if theorems.set else theorems.modules,
        split=theorems.split or None,
        without=config.eval.sets,
        at_most=theorems.sample or None,
        seed=run.seed,
        leak_rule=theorems.leak_rule,
        toolchain=run.toolchain,
    )
    yield Stage(at, "theorems", specs.Index(config=asked, out=Path(TRAIN)))


# --------------------------------------------------------------------------------- searching


def _teaching(config: Config, done: Done) -> Iterator[Stage]:
    """The untrained searches, each on what those before it left, and their proofs as pairs."""
    ranker = config.policy.base == RANKER
    # A ranker that has learnt nothing proposes lemmas already, and so finds some to learn from.
    policy = RANKED if ranker else "portfolio"
    asked = {"policy": policy, "candidates": config.teacher.candidates}
    rounds = _Rounds(0, "teacher", TEACHER, config.teacher.nodes, config.teacher.sample, asked)
    yield from _rounds(config, rounds, [], done)
    if not ranker:
        yield _pairs(config, 0, "teacher-pairs", _teacher_runs(config, done), TEACHER_PAIRS)


def _searches(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    place, search = f"trajectories/{folder(iteration)}", config.search
    plain = {
        **asdict(search.settings), **_asked(config, iteration), "candidates": search.candidates,
    }  # fmt: skip
    guided = _guided(plain, _value_model(iteration, done))
    earlier = _before(config, iteration, done) if iteration else _teacher_runs(config, done)
    nodes = tuple(max(1, round(n * search.escalate**iteration)) for n in search.nodes)
    rounds = _Rounds(iteration, "search", place, nodes, search.sample, guided)
    yield from _rounds(config, rounds, earlier, done)
    if iteration == 0 and search.noise_nodes:
        index, runs = f"{place}/noise.json", [*earlier, *_own_runs(config, 0, done)]
        runs = [run for run in runs if run != f"{place}/noise"]
        yield _select(config, 0, "noise-theorems", runs, search.noise_sample, index)
        noise = {**_guided(plain, None), "noise": True, "temperature": search.noise_temperature}
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
        theorems=source, unproved=_paths(runs), at_most=sample or None,
        seed=config.run.seed + iteration,
    )  # fmt: skip
    return Stage(iteration, name, specs.Index(config=asked, out=Path(out)), optional=True)


def _search(
    config: Config, iteration: int, name: str, index: str, nodes: int, settings: Settings,
    out: str, needs: tuple[str, ...],
) -> Stage:  # fmt: skip
    asked = SearchConfig(
        **settings, **_workers(config), nodes=nodes, iteration=iteration, seed=config.run.seed
    )
    spec = specs.Search(theorems=index, config=asked, out=Path(out))
    return Stage(iteration, name, spec, needs=needs)


# ----------------------------------------------------------------------------------- learning


def _pairs(config: Config, iteration: int, name: str, runs: list[str], out: str) -> Stage:
    asked = PairsConfig(
        without=config.eval.sets, easy_share=config.data.easy_share, seed=config.run.seed
    )
    spec = specs.Pairs(runs=_paths(runs), config=asked, out=Path(out))
    return Stage(iteration, name, spec, optional=iteration > 0)


def _policy(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """Training on what was proved so far, from where the iteration before left off; then the export."""
    data, policy = config.data, config.policy
    given = asdict(policy.training)
    if iteration > 0:
        found = f"trajectories/{folder(iteration)}/pairs.jsonl"
        if own := [run for one in range(iteration) for run in _own_runs(config, one, done)]:
            yield _pairs(config, iteration, "pairs", own, found)
        if done.get((iteration, "pairs")) == "done":
            given |= {"extra_data": (Path(found),), "extra_weight": data.extra_weight}
            given |= {"base_sample": data.base_sample}
        base = f"{policy_training(iteration - 1)}/best"
        if policy.base == NANO:
            given["method"] = "full"
    else:
        base = policy.base
        given |= {"nano_size": policy.nano_size} if base == NANO else {}
    asked = PolicyTraining(
        **given,
        data=_paths(data.base or (TEACHER_PAIRS,)),
        base=base,
        lr=float(f"{policy.lr * policy.lr_decay**iteration:g}"),  # as a person would write it
        epochs=policy.epochs if iteration else policy.first_epochs,
        batch=policy.batch,
        accumulate=policy.accumulate,
        val_share=data.val_share,
        seed=config.run.seed,
    )
    trained = Path(policy_training(iteration))
    yield Stage(iteration, "policy", specs.TrainPolicy(config=asked, out=trained))
    # Of weights that were trained as they are there is nothing merged that could be compared.
    written = ExportConfig(verify=policy.base != NANO)
    export = specs.Export(source=trained, config=written, out=Path(model_of(config, iteration)))
    yield Stage(iteration, "export", export)


def _ranker(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """Learning from all searches so far, and not from where the one before left off: it is quick."""
    runs = [*_before(config, iteration, done), *(_teacher_runs(config, done) if not iteration else ())]
    asked = RankerTraining(
        **asdict(config.policy.ranker),
        data=_paths(runs),
        without=config.eval.sets,
        val_share=config.data.val_share,
        seed=config.run.seed,
    )
    lean = LeanConfig(**_workers(config))
    spec = specs.TrainRanker(config=asked, lean=lean, out=Path(policy_training(iteration)))
    yield Stage(iteration, "policy", spec)


def _value(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """What lies beside new proofs, and a value model of all searches so far."""
    value, seed = config.value, config.run.seed
    new = _before(config, iteration, done)
    if iteration > value.first:  # beside the others was looked before
        new = search_runs(config, iteration - 1, done)
    if new and value.beside_nodes and value.siblings:
        beside = NegativesConfig(
            **_asked(config, iteration), **_workers(config), siblings=value.siblings, walks=0,
            nodes=value.beside_nodes, min_steps=value.beside_steps, seed=seed,
            candidates=value.candidates or config.search.candidates,
        )  # fmt: skip
        out = Path(_beside(iteration))
        negatives = specs.Negatives(theorems=TRAIN, runs=_paths(new), config=beside, out=out)
        yield Stage(iteration, "beside", negatives, optional=True)
    runs = _before(config, iteration, done)
    runs += [_beside(one) for one in range(iteration + 1) if done.get((one, "beside")) == "done"]
    own = value.model == "policy"
    asked = ValueTraining(
        **asdict(value.training),
        data=_paths(runs),
        model=model_of(config, iteration) if own else value.model,
        val_share=value.val_share,
        seed=seed,
    )
    device: Settings = {"device": config.run.device} if own else {}
    encoding = EncoderConfig(**asdict(value.encoder), **device)
    spec = specs.TrainValue(config=asked, encoding=encoding, out=Path(value_training(iteration)))
    yield Stage(iteration, VALUE, spec, optional=True)


def _beside(iteration: int) -> str:
    return f"trajectories/{folder(iteration)}/beside"


# --------------------------------------------------------------------------------- evaluating


def _evaluations(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    baseline, value = iteration == BASELINE, _value_model(iteration, done)
    asked = EvalConfig(
        **_guided(asdict(config.eval.settings), value),
        **_workers(config),
        **(untrained(config) if baseline else _asked(config, iteration)),
        ablate=value is not None,
        budgets=config.eval.budgets,
        candidates=config.eval.candidates,
        iteration=max(iteration, 0),
        seed=config.run.seed,
    )
    for given in config.eval.sets:
        name = set_name(given)
        out = Path(evaluation_of(iteration, name))
        spec = specs.Evaluate(theorems=held_out(name), config=asked, out=out)
        yield Stage(iteration, f"eval-{name}", spec)


def untrained(config: Config) -> Settings:
    """What there is before any training: the base model, or the portfolio where there is none."""
    if config.policy.base in (NANO, RANKER):
        return {"policy": "portfolio"}
    policy, device = config.search.policy, config.run.device
    return {"policy": policy, "model": config.policy.base, "device": device}


# ----------------------------------------------------------------------------------- settings


def _value_model(iteration: int, done: Done) -> Path | None:
    if done.get((iteration, VALUE)) != "done":
        return None
    return Path(f"{value_training(iteration)}/best")


def _guided(settings: Settings, value: Path | None) -> Settings:
    """With a value model; or with none, and then without the settings that are about one."""
    return {**settings, "value": value} if value else {**settings, **UNGUIDED}


def _asked(config: Config, iteration: int) -> Settings:
    """The policy of an iteration."""
    asked = {"policy": config.search.policy, "model": model_of(config, iteration)}
    device = {} if config.search.policy == RANKED else {"device": config.run.device}
    return {**asked, **device}


def _workers(config: Config) -> Settings:
    return {"workers": config.run.workers, "toolchain": config.run.toolchain}


def _paths(names: Sequence[str]) -> tuple[Path, ...]:
    return tuple(map(Path, names))
