"""Training a policy from beginning to end: data, model, loop, and what is left in a directory."""

from __future__ import annotations

import random
import shutil
import statistics
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

from burnqed.core.errors import BurnQedError, InputError
from burnqed.core.runs import MANIFEST, open_run
from burnqed.core.watching import Watcher
from burnqed.policy.models.load import Loaded, computed_in, load
from burnqed.policy.models.names import BEST, exists
from burnqed.policy.prompt import DIALECTS, PromptSettings
from burnqed.training import log
from burnqed.training.baseline import baseline_loss
from burnqed.training.batches import Encoded, encode
from burnqed.training.checkpoints import RESULT, find_checkpoint, read_result, write_result
from burnqed.training.curve import save_curve
from burnqed.training.found_lemmas import with_found_lemmas
from burnqed.training.lora import (
    Base,
    find_model,
    identity,
    own_settings,
    own_shape,
    prepare,
)
from burnqed.training.pairs import Chosen, Pair, choose, read_source
from burnqed.training.plans import MATCHED, NANO, Adapting, Dtype, Mixture, PolicyPlan, Sweep
from burnqed.training.sft import Loop, Material
from burnqed.training.sweep import sweep

_LAST = 50  # steps over which the last training loss is taken


@dataclass(frozen=True, slots=True)
class Job:
    """All that decides the result. A prompt setting that is None is the base's own."""

    data: tuple[Path, ...]
    extra: tuple[Path, ...] = ()
    val: tuple[Path, ...] = ()
    base: str = NANO
    nano_size: str = "6m"
    mixture: Mixture = field(default_factory=Mixture)
    adapting: Adapting = field(default_factory=Adapting)
    plan: PolicyPlan = field(default_factory=PolicyPlan)
    sweep: Sweep = field(default_factory=Sweep)
    dtype: Dtype = "auto"
    prompt: str | None = None
    max_length: int | None = None
    tactic_tokens: int | None = None
    lemmas: int | None = None
    matched: int = MATCHED  # held-out pairs that the trained model is asked about


def train_policy(job: Job, out: Path, watcher: Watcher, *, resume: bool) -> dict[str, Any] | None:
    """What is in result.json in the end; None when it was stopped before."""
    accelerator = Accelerator(mixed_precision="no")  # `TacticLoss` says what is computed in what
    try:
        return _train(job, out, watcher, accelerator, resume=resume)
    finally:  # threads that still talk to the other processes would abort this one as it ends
        accelerator.end_training()


def _train(
    job: Job, out: Path, watcher: Watcher, accelerator: Any, *, resume: bool
) -> dict[str, Any] | None:
    chosen, asked, places = _data(job, watcher)
    base = None if job.base == NANO else find_model(job.base)
    if base is not None:
        job = replace(job, adapting=own_shape(base, job.adapting))
        places["base"] = str(Path(job.base).resolve()) if exists(job.base) else job.base
    asked |= _settings(job, accelerator)
    fresh = not (out / MANIFEST).exists()
    _open(out, asked, places, base, accelerator, resume=resume)
    if (out / RESULT).exists():
        return read_result(out)
    try:
        ready = _ready(job, base, chosen, out, accelerator, watcher)
    except BurnQedError:
        if fresh and accelerator.is_main_process:  # nothing was begun: the next try may be another
            shutil.rmtree(out / NANO, ignore_errors=True)
            (out / MANIFEST).unlink(missing_ok=True)
        raise
    if ready is None:
        return None
    loop, chosen, train, val = ready
    done = loop.run(watcher.stop, watcher.told)
    if not accelerator.is_main_process:
        return {} if done else None
    return _leave(job, loop, chosen, (train, val), done=done)


# -------------------------------------------------------------------------------------- before


def _open(
    out: Path,
    asked: dict[str, Any],
    places: dict[str, Any],
    base: Base | None,
    accelerator: Any,
    *,
    resume: bool,
) -> None:
    """One process opens the directory; what it has against it ends the others as well."""
    problem: list[BurnQedError | None] = [None]
    if accelerator.is_main_process:
        try:
            if base is not None:
                asked["base_identity"] = identity(base)
            open_run(out, asked, resume=resume, places=places)
            find_checkpoint(out)  # tidies up
        except BurnQedError as error:
            problem = [error]
    broadcast_object_list(problem)
    if problem[0] is not None:
        raise problem[0]


def _data(job: Job, watcher: Watcher) -> tuple[Chosen, dict[str, Any], dict[str, Any]]:
    """What is trained on, and how the manifest names it and its places."""
    read = {
        "data": [read_source(path, watcher.warn) for path in job.data],
        "extra_data": [read_source(path, watcher.warn, found=True) for path in job.extra],
        "val": [read_source(path, watcher.warn) for path in job.val],
    }
    told = {
        key: [{"pairs": len(s.pairs), "checksum": s.checksum} for s in sources]
        for key, sources in read.items()
    }
    places = {key: [str(s.path) for s in sources] for key, sources in read.items()}
    return choose(read["data"], read["extra_data"], read["val"], job.mixture), told, places


