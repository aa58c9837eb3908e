"""Trainings from their settings: what these mean together, and the parts that they need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnqed.core.errors import InputError
from burnqed.core.runs import check_out, read_manifest
from burnqed.policy.models.strict import need_libraries
from burnqed.policy.prompt import PromptSettings
from burnqed.prover import leans, policies, sets
from burnqed.prover.config import EncoderConfig, LeanConfig
from burnqed.prover.policies import Warn
from burnqed.training.plans import (
    NANO,
    NANO_LR,
    Adapting,
    Method,
    Mixture,
    OrderEffort,
    PolicyPlan,
    RetrievalEffort,
    ValuePlan,
)
from burnqed.training.settings import PolicyTraining, RankerTraining, ValueTraining
from burnqed.training.watching import Watcher

if TYPE_CHECKING:  # it loads torch
    from burnqed.value.embeddings import Encoder

Result = dict[str, Any]  # what result.json holds


def train_policy(given: PolicyTraining, out: Path, watcher: Watcher, *, resume: bool) -> Result | None:
    """Train a policy into a directory, or go on with it; None when it was stopped before its end."""
    check_out(out)
    nano = given.base == NANO
    method = _method(given.method, nano, given.load is not None)
    if given.prompt is not None:
        PromptSettings(format=given.prompt)  # it refuses an unknown one
    need_libraries("accelerate", "peft")
    from burnqed.training import policy

    lr = given.lr if given.lr is not None else NANO_LR if nano else PolicyPlan().lr
    job = policy.Job(
        data=given.data,
        extra=given.extra_data,
        val=given.val,
        base=given.base,
        nano_size=given.nano_size,
        mixture=Mixture(given.extra_weight, given.base_sample, given.val_share, given.seed),
        adapting=Adapting(
            method, given.rank, given.lora_alpha, given.dropout, given.load is not None,
            given.checkpointing,
        ),
        plan=PolicyPlan(
            batch=given.batch, accumulate=given.accumulate, epochs=given.epochs, steps=given.steps,
            lr=lr, warmup=given.warmup, weight_decay=given.weight_decay, clip=given.clip,
            seed=given.seed, save_every=given.save_every, eval_every=given.eval_every,
        ),
        dtype=given.dtype,
        prompt=given.prompt,
        max_length=given.max_length,
        tactic_tokens=given.tactic_tokens,
        matched=given.matched,
    )  # fmt: skip
    return policy.train_policy(job, out, watcher, resume=resume)


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
    library = leans.set_up(lean, _modules(given.data)).library(lean.workers)
    job = ranker.Job(
        data=given.data,
        without=held,
        val_share=given.val_share,
        retrieval=RetrievalEffort(epochs=given.lemma_epochs, seed=given.seed),
        order=OrderEffort(epochs=given.epochs, seed=given.seed),
    )
    return ranker.train_ranker(job, library, out, watcher)


def _modules(runs: tuple[Path, ...]) -> list[str]:
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
    job = value.Job(
        data=given.data,
        # A linear head cannot make anything of a goal: it is the same for all that are compared.
        conditioned=not given.unconditioned and given.model != WORDS,
        slower=given.slower,
        val_share=given.val_share,
        plan=ValuePlan(
            k=given.k, batch=given.batch, epochs=given.epochs, steps=given.steps, lr=given.lr,
            weight_decay=given.weight_decay, margin_weight=given.margin_weight,
            steps_weight=given.steps_weight, in_batch=given.in_batch, patience=given.patience,
            eval_every=given.eval_every, seed=given.seed,
        ),
        resume_from=given.resume_from,
        embeddings=given.embeddings,
        device=device,
        source=source,
    )  # fmt: skip
    return value.train_value(job, encoder, out, watcher, resume=resume)


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
