"""The stages of an iteration: each is a command that a user could type, in the run's directory.

Pure: what a stage is depends on the configuration and on what became of the stages before it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from burnqed.data.benchmarks import BENCHMARKS, Packaged
from burnqed.iteration.config import RANKED, RANKER, TRAIN_NAME, Config, set_name
from burnqed.iteration.history import BASELINE
from burnqed.training.plans import NANO

Status = Literal["done", "skipped"]
Done = Mapping[tuple[int, str], Status]  # by iteration and stage

TRAIN = f"theorems/{TRAIN_NAME}.json"
TEACHER = "trajectories/teacher"
TEACHER_PAIRS = f"{TEACHER}/pairs.jsonl"
VALUE = "value"


@dataclass(frozen=True, slots=True)
class Stage:
    """A command, and where what it makes goes; all paths are meant from the run's directory."""

    iteration: int
    name: str
    command: tuple[str, ...]
    out: str
    resumes: bool = False  # it takes --resume, once it was begun
    whole: bool = False  # what it makes is there whole or not at all, and is not made again
    optional: bool = False  # the run goes on without it where its input is not enough
    needs: tuple[str, ...] = ()  # stages of this iteration: where one was skipped, so is this
    theorems: str = ""  # the index that it searches for something to learn from

    @property
    def key(self) -> tuple[int, str]:
        return self.iteration, self.name

    @property
    def shown(self) -> str:
        """As a user would type it."""
        return shlex.join(("burn-qed", *self.command))


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
    theorems, at = config.theorems, BASELINE
    for given in config.eval.sets:
        benchmark = BENCHMARKS.get(given)
        if benchmark is not None and not isinstance(benchmark.origin, Packaged):
            fetch = ("data", "fetch", given, *_lean(config))
            yield Stage(at, f"fetch-{given}", fetch, "")
        name, sample = set_name(given), config.eval.sample
        drawn: tuple[str, ...] = ()
        if sample:
            drawn = ("--at-most", str(sample), "--seed", _seed(config))
        out = held_out(name)
        yield Stage(
            at, f"held-out-{name}", ("data", "index", "--theorems", given, *drawn, "--out", out), out
        )
    if theorems.set:
        source = ["--theorems", theorems.set]
    else:
        source = [part for module in theorems.modules for part in ("--module", module)]
    split = ["--split", theorems.split] if theorems.split else []
    drawn = ("--at-most", str(theorems.sample)) if theorems.sample else ()
    command = (
        "data", "index", *source, *split, *_without(config), *drawn, "--seed", _seed(config),
        "--leak-rule", theorems.leak_rule, *_lean(config), "--out", TRAIN,
    )  # fmt: skip
    yield Stage(at, "theorems", command, TRAIN)


# --------------------------------------------------------------------------------- searching


def _teaching(config: Config, done: Done) -> Iterator[Stage]:
    """The untrained searches, each on what those before it left, and their proofs as pairs."""
    ranker = config.policy.base == RANKER
    # A ranker that has learnt nothing proposes lemmas already, and so finds some to learn from.
    options = ("--policy", RANKED if ranker else "portfolio", *_candidates(config.teacher.candidates))
    asked = _Rounds(0, "teacher", TEACHER, config.teacher.nodes, config.teacher.sample, options)
    yield from _rounds(config, asked, [], done)
    if not ranker:
        yield _pairs(config, 0, "teacher-pairs", _teacher_runs(config, done), TEACHER_PAIRS)


