"""The arms of an attribution: what is missing is trained, and all are evaluated.

Everything lies in one directory: value-0 (the head of A), joint (iteration 1's policy, and the head of
C), value-1 (the head of B) and eval/SET. Trainings and evaluations are those of the commands. Each goes
on where it was stopped, and one that is done is only read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import asdict as settings

from burnqed.core.config import AtLeast1, about, as_content, overridden, read_toml, sections, validated
from burnqed.core.errors import ConfigError, InputError
from burnqed.core.files import publish, read_object
from burnqed.core.runs import PLACES, check_out, command_of, open_run, read_manifest, shown_by
from burnqed.core.watching import Quiet, Watcher
from burnqed.data.index import TheoremIndex
from burnqed.evaluation.attribution import Attribution, attributed
from burnqed.evaluation.results import RESULT, WITH, WITHOUT, IterationResult, read_result
from burnqed.evaluation.run import LEAN_ERRORS
from burnqed.iteration.config import set_name
from burnqed.iteration.sections import Nodes, Run
from burnqed.iteration.settings import (
    ArmSettings,
    EncoderSettings,
    HeadSettings,
    JointSettings,
    Section,
)
from burnqed.prover import sets
from burnqed.prover.config import EncoderConfig, EvalConfig
from burnqed.prover.evaluating import Stopped, evaluate
from burnqed.prover.loops import outside
from burnqed.prover.training import base_identity, encoder_identity, train_joint, train_value
from burnqed.training.plans import NANO, VALUE_VAL_SHARE
from burnqed.training.settings import JointTraining, ValueTraining

ATTRIBUTION = "attribution.json"
HEAD_0, JOINT, HEAD_1 = "value-0", "joint", "value-1"
_BEST = "best"


class Heads(Section, frozen=True, kw_only=True):
    """Both heads that are trained on embeddings: of A and of B."""

    val_share: Annotated[
        Annotated[float, Meta(ge=0.01, le=0.9)],
        about("Of the theorems, not trained on; the joint training sets the same aside."),
    ] = VALUE_VAL_SHARE
    policy_val_share: Annotated[
        Annotated[float, Meta(ge=0, le=0.9)],
        about("The val_share that the iteration-0 policy was trained with; 0: it learned of none."),
    ] = 0.0
    training: Annotated[HeadSettings, about("More of `burn-qed train value`.")] = HeadSettings()
    encoder: Annotated[EncoderSettings, about("How states are encoded.")] = EncoderSettings()


class Both(Section, frozen=True, kw_only=True):
    """The joint training, which goes on from the iteration-0 policy. Encodes states as the heads do."""

    training: Annotated[JointSettings, about("More of `burn-qed train joint`.")] = JointSettings()


class Arms(Section, frozen=True, kw_only=True):
    """The evaluations, which differ in policy and head alone."""

    policy: Annotated[Literal["mix", "local"], about("With rules, or the model alone.")] = "mix"
    budgets: Annotated[Nodes, about("Nodes per theorem; the largest decides.")] = (10, 30, 100)
    candidates: Annotated[AtLeast1 | None, about("Tactics to try at a state.")] = None
    settings: Annotated[ArmSettings, about("More of `burn-qed eval`.")] = ArmSettings()


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All sections of an attribution's TOML file."""

    run: Run = Run()
    value: Heads = Heads()
    joint: Both = Both()
    eval: Arms = Arms()


@dataclass(frozen=True, slots=True)
class Given:
    """What the arms are made from. Trainings that are done already are given by their directories."""

    sets: tuple[str, ...]
    model: str
    data: tuple[Path, ...]
    runs: tuple[Path, ...]
    value: Path | None = None  # a training of a head on the model
    joint: Path | None = None  # a joint training that went on from the model


def read_settings(file: Path | None, changes: Sequence[str] = ()) -> Config:
    """The settings in a file, if any, with `section.key=value` in place of some."""
    content = {} if file is None else read_toml(file)
    config = sections(Config, content, str(file))
    if changes:
        config = sections(Config, overridden(content, changes), "--set")
    for name in config.__struct_fields__:
        validated(getattr(config, name), f"[{name}]")
    if not config.eval.budgets:
        raise ConfigError("[eval]: budgets is empty", hint="numbers of nodes, such as [30, 100]")
    return config


