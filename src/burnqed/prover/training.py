"""Trainings from their settings: what these mean together, and the parts that they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from burnqed.core.errors import InputError
from burnqed.core.runs import check_out, read_manifest
from burnqed.core.watching import Watcher
from burnqed.policy.models.strict import need_libraries
from burnqed.policy.prompt import PromptSettings
from burnqed.prover import leans, policies, sets
from burnqed.prover.config import EncoderConfig, LeanConfig
from burnqed.prover.policies import Warn
from burnqed.training import plans
from burnqed.training.plans import Adapting, JointPlan, Method, Mixture, PolicyPlan, Sweep, ValuePlan
from burnqed.training.settings import JointTraining, PolicyTraining, RankerTraining, ValueTraining

if TYPE_CHECKING:  # it loads torch
    from burnqed.value.embeddings import Encoder

T = TypeVar("T")
Result = dict[str, Any]  # what result.json holds


def train_policy(given: PolicyTraining, out: Path, watcher: Watcher, *, resume: bool) -> Result | None:
    """Train a policy into a directory, or go on with it; None when it was stopped before its end."""
    check_out(out)
    nano = given.base == plans.NANO
    method = _method(given.method, nano, given.load is not None)
    if given.prompt is not None:
        PromptSettings(format=given.prompt)  # it refuses an unknown one
    need_libraries("accelerate", "peft")
    from burnqed.training import policy

    if given.lr is not None and given.try_lr:
        raise InputError("--lr and --try-lr both say how fast to learn", hint="leave out one of them")
    lr = given.lr if given.lr is not None else plans.NANO_LR if nano else PolicyPlan().lr
    adapting = _as(Adapting, given, method=method, alpha=given.lora_alpha, nf4=given.load is not None)
    job = _as(
        policy.Job, given, extra=given.extra_data, mixture=_as(Mixture, given), adapting=adapting,
        plan=_as(PolicyPlan, given, lr=lr), sweep=Sweep(given.try_lr, given.try_steps),
    )  # fmt: skip
    return policy.train_policy(job, out, watcher, resume=resume)


def train_joint(given: JointTraining, out: Path, watcher: Watcher, *, resume: bool) -> Result | None:
    """Train a policy and its value model into a directory; None when it was stopped before its end."""
    check_out(out)
    nano = given.base == plans.NANO
    method = _method(given.method, nano, nf4=False)
    if given.prompt is not None:
        PromptSettings(format=given.prompt)  # it refuses an unknown one
    need_libraries("accelerate", "peft")
    from burnqed.training import joint

    lr = given.lr if given.lr is not None else plans.NANO_LR if nano else JointPlan().lr
    job = _as(
        joint.Job, given, extra=given.extra_data, mixture=_as(Mixture, given),
        adapting=_as(Adapting, given, method=method, alpha=given.lora_alpha),
        plan=_as(JointPlan, given, lr=lr), conditioned=not given.unconditioned,
    )  # fmt: skip
    return joint.train_joint(job, out, watcher, resume=resume)


def _method(given: Method | None, nano: bool, nf4: bool) -> Method:
    method = given or ("full" if nano else "lora")
    if nano and method == "lora":
        raise InputError("random weights need more than an adapter", hint="leave out --method")
    if nf4 and method == "full":
        raise InputError("four bits cannot be trained", hint="--method lora, or leave out --load")
    return method


def train_ranker(given: RankerTraining, out: Path, lean: LeanConfig, watcher: Watcher) -> Result | None:
    """Train a ranker into a new directory; None when it was stopped before its end."""
    check_out(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is there already, and not empty", hint="give another --out")
    need_libraries()
    from burnqed.training import ranker

    held = tuple(sets.chosen(one) for one in given.without)
    library = leans.set_up(lean, modules_of(given.data)).library(lean.workers)
    job = ranker.Job(
        data=given.data,
        without=held,
        val_share=given.val_share,
        retrieval=replace(plans.RETRIEVAL, epochs=given.lemma_epochs, seed=given.seed),
        order=replace(plans.ORDER, epochs=given.epochs, seed=given.seed),
    )
    return ranker.train_ranker(job, library, out, watcher)


def modules_of(runs: Sequence[Path]) -> list[str]:
    """What Lean had loaded when these runs were made: all of it together."""
    found: dict[str, None] = {}
    for run in runs:
        found |= dict.fromkeys(read_manifest(run).get("modules", ()))
    return list(found) or ["Init"]


def train_value(
    given: ValueTraining, out: Path, encoding: EncoderConfig, watcher: Watcher, *, resume: bool
) -> Result | None:
    """Train a value model into a directory, or go on with it; None when it was stopped before."""
    check_out(out)
    if given.epochs is not None and given.steps is not None:
        raise InputError("--epochs and --steps both say when to end", hint="leave out one of them")
    need_libraries()
    from burnqed.training import value
    from burnqed.value.words import WORDS

    encoder, device, source = _encoder(given.model, encoding, watcher.warn)
    # A linear head cannot make anything of a goal: it is the same for all that are compared.
    conditioned = not given.unconditioned and given.model != WORDS
    job = _as(
        value.Job, given, conditioned=conditioned, plan=_as(ValuePlan, given), device=device,
        source=source,
    )  # fmt: skip
    return value.train_value(job, encoder, out, watcher, resume=resume)


def encoder_identity(model: str) -> str:
    """What an encoder's name calls this model, by what is in the model's files."""
    need_libraries()
    from burnqed.policy.models.load import load, written_identity
    from burnqed.policy.models.names import ADAPTER, find, find_base

    path = find(model)
    if (path / ADAPTER).is_file():
        return written_identity(path, encoder_identity(str(find_base(path)[1])))
    if path.is_file() or not any(path.glob("*.safetensors")):  # GGUF, or no model
        return load(model, "cpu").identity
    return written_identity(path, "")


def base_identity(model: str) -> str:
    """What a training that goes on from this model calls it in its manifest."""
    need_libraries("accelerate", "peft")
    from burnqed.training.lora import find_model, identity

    return identity(find_model(model))


def _as(kind: Callable[..., T], given: msgspec.Struct, **own: Any) -> T:
    """A dataclass out of the settings that have its fields' names, and of its own."""
    names = {one.name for one in fields(kind)} & {*given.__struct_fields__}  # type: ignore[arg-type]
    return kind(**{**{name: getattr(given, name) for name in names}, **own})


def _encoder(model: str, config: EncoderConfig, warn: Warn) -> tuple[Encoder, str, str]:
    """What encodes states, where the head is computed, and where the encoder's model is."""
    from burnqed.value.words import WORDS, WordsEncoder

    if model == WORDS:
        usual = EncoderConfig(device=config.device, dtype=config.dtype)
        if config != usual:
            raise InputError(
                "words are no model's hidden states", hint="leave out --pooling, --layer and --prompt"
            )
        return WordsEncoder(), "cpu", ""
    from burnqed.value.encoder import LocalEncoder

    loaded = policies.load_model(policies.local(model, config), warn)
    encoder = LocalEncoder(loaded, config.pooling, config.layer)
    return encoder, loaded.device, str(loaded.model.name_or_path)
