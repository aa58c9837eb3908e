"""Training a policy from beginning to end: data, model, loop, and what is left in a directory."""

from __future__ import annotations

import random
import statistics
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from burnqed.core.runs import MANIFEST
from burnqed.core.watching import Watcher
from burnqed.policy.models.load import load
from burnqed.policy.models.names import BEST
from burnqed.training import log
from burnqed.training.baseline import baseline_loss
from burnqed.training.checkpoints import RESULT, read_result, write_result
from burnqed.training.curve import save_curve
from burnqed.training.given import (
    Given,
    Ready,
    device_name,
    find_given_base,
    make_ready,
    nothing_begun,
    open_directory,
    read_data,
    told_settings,
)
from burnqed.training.pairs import Pair
from burnqed.training.plans import MATCHED, PolicyPlan, Sweep
from burnqed.training.sft import Loop
from burnqed.training.sweep import sweep

_LAST = 50  # steps over which the last training loss is taken


@dataclass(frozen=True, slots=True)
class Job(Given):
    """All that decides the result."""

    plan: PolicyPlan = field(default_factory=PolicyPlan)
    sweep: Sweep = field(default_factory=Sweep)
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
    chosen, asked, places = read_data(job, watcher)
    base, adapting, place = find_given_base(job)
    job = replace(job, adapting=adapting)
    asked |= _settings(job, accelerator)
    fresh = not (out / MANIFEST).exists()
    open_directory(out, asked, places | place, base, accelerator, resume=resume)
    if (out / RESULT).exists():
        return read_result(out)
    with nothing_begun(out, accelerator, fresh=fresh):
        ready = make_ready(job, base, chosen, out, accelerator, watcher, job.plan.seed)
        loop = _loop(job, ready, out, accelerator, watcher)
    if loop is None:
        return None
    done = loop.run(watcher.stop, watcher.told)
    if not accelerator.is_main_process:
        return {} if done else None
    return _leave(job, loop, ready, done=done)


def _settings(job: Job, accelerator: Any) -> dict[str, Any]:
    return {
        "command": "train policy",
        **told_settings(job, accelerator),
        **asdict(job.plan),
        **({"try_lr": [*job.sweep.rates], "try_steps": job.sweep.steps} if job.sweep.rates else {}),
        "version": version("burn-qed"),
    }


def _loop(job: Job, ready: Ready, out: Path, accelerator: Any, watcher: Watcher) -> Loop | None:
    """None when it was stopped while learning rates were tried."""
    plan: PolicyPlan | None = job.plan
    loaded, material, precision = ready.loaded, ready.material, ready.precision
    resumed = ready.checkpoint is not None
    if job.sweep.rates:
        tried = (loaded, material, job.plan, job.sweep)
        plan = sweep(*tried, out, accelerator, precision, watcher, resumed=resumed)
    if plan is None:
        return None
    return Loop(loaded, material, plan, out, accelerator, precision, ready.checkpoint)


# --------------------------------------------------------------------------------------- after


def _leave(job: Job, loop: Loop, ready: Ready, *, done: bool) -> dict[str, Any] | None:
    """The curve, and when the training is done its result; that is written last."""
    out = loop.out
    train, val = ready.train.examples, ready.val.examples
    baseline = baseline_loss(train, val, len(loop.loaded.tokenizer)) if val else None
    entries = log.read_log(out / log.LOG)
    save_curve(out, entries, baseline)
    if not done:
        return None
    if not (out / BEST).is_dir():  # nothing to choose by: the last is the best
        loop.keep_as_best()
    result = _result(job, loop, ready, entries)
    result |= {"baseline_val_loss": baseline} | _matched(job, loop, ready)
    write_result(out, result)
    return result


def _matched(job: Job, loop: Loop, ready: Ready) -> dict[str, Any]:
    """How often the best model says what held-out proofs did, over some of them."""
    from burnqed.training.match import match

    held_out = [ready.chosen.val[place] for place in ready.val.places]
    pairs = random.Random(f"match {job.plan.seed}").sample(held_out, min(job.matched, len(held_out)))
    if not pairs:
        return {}
    found = match(load(loop.out / BEST, device_name(loop.accelerator)), pairs)
    return {
        "val_matched_pairs": found.pairs,
        "val_top1": found.first / found.pairs,
        f"val_top{found.n}": found.among / found.pairs,
    }


def _result(job: Job, loop: Loop, ready: Ready, entries: list[dict[str, Any]]) -> dict[str, Any]:
    chosen, train, val = ready.chosen, ready.train, ready.val
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