def _settings(job: Job, accelerator: Any) -> dict[str, Any]:
    nano = {"base": NANO, "nano_size": job.nano_size} if job.base == NANO else {}
    return {
        "command": "train policy",
        **nano,
        **asdict(job.mixture),
        **asdict(job.adapting),
        **asdict(job.plan),
        **({"try_lr": [*job.sweep.rates], "try_steps": job.sweep.steps} if job.sweep.rates else {}),
        "dtype": job.dtype,
        "prompt": job.prompt,
        "max_length": job.max_length,
        "tactic_tokens": job.tactic_tokens,
        **({"lemmas": job.lemmas} if job.lemmas is not None else {}),
        "processes": accelerator.num_processes,
        "version": version("burn-qed"),
    }


def _prompt(job: Job, own: PromptSettings) -> PromptSettings:
    """The base's own settings, with what was asked for in their place."""
    tactic = job.tactic_tokens or own.tactic_tokens
    longest = job.max_length or own.max_length
    if longest <= tactic:
        raise InputError(
            f"--max-length {longest} leaves no room for a prompt beside {tactic} tokens of a tactic",
            hint="a larger --max-length, or a smaller --tactic-tokens",
        )
    lemmas = own.lemmas if job.lemmas is None else job.lemmas
    return PromptSettings(job.prompt or own.format, longest - tactic, tactic, own.dialect, lemmas)


def _nano(job: Job, chosen: Chosen, out: Path, accelerator: Any) -> Base:
    """A small model of random weights, with a tokenizer made for what it is to read."""
    from burnqed.training.nano import SETTINGS, create

    directory = out / NANO
    if accelerator.is_main_process and not directory.is_dir():
        texts = (text for pair in chosen.train for text in (pair.state, pair.tactic))
        create(directory, job.nano_size, texts, job.plan.seed, _prompt(job, SETTINGS))
    accelerator.wait_for_everyone()
    return Base(str(directory.resolve()))


def _ready(
    job: Job, base: Base | None, chosen: Chosen, out: Path, accelerator: Any, watcher: Watcher
) -> tuple[Loop, Chosen, Encoded, Encoded] | None:
    """The model and the data, in memory, where a checkpoint or the base leaves off.

    None when it was stopped while learning rates were tried.
    """
    base = base or _nano(job, chosen, out, accelerator)
    checkpoint = find_checkpoint(out)
    precision, note = _precision(job.dtype, accelerator.device)
    # It plans anew for each length of a batch, which takes longer than the attention itself.
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.manual_seed(job.plan.seed)
    loaded = prepare(base, job.adapting, _device(accelerator), precision, checkpoint)
    for said in {note, loaded.note} - {""}:
        watcher.warn(said)
    settings = _prompt(job, own_settings(base, loaded))
    if not settings.dialect and any(pair.dialect for pair in chosen.train):
        settings = replace(settings, dialect=DIALECTS[0])  # how it is asked where nobody says otherwise
    loaded = replace(loaded, settings=settings)
    _check_room(loaded)
    if settings.lemmas:
        with watcher.counted("finding lemmas", len(chosen.train) + len(chosen.val)) as one:
            chosen = with_found_lemmas(chosen, settings.lemmas, one)
    with watcher.counted("tokenising", len(chosen.train) + len(chosen.val)) as one:
        train = encode(loaded.tokenizer, settings, chosen.train, one)
        val = encode(loaded.tokenizer, settings, chosen.val, one)
    material = _material(chosen, train, val)
    plan: PolicyPlan | None = job.plan
    if job.sweep.rates:
        tried = (loaded, material, job.plan, job.sweep)
        plan = sweep(*tried, out, accelerator, precision, watcher, resumed=checkpoint is not None)
    if plan is None:
        return None
    loop = Loop(loaded, material, plan, out, accelerator, precision, checkpoint)
    return loop, chosen, train, val


def _device(accelerator: Any) -> str:
    """The device by the name that models are loaded with: of several processes' CPUs there is one."""
    return "cpu" if accelerator.device.type == "cpu" else str(accelerator.device)


def _precision(dtype: Dtype, device: torch.device) -> tuple[torch.dtype, str]:
    """What is computed in, and a sentence where the CPU does not let it be what was asked for."""
    if dtype == "auto":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if fast else torch.float32, ""
    word, note = computed_in("bfloat16" if dtype == "bf16" else "float32", device.type)
    found: torch.dtype = getattr(torch, word)
    return found, note


def _check_room(loaded: Loaded) -> None:
    room = getattr(loaded.model.config, "max_position_embeddings", None)
    if room is not None and loaded.settings.max_length > room:
        raise InputError(
            f"the model reads {room} tokens, and --max-length is {loaded.settings.max_length}",
            hint=f"--max-length {room}",
        )