def _searches(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    place, search = f"trajectories/{folder(iteration)}", config.search
    asked = _asked(config, iteration)
    options = (
        *asked, *_value_option(iteration, done), *_candidates(search.candidates), *search.options,
    )  # fmt: skip
    earlier = _before(config, iteration, done) if iteration else _teacher_runs(config, done)
    nodes = tuple(max(1, round(n * search.escalate**iteration)) for n in search.nodes)
    rounds = _Rounds(iteration, "search", place, nodes, search.sample, options)
    yield from _rounds(config, rounds, earlier, done)
    if iteration == 0 and search.noise_nodes:
        index, runs = f"{place}/noise.json", [*earlier, *_own_runs(config, 0, done)]
        runs = [run for run in runs if run != f"{place}/noise"]
        yield _select(config, 0, "noise-theorems", runs, search.noise_sample, index)
        noise = ("--noise", "--temperature", f"{search.noise_temperature:g}")
        plain = (*asked, *_candidates(search.candidates), *search.options, *noise)
        out = f"{place}/noise"
        yield _search(config, 0, "noise", index, search.noise_nodes, plain, out, ("noise-theorems",))


@dataclass(frozen=True, slots=True)
class _Rounds:
    iteration: int
    name: str
    place: str
    nodes: tuple[int, ...]
    sample: int
    options: tuple[str, ...]


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
        yield _search(config, asked.iteration, name, index, budget, asked.options, out, needs)
        if done.get((asked.iteration, name)) != "skipped":
            runs.append(out)


def _select(
    config: Config, iteration: int, name: str, runs: list[str], sample: int, out: str,
    source: str = TRAIN,
) -> Stage:  # fmt: skip
    unproved = [part for run in runs for part in ("--unproved", run)]
    drawn = ("--at-most", str(sample)) if sample else ()
    seed = ("--seed", str(config.run.seed + iteration))
    command = ("data", "index", "--theorems", source, *unproved, *drawn, *seed, "--out", out)
    return Stage(iteration, name, command, out, optional=True)


def _search(
    config: Config, iteration: int, name: str, index: str, nodes: int, options: tuple[str, ...],
    out: str, needs: tuple[str, ...],
) -> Stage:  # fmt: skip
    command = (
        "search", index, "--nodes", str(nodes), *options, "--iteration", str(iteration),
        *_workers(config), "--seed", _seed(config), "--out", out,
    )  # fmt: skip
    return Stage(iteration, name, command, out, resumes=True, needs=needs, theorems=index)


# ----------------------------------------------------------------------------------- learning


def _pairs(config: Config, iteration: int, name: str, runs: list[str], out: str) -> Stage:
    share = ("--easy-share", f"{config.data.easy_share:g}", "--seed", _seed(config))
    command = ("pairs", *runs, *_without(config), *share, "--out", out)
    return Stage(iteration, name, command, out, optional=iteration > 0)


def _policy(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """Training on what was proved so far, from where the iteration before left off; then the export."""
    data, policy = config.data, config.policy
    given = data.base or (TEACHER_PAIRS,)
    command = ["train", "policy", *(part for path in given for part in ("--data", path))]
    if iteration > 0:
        found = f"trajectories/{folder(iteration)}/pairs.jsonl"
        if own := [run for one in range(iteration) for run in _own_runs(config, one, done)]:
            yield _pairs(config, iteration, "pairs", own, found)
        if done.get((iteration, "pairs")) == "done":
            command += ["--extra-data", found, "--extra-weight", str(data.extra_weight)]
            command += ["--base-sample", str(data.base_sample)]
        command += ["--base", f"{policy_training(iteration - 1)}/best"]
    else:
        size = ("--nano-size", policy.nano_size) if policy.base == NANO else ()
        command += ["--base", policy.base, *size]
    epochs = policy.epochs if iteration else policy.first_epochs
    command += [
        "--lr", f"{policy.lr * policy.lr_decay**iteration:g}", "--epochs", str(epochs),
        "--batch", str(policy.batch), "--accumulate", str(policy.accumulate),
        "--val-share", f"{data.val_share:g}", *policy.options, "--seed", _seed(config),
        "--out", policy_training(iteration),
    ]  # fmt: skip
    if policy.base == NANO and iteration > 0:
        command += ["--method", "full"]
    yield Stage(iteration, "policy", tuple(command), policy_training(iteration), resumes=True)
    out = model_of(config, iteration)
    # Of weights that were trained as they are there is nothing merged that could be compared.
    verify = () if policy.base == NANO else ("--verify",)
    export = ("export", policy_training(iteration), "--out", out, *verify)
    yield Stage(iteration, "export", export, out, whole=True)


def _ranker(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """Learning from all searches so far, and not from where the one before left off: it is quick."""
    runs = [*_before(config, iteration, done), *(_teacher_runs(config, done) if not iteration else ())]
    out = policy_training(iteration)
    command = (
        "train", "ranker", *(part for run in runs for part in ("--data", run)), *_without(config),
        "--val-share", f"{config.data.val_share:g}", *config.policy.options, *_workers(config),
        "--seed", _seed(config), "--out", out,
    )  # fmt: skip
    yield Stage(iteration, "policy", command, out, whole=True)


def _value(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """What lies beside new proofs, and a value model of all searches so far."""
    value = config.value
    new = _before(config, iteration, done)
    if iteration > value.first:  # beside the others was looked before
        new = search_runs(config, iteration - 1, done)
    beside = f"trajectories/{folder(iteration)}/beside"
    asked = (
        *_asked(config, iteration), *_candidates(value.candidates or config.search.candidates),
    )  # fmt: skip
    if new and value.beside_nodes and value.siblings:
        command = (
            "negatives", TRAIN, *_data(new), "--siblings", str(value.siblings), "--walks", "0",
            "--nodes", str(value.beside_nodes), "--min-steps", str(value.beside_steps), *asked,
            *_workers(config), "--seed", _seed(config), "--out", beside,
        )  # fmt: skip
        yield Stage(iteration, "beside", command, beside, resumes=True, optional=True, theorems=TRAIN)
    runs = _before(config, iteration, done)
    runs += [
        f"trajectories/{folder(one)}/beside"
        for one in range(iteration + 1)
        if done.get((one, "beside")) == "done"
    ]
    model = model_of(config, iteration) if value.model == "policy" else value.model
    device = ("--device", config.run.device) if value.model == "policy" else ()
    command = (
        "train", "value", *_data(runs), "--model", model,
        *device, "--val-share", f"{value.val_share:g}", *value.options, "--seed", _seed(config),
        "--out", value_training(iteration),
    )  # fmt: skip
    yield Stage(iteration, VALUE, command, value_training(iteration), resumes=True, optional=True)


# --------------------------------------------------------------------------------- evaluating


def _evaluations(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    budgets = ",".join(map(str, config.eval.budgets))
    if iteration == BASELINE:
        policy = untrained(config)
    else:
        policy = _asked(config, iteration)
        if value := _value_option(iteration, done):
            policy += (*value, "--ablate")
    for given in config.eval.sets:
        name = set_name(given)
        out = evaluation_of(iteration, name)
        command = (
            "eval", held_out(name), "--budgets", budgets, *policy, *_candidates(config.eval.candidates),
            *config.eval.options, "--iteration", str(max(iteration, 0)), *_workers(config),
            "--seed", _seed(config), "--out", out,
        )  # fmt: skip
        yield Stage(iteration, f"eval-{name}", command, out, resumes=True)


def untrained(config: Config) -> tuple[str, ...]:
    """What there is before any training: the base model, or the portfolio where there is none."""
    if config.policy.base in (NANO, RANKER):
        return ("--policy", "portfolio")
    model = ("--model", config.policy.base, "--device", config.run.device)
    return ("--policy", config.search.policy, *model)


# ------------------------------------------------------------------------------------ options


def _value_option(iteration: int, done: Done) -> tuple[str, ...]:
    if done.get((iteration, VALUE)) != "done":
        return ()
    return ("--value", f"{value_training(iteration)}/best")


def _asked(config: Config, iteration: int) -> tuple[str, ...]:
    """The policy of an iteration, as options."""
    model = ("--policy", config.search.policy, "--model", model_of(config, iteration))
    return model if config.search.policy == RANKED else (*model, "--device", config.run.device)


def _without(config: Config) -> list[str]:
    return [part for given in config.eval.sets for part in ("--without", given)]


def _data(runs: list[str]) -> list[str]:
    return [part for run in runs for part in ("--data", run)]


def _candidates(number: int | None) -> tuple[str, ...]:
    return () if number is None else ("--candidates", str(number))


def _seed(config: Config) -> str:
    return str(config.run.seed)


def _lean(config: Config) -> tuple[str, ...]:
    return () if config.run.toolchain is None else ("--toolchain", config.run.toolchain)


def _workers(config: Config) -> tuple[str, ...]:
    workers = () if config.run.workers is None else ("--workers", str(config.run.workers))
    return (*workers, *_lean(config))
