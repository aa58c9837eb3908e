"""The stages that learn: pairs, a policy or a ranker, a value model, or both models together; and the
look at what a backbone makes of states.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import asdict

from burnqed.iteration import specs
from burnqed.iteration.config import RANKER, SERVED, Config
from burnqed.iteration.made import (
    EMBEDDINGS,
    JOINT,
    KEPT_EMBEDDINGS,
    TEACHER_PAIRS,
    TRAIN,
    VALUE,
    Done,
    Settings,
    asked_of,
    beside_of,
    exported,
    folder,
    is_joint,
    is_made,
    joint_training,
    look_of,
    model_of,
    own_runs,
    paths,
    policy_training,
    runs_before,
    search_runs,
    teacher_runs,
    value_training,
    workers,
)
from burnqed.iteration.specs import Stage
from burnqed.prover.config import (
    EncoderConfig,
    ExportConfig,
    LeanConfig,
    LookConfig,
    NegativesConfig,
)
from burnqed.prover.data_config import PairsConfig
from burnqed.training.plans import NANO
from burnqed.training.settings import (
    JointTraining,
    PolicyTraining,
    RankerTraining,
    ValueTraining,
)


def learning(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """All that an iteration trains before it searches.

    Where there is not enough to train both models together, they are trained one after the other.
    """
    if config.policy.base == SERVED:
        yield from _value(config, iteration, done)
        return
    if config.policy.base == RANKER:
        yield from _ranker(config, iteration, done)
        yield from _value(config, iteration, done)
        return
    found = f"trajectories/{folder(iteration)}/pairs.jsonl"
    own = [run for one in range(iteration) for run in own_runs(config, one, done)]
    if own:
        yield pairs(config, iteration, "pairs", own, found)
    if is_joint(config, iteration):
        yield from _beside(config, iteration, iteration - 1, done)
        yield _both(config, iteration, done, found)
        if done.get((iteration, JOINT)) != "skipped":
            return
    yield from _policy(config, iteration, done, found)
    yield from _value(config, iteration, done)


def pairs(config: Config, iteration: int, name: str, runs: list[str], out: str) -> Stage:
    asked = PairsConfig(
        without=config.eval.sets, easy_share=config.data.easy_share, seed=config.run.seed
    )
    spec = specs.Pairs(runs=paths(runs), config=asked, out=Path(out))
    return Stage(iteration, name, spec, optional=iteration > 0)


# ------------------------------------------------------------------------------------ policies


def _taught(config: Config, iteration: int, done: Done, found: str) -> Settings:
    """The pairs of an iteration's training: given ones, and what searches found."""
    data = config.data
    given: Settings = {"data": paths(data.base or (TEACHER_PAIRS,)), "seed": config.run.seed}
    if done.get((iteration, "pairs")) != "done":
        return given
    more = {"extra_data": (Path(found),), "extra_weight": data.extra_weight}
    return {**given, **more, "base_sample": data.base_sample}


def _rate(config: Config, iteration: int) -> float:
    policy = config.policy
    return float(f"{policy.lr * policy.lr_decay**iteration:g}")  # as a person would write it


def _policy(config: Config, iteration: int, done: Done, found: str) -> Iterator[Stage]:
    """Training on what was proved so far, from where the iteration before left off; then the export."""
    policy, given = config.policy, asdict(config.policy.training)
    if iteration > 0:
        before = iteration - 1
        together = is_made(before, JOINT, done)
        base = f"{(joint_training if together else policy_training)(before)}/best"
        if policy.base == NANO:
            given["method"] = "full"
    else:
        base = policy.base
        given |= {"nano_size": policy.nano_size} if base == NANO else {}
    asked = PolicyTraining(
        **given,
        **_taught(config, iteration, done, found),
        base=base,
        lr=_rate(config, iteration),
        epochs=policy.epochs if iteration else policy.first_epochs,
        batch=policy.batch,
        accumulate=policy.accumulate,
        val_share=config.data.val_share,
    )
    trained = Path(policy_training(iteration))
    yield Stage(iteration, "policy", specs.TrainPolicy(config=asked, out=trained))
    # Of weights that were trained as they are there is nothing merged that could be compared.
    written = ExportConfig(verify=policy.base != NANO)
    export = specs.Export(source=trained, config=written, out=Path(exported(iteration)))
    yield Stage(iteration, "export", export)