def attribute(
    theorems: str | Sequence[str],
    model: str | Path,
    data: Sequence[str | Path],
    runs: Sequence[str | Path],
    out: str | Path,
    *,
    config: str | Path | Config | None = None,
    value: str | Path | None = None,
    joint: str | Path | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
) -> Attribution | None:
    """Train what is missing of the arms A, B and C, evaluate them, and say which part helped.

    `theorems` are sets, `model` is the policy of iteration 0, `data` are pairs and `runs` searches with
    siblings. `config` is a TOML file or a `Config`. None when it was stopped before its end.
    """
    given = Given(
        sets=(theorems,) if isinstance(theorems, str) else tuple(theorems),
        model=str(model), data=tuple(map(Path, data)), runs=tuple(map(Path, runs)),
        value=None if value is None else Path(value), joint=None if joint is None else Path(joint),
    )  # fmt: skip
    wanted = config
    if not isinstance(wanted, Config):
        wanted = read_settings(None if wanted is None else Path(wanted))
    seen = watcher or Quiet()
    return outside(lambda: _attribute(given, Path(out), wanted, seen, resume=resume))


def _attribute(
    given: Given, out: Path, config: Config, watcher: Watcher, *, resume: bool
) -> Attribution | None:
    check_out(out)
    indexes = _indexes(given, config)
    _check_given(given, config)
    _open(given, out, config, indexes, _identities(given), resume=resume)
    head, joint, refitted = given.value or out / HEAD_0, given.joint or out / JOINT, out / HEAD_1
    if not _train(given, out, config, watcher):
        return None
    results: dict[str, dict[str, IterationResult]] = {}
    for name, index in indexes.items():
        place = out / "eval" / name
        arms = {
            "iteration-0": _arm(config, 0, given.model, head, ablate=True),
            "iteration-1": _arm(config, 1, str(joint), joint, ablate=True),
            "refitted": _arm(config, 1, str(joint), refitted, ablate=False),
        }
        for folder, asked in arms.items():
            if not _evaluated(index, place / folder, asked, watcher):
                return None
        found = {
            "none-0": place / "iteration-0" / WITHOUT, "A": place / "iteration-0" / WITH,
            "none-1": place / "iteration-1" / WITHOUT, "B": place / "refitted",
            "C": place / "iteration-1" / WITH,
        }  # fmt: skip
        results[name] = {arm: read_result(where) for arm, where in found.items()}
    trained = {"A": _trained(head), "B": _trained(refitted), "C": _trained(joint)}
    whole = attributed(results, _measured(trained))
    publish(out / ATTRIBUTION, json.dumps(asdict(whole), indent=1, ensure_ascii=False) + "\n")
    return whole


# -------------------------------------------------------------------------------------- before


def _indexes(given: Given, config: Config) -> dict[str, TheoremIndex]:
    asked = settings(config.eval.settings)
    found = {set_name(one): sets.chosen(one, asked["leak_rule"], asked["split"]) for one in given.sets}
    if len(found) < len(given.sets) or not found:
        raise InputError(
            "two sets have the same name" if found else "there is no set to evaluate on",
            hint="give each set once, and files other names",
        )
    return found


def _check_given(given: Given, config: Config) -> None:
    """Refuse what cannot be the training that an arm needs, before hours are spent on the others."""
    for place, command in ((given.value, "train value"), (given.joint, "train joint")):
        if place is None:
            continue
        if command_of(place) != command:
            raise InputError(
                f"{place} is not a directory of `burn-qed {command}`",
                hint=shown_by(place) or "leave it out, and it is trained",
            )
        _trained(place)
    if given.joint is None:
        return
    share, own = read_manifest(given.joint).get("val_share"), config.value.val_share
    if share != own:
        raise InputError(
            f"{given.joint} was trained with --val-share {share}, and [value] val_share is {own}: the "
            "head of B would be judged by what its policy has learned",
            hint=f"--set value.val_share={share}",
        )


def _identities(given: Given) -> dict[str, str | None]:
    """What the policy and the trainings that are given are, by their files.

    A head on another model, or a joint training that began elsewhere, is not an arm of this policy.
    """
    model, head, joint = encoder_identity(given.model), None, None
    from burnqed.value.saved import read_head  # it loads torch, which is there by now

    if given.value is not None:
        saved = read_head(given.value)
        _refuse_other(given.value, saved.source, saved.encoder.model, given.model, model)
        head = saved.identity
    if given.joint is not None:
        had = read_manifest(given.joint)
        begun, at = had.get("base_identity", NANO), had.get(PLACES, {}).get("base", "")
        _refuse_other(given.joint, at, begun, given.model, base_identity(given.model))
        joint = read_head(given.joint).identity  # which has the name of the policy beside it
    return {"model": model, "head": head, "joint": joint}


def _refuse_other(training: Path, had: str, identity: str, model: str, own: str) -> None:
    """Unless it was trained on this very model. Words, and random weights, are at no place."""
    if identity == own:
        return
    named = f"{had} ({identity[:12]}…)" if had else identity
    raise InputError(
        f"{training} was trained on {named}, and --model is {model} ({own[:12]}…)",
        hint="give the one that was trained on --model, or leave it out, and it is trained",
    )


