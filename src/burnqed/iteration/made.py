"""What a run has made so far: where it lies, which searches are done, and how stages ask for it.

Pure: it depends on the configuration and on what became of the stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from burnqed.iteration.config import RANKED, RANKER, SERVED, TRAIN_NAME, Config
from burnqed.iteration.history import BASELINE
from burnqed.prover.config import UNGUIDED

# `dropped`: a head that is trained, and that no search follows, because a red line is crossed.
Status = Literal["done", "skipped", "dropped"]
Done = Mapping[tuple[int, str], Status]  # by iteration and stage
Settings = Mapping[str, Any]  # of a search, by their names

TRAIN = f"theorems/{TRAIN_NAME}.json"
TEACHER = "trajectories/teacher"
TEACHER_PAIRS = f"{TEACHER}/pairs.jsonl"
VALUE, JOINT, EMBEDDINGS = "value", "joint", "embeddings"
KEPT_EMBEDDINGS = "embeddings/kept"  # of all models, by their names: none is computed twice


def folder(iteration: int) -> str:
    return "baseline" if iteration == BASELINE else f"iter_{iteration}"


def held_out(name: str) -> str:
    return f"theorems/{name}.json"


def policy_training(iteration: int) -> str:
    return f"checkpoints/llm/{folder(iteration)}"


def value_training(iteration: int) -> str:
    return f"checkpoints/ebm/{folder(iteration)}"


def joint_training(iteration: int) -> str:
    return f"checkpoints/joint/{folder(iteration)}"


def evaluation_of(iteration: int, name: str) -> str:
    return f"eval_results/{folder(iteration)}/{name}"


def look_of(iteration: int) -> str:
    return f"embeddings/{folder(iteration)}"


def beside_of(iteration: int) -> str:
    return f"trajectories/{folder(iteration)}/beside"


# -------------------------------------------------------------------------------------- models


def is_joint(config: Config, iteration: int) -> bool:
    """Whether an iteration is to train both models together."""
    return config.joint.first is not None and iteration >= config.joint.first


def model_of(config: Config, iteration: int, done: Done) -> str:
    """The policy of an iteration."""
    if is_made(iteration, JOINT, done):
        return f"{joint_training(iteration)}/best"  # its adapter is not merged: the head knows it so
    if config.policy.base == RANKER:
        return f"{policy_training(iteration)}/best"  # it is used as it was trained
    return exported(iteration)


def exported(iteration: int) -> str:
    return f"models/llm/{folder(iteration)}"


def is_made(iteration: int, stage: str, done: Done) -> bool:
    """Whether a stage left what it makes, even a value model that no search follows."""
    return done.get((iteration, stage)) in ("done", "dropped")


def head_stage(iteration: int, done: Done) -> str:
    """The stage that trains an iteration's value model."""
    return JOINT if is_made(iteration, JOINT, done) else VALUE


def value_model(iteration: int, done: Done) -> Path | None:
    """An iteration's value model, to measure; a search asks `guide` for it."""
    stage = head_stage(iteration, done)
    if not is_made(iteration, stage, done):
        return None
    training = joint_training if stage == JOINT else value_training
    return Path(f"{training(iteration)}/best")


def guide(iteration: int, done: Done) -> Path | None:
    """The value model that an iteration's searches follow."""
    dropped = done.get((iteration, head_stage(iteration, done))) == "dropped"
    return None if dropped else value_model(iteration, done)


# ------------------------------------------------------------------------------------ searches


def search_runs(config: Config, iteration: int, done: Done) -> list[str]:
    """The searches of an iteration that are done; the teacher's are the first of iteration 0."""
    taught = teacher_runs(config, done) if iteration == 0 else []
    return [*taught, *own_runs(config, iteration, done)]


def teacher_runs(config: Config, done: Done) -> list[str]:
    rounds = () if config.data.base else range(1, len(config.teacher.nodes) + 1)
    return [f"{TEACHER}/search_{k}" for k in rounds if done.get((0, f"teacher-{k}")) == "done"]


def own_runs(config: Config, iteration: int, done: Done) -> list[str]:
    rounds = [(f"search-{k}", f"search_{k}") for k in range(1, len(config.search.nodes) + 1)]
    return [
        f"trajectories/{folder(iteration)}/{run}"
        for name, run in (*rounds, ("noise", "noise"))
        if done.get((iteration, name)) == "done"
    ]


def runs_before(config: Config, iteration: int, done: Done) -> list[str]:
    """Every search of the earlier iterations."""
    return [run for one in range(iteration) for run in search_runs(config, one, done)]


# ------------------------------------------------------------------------------------ settings


def guided(settings: Settings, value: Path | None) -> Settings:
    """With a value model; or with none, and then without the settings that are about one."""
    return {**settings, "value": value} if value else {**settings, **UNGUIDED}


def asked_of(config: Config, iteration: int, done: Done) -> Settings:
    """The policy of an iteration."""
    if config.search.policy == SERVED:
        return served(config)
    asked = {"policy": config.search.policy, "model": model_of(config, iteration, done)}
    device = {} if config.search.policy == RANKED else {"device": config.run.device}
    return {**asked, **device}


def served(config: Config) -> Settings:
    """The policy behind servers."""
    given = config.served
    return {
        "policy": given.kind, "url": given.url, "model": given.model or None, "prompt": given.prompt,
        "logprobs": given.logprobs,
    }  # fmt: skip


def workers(config: Config) -> Settings:
    run = config.run
    return {"workers": run.workers, "toolchain": run.toolchain, "project": run.project}


def paths(names: Sequence[str]) -> tuple[Path, ...]:
    return tuple(map(Path, names))