def _ranker(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """Learning from all searches so far, and not from where the one before left off: it is quick."""
    runs = runs_before(config, iteration, done) if iteration else teacher_runs(config, done)
    asked = RankerTraining(
        **asdict(config.policy.ranker),
        data=paths(runs),
        without=config.eval.sets,
        val_share=config.data.val_share,
        seed=config.run.seed,
    )
    lean = LeanConfig(**workers(config))
    spec = specs.TrainRanker(config=asked, lean=lean, out=Path(policy_training(iteration)))
    yield Stage(iteration, "policy", spec)


# -------------------------------------------------------------------------------- value models


def _beside(config: Config, iteration: int, policy: int, done: Done) -> Iterator[Stage]:
    """What lies beside new proofs, looked for with the policy of that iteration."""
    value = config.value
    new = runs_before(config, iteration, done)
    if iteration > value.first:  # beside the others was looked before
        new = search_runs(config, iteration - 1, done)
    if new and value.beside_nodes and value.siblings:
        asked = NegativesConfig(
            **asked_of(config, policy, done), **workers(config), siblings=value.siblings, walks=0,
            nodes=value.beside_nodes, min_steps=value.beside_steps, seed=config.run.seed,
            candidates=value.candidates or config.search.candidates,
        )  # fmt: skip
        out = Path(beside_of(iteration))
        where = config.cluster.address
        spec = specs.Negatives(theorems=TRAIN, runs=paths(new), config=asked, out=out, cluster=where)
        yield Stage(iteration, "beside", spec, optional=True)


def _siblings(config: Config, iteration: int, done: Done) -> list[str]:
    """Where groups of siblings are: in all searches so far, and beside their proofs."""
    beside = [one for one in range(iteration + 1) if done.get((one, "beside")) == "done"]
    return [*runs_before(config, iteration, done), *map(beside_of, beside)]


def _value(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """What lies beside new proofs, and a value model of all searches so far."""
    value = config.value
    if iteration < value.first:
        return
    if not is_joint(config, iteration):  # else it was looked before both were to be trained
        yield from _beside(config, iteration, iteration, done)
    own = value.model == "policy"
    asked = ValueTraining(
        **asdict(value.training),
        data=paths(_siblings(config, iteration, done)),
        model=model_of(config, iteration, done) if own else value.model,
        val_share=value.val_share,
        policy_val_share=_unlearnt(config, iteration) if own else 0.0,
        seed=config.run.seed,
    )
    device: Settings = {"device": config.run.device} if own else {}
    encoding = EncoderConfig(**asdict(value.encoder), **device)
    spec = specs.TrainValue(config=asked, encoding=encoding, out=Path(value_training(iteration)))
    yield Stage(iteration, VALUE, spec, optional=True)


def _both(config: Config, iteration: int, done: Done, found: str) -> Stage:
    """A policy and its value model, from the policy before."""
    before, own, encoder = iteration - 1, asdict(config.joint.training), asdict(config.value.encoder)
    together = is_made(before, JOINT, done)
    if config.policy.base == NANO:
        own["method"] = "full"
        own["lr"] = _rate(config, iteration) if own["lr"] is None else own["lr"]
    asked = JointTraining(
        **own,
        **_taught(config, iteration, done, found),
        runs=paths(_siblings(config, iteration, done)),
        # A merged policy gets an adapter of its own, with room for two losses; that one goes on.
        base=f"{joint_training(before)}/best" if together else exported(before),
        val_share=config.value.val_share,
        policy_val_share=_unlearnt(config, iteration),
        pooling=encoder["pooling"],
        layer=encoder["layer"],
    )
    spec = specs.TrainJoint(config=asked, out=Path(joint_training(iteration)))
    return Stage(iteration, JOINT, spec, optional=True)


# ---------------------------------------------------------------------------------- embeddings


def look(config: Config, iteration: int, done: Done) -> Iterator[Stage]:
    """The backbone measured: beside that of iteration 0, on the same states.

    Before the searches that its value model may guide; of an iteration without one behind them, with
    what they found.
    """
    guided = iteration >= config.value.first
    runs = _siblings(config, iteration, done)
    runs += [] if guided else search_runs(config, iteration, done)
    if config.policy.base in (RANKER, SERVED) or not config.embeddings.states or not runs:
        return
    first, own = model_of(config, 0, done), model_of(config, iteration, done)
    asked = LookConfig(
        **asdict(config.value.encoder), device=config.run.device, states=config.embeddings.states,
        val_share=_unlearnt(config, iteration), seed=config.run.seed,
    )  # fmt: skip
    spec = specs.Look(
        runs=paths(runs), model=first, against=own if iteration else None, config=asked,
        embeddings=Path(KEPT_EMBEDDINGS), out=Path(look_of(iteration)),
    )  # fmt: skip
    yield Stage(iteration, EMBEDDINGS, spec, optional=True)


def _unlearnt(config: Config, iteration: int) -> float:
    """The share of the theorems that every policy so far has set aside; those of a smaller share are
    among those of a larger one.
    """
    if getattr(config.policy.training, "val", ()):  # files in its place: all theorems are learnt from
        return 0.0
    share = config.data.val_share
    return min(share, config.value.val_share) if is_joint(config, iteration) else share