def _open(
    given: Given,
    out: Path,
    config: Config,
    indexes: Mapping[str, TheoremIndex],
    identities: Mapping[str, str | None],
    *,
    resume: bool,
) -> None:
    """Settings and sets of the first time hold: trainings and evaluations check their own inputs."""
    content = as_content(config)
    for name in ("workers", "device"):  # these may change from one time to the next
        del content["run"][name]
    asked = {
        "command": "attribute", **content,
        "sets": {name: index.checksum for name, index in indexes.items()},
        "identities": dict(identities),
        "version": version("burn-qed"),
    }  # fmt: skip
    places = {
        "model": given.model, "data": given.data, "runs": given.runs, "value": given.value,
        "joint": given.joint,
    }  # fmt: skip
    told = {
        name: [str(one.resolve()) for one in place]
        if isinstance(place, tuple)
        else place and str(place)
        for name, place in places.items()
    }
    open_run(out, asked, resume=resume, places=told)


# ----------------------------------------------------------------------------------- trainings


def _train(given: Given, out: Path, config: Config, watcher: Watcher) -> bool:
    """Train what was not given. False when it was stopped."""
    heads, run = config.value, config.run
    shares = [one for one in (heads.policy_val_share, heads.val_share) if one]
    encoder = settings(heads.encoder)

    def head(model: str, place: Path, unlearnt: float) -> bool:
        asked = ValueTraining(
            **settings(heads.training), data=given.runs, model=model, val_share=heads.val_share,
            policy_val_share=unlearnt, seed=run.seed,
        )  # fmt: skip
        encoding = EncoderConfig(**encoder, device=run.device)
        return train_value(asked, place, encoding, watcher, resume=True) is not None

    def both() -> bool:
        asked = JointTraining(
            **settings(config.joint.training), data=given.data, runs=given.runs, base=given.model,
            val_share=heads.val_share, policy_val_share=heads.policy_val_share,
            pooling=encoder["pooling"], layer=encoder["layer"], seed=run.seed,
        )  # fmt: skip
        return train_joint(asked, out / JOINT, watcher, resume=True) is not None

    if given.value is None and not head(given.model, out / HEAD_0, heads.policy_val_share):
        return False
    if given.joint is None and not both():
        return False
    # What either training of this policy has learned from judges no head on it.
    policy = (given.joint or out / JOINT) / _BEST / "policy"
    return head(str(policy), out / HEAD_1, min(shares))


def _trained(place: Path) -> dict[str, Any]:
    """What a training came to."""
    absent = InputError(
        f"{place} holds no finished training: it has no {RESULT}",
        hint=shown_by(place)
        or "a directory of `burn-qed train value` or `train joint`, or leave it out",
    )
    return read_object(place / RESULT, absent=absent)


_JUDGED = (
    "verdict", "told", "test_groups", "test_theorems", "test_rank1", "test_chance",
    "test_logprob_rank1", "stopped", "steps", "best_step", "seconds",
)  # fmt: skip
_WATCHED = (
    "stopped", "steps", "best_step", "seconds", "first_val_loss", "best_val_loss", "first_distance",
    "best_distance", "first_probe", "best_probe",
)  # fmt: skip


def _measured(trained: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Of their results, what says how good the heads are, and how the joint training went."""
    heads = {
        arm: {name: result[name] for name in _JUDGED if name in result}
        for arm, result in trained.items()
    }
    return {**heads, "joint": {name: trained["C"].get(name) for name in _WATCHED}}


# --------------------------------------------------------------------------------- evaluations


def _arm(config: Config, iteration: int, model: str, value: Path, *, ablate: bool) -> EvalConfig:
    return EvalConfig(
        **settings(config.eval.settings), policy=config.eval.policy, model=model, value=value,
        value_anyway=True, ablate=ablate, budgets=config.eval.budgets,
        candidates=config.eval.candidates, iteration=iteration, seed=config.run.seed,
        workers=config.run.workers, toolchain=config.run.toolchain, project=config.run.project,
        device=config.run.device,
    )  # fmt: skip


def _evaluated(index: TheoremIndex, place: Path, asked: EvalConfig, watcher: Watcher) -> bool:
    """Evaluate, unless that is done. False when it was stopped."""
    arms = [place / arm for arm in (WITHOUT, WITH)] if asked.ablate else [place]
    if all(map(_is_settled, arms)):
        return True
    return not isinstance(evaluate(index, place, asked, watcher, resume=True), Stopped)


def _is_settled(place: Path) -> bool:
    """Whether its result is there. Where Lean failed on a theorem, that theorem is searched again."""
    if not (place / RESULT).exists():
        return False
    return not any(LEAN_ERRORS & set(b.errors) for b in read_result(place).budget_results)