def _material(chosen: Chosen, train: Encoded, val: Encoded) -> Material:
    if not train.examples:
        raise InputError(
            "every tactic is longer than a tactic may be, or has an end of the prompt's format in it",
            hint="a larger --tactic-tokens, or another --prompt",
        )
    found = [chosen.val[place].found for place in val.places]
    both = list(zip(val.examples, found, strict=True))
    return Material(
        train=train.examples,
        repeats=tuple(chosen.repeats[place] for place in train.places),
        val_given=tuple(one for one, is_found in both if not is_found),
        val_found=tuple(one for one, is_found in both if is_found),
    )


# --------------------------------------------------------------------------------------- after


def _leave(
    job: Job, loop: Loop, chosen: Chosen, encoded: tuple[Encoded, Encoded], *, done: bool
) -> dict[str, Any] | None:
    """The curve, and when the training is done its result; that is written last."""
    out = loop.out
    train, val = encoded
    baseline = None
    if val.examples:
        baseline = baseline_loss(train.examples, val.examples, len(loop.loaded.tokenizer))
    entries = log.read_log(out / log.LOG)
    save_curve(out, entries, baseline)
    if not done:
        return None
    if not (out / BEST).is_dir():  # nothing to choose by: the last is the best
        loop.keep_as_best()
    result = _result(job, loop, chosen, encoded, entries)
    result |= {"baseline_val_loss": baseline} | _matched(job, loop, chosen, val)
    write_result(out, result)
    return result


def _matched(job: Job, loop: Loop, chosen: Chosen, val: Encoded) -> dict[str, Any]:
    """How often the best model says what held-out proofs did, over some of them."""
    from burnqed.training.match import match

    held_out = [chosen.val[place] for place in val.places]
    pairs = random.Random(f"match {job.plan.seed}").sample(held_out, min(job.matched, len(held_out)))
    if not pairs:
        return {}
    found = match(load(loop.out / BEST, _device(loop.accelerator)), pairs)
    return {
        "val_matched_pairs": found.pairs,
        "val_top1": found.first / found.pairs,
        f"val_top{found.n}": found.among / found.pairs,
    }


def _result(
    job: Job, loop: Loop, chosen: Chosen, encoded: tuple[Encoded, Encoded],
    entries: list[dict[str, Any]],
) -> dict[str, Any]:  # fmt: skip
    train, val = encoded
    evaluations = [entry for entry in entries if entry["kind"] == "eval"]
    losses = [entry["loss"] for entry in entries if entry["kind"] == "train"]
    last = evaluations[-1] if evaluations else {}
    best = next((e for e in evaluations if e["step"] == loop.progress.best_step), {})
    parameters = list(loop.loaded.model.parameters())
    return {
        "base": job.base,
        "method": job.adapting.method,
        "parameters": sum(p.numel() for p in parameters),
        "trained_parameters": sum(p.numel() for p in parameters if p.requires_grad),
        "device": str(loop.accelerator.device),
        "dtype": str(loop.module.precision).removeprefix("torch."),
        "prompt": asdict(loop.loaded.settings),
        "steps": loop.progress.step,
        "epochs": round(loop.progress.step / loop.order.per_epoch, 3),
        "seconds": round(loop.progress.seconds, 3),
        "tokens": loop.progress.tokens,
        "tokens_per_second": round(loop.progress.tokens / max(loop.progress.seconds, 1e-9), 1),
        **_speed(loop, entries),
        "lr": loop.plan.lr,
        "ended_by": "patience" if loop.is_out_of_patience else "steps",
        "train_examples": len(train.examples),
        "train_theorems": _theorems(chosen.train),
        "val_examples": len(val.examples),
        "val_theorems": _theorems(chosen.val),
        "val_trajectory_examples": len(loop.material.val_found),
        "dropped": train.dropped + val.dropped,
        "duplicates": chosen.duplicates,
        "withheld": chosen.withheld,
        "train_loss": sum(losses[-_LAST:]) / len(losses[-_LAST:]),
        "val_loss": last.get("val_loss"),
        "val_trajectory_loss": last.get("val_trajectory_loss"),
        "val_accuracy": last.get("val_accuracy"),
        "first_val_loss": evaluations[0].get("val_loss") if evaluations else None,
        "best_step": loop.progress.best_step or loop.progress.step,
        "best_val_loss": best.get("val_loss"),
        "best_val_trajectory_loss": best.get("val_trajectory_loss"),
        "best_val_accuracy": best.get("val_accuracy"),
    }


def _speed(loop: Loop, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Against what the GPU can do: the median, which compiling and starting leave alone."""
    if loop.limit is None:
        return {}
    found = [entry["utilisation"] for entry in entries if entry["kind"] == "train"]
    return {"tflops_of_gpu": round(loop.limit / 1e12, 1), "utilisation": statistics.median(found)}


def _theorems(pairs: tuple[Pair, ...]) -> int:
    return len({pair.theorem for pair in pairs})
