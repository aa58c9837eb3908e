"""Training a policy and its value model together, from beginning to end.

Both share a backbone. Pairs teach it tactics and groups of siblings teach it to tell states apart, in
one pass. What is left in a directory is a policy, and beside it a head for that very policy's hidden
states. The head is judged by theorems that neither stream learned from, with the model as it is read
from the disk, which is what a search will use.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from burnqed.core.errors import InputError
from burnqed.core.runs import MANIFEST
from burnqed.core.watching import Watcher
from burnqed.policy.models.load import load
from burnqed.policy.models.names import BEST, POLICY, VALUE
from burnqed.training import log
from burnqed.training.baseline import baseline_loss
from burnqed.training.checkpoints import RESULT, read_result, write_result
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
from burnqed.training.joint_curve import save_joint_curve
from burnqed.training.joint_loop import Loop, Material
from burnqed.training.judging import judge_head
from burnqed.training.loss import TacticLoss
from burnqed.training.one_pass import OnePass, prompts
from burnqed.training.plans import JointPlan
from burnqed.training.siblings import Siblings, SplitRows, read_siblings
from burnqed.training.trial import try_largest
from burnqed.value.encoder import LocalEncoder, Pooling, check_layer
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.saved import read_head

_LAST = 50  # steps over which the last training loss is taken
_MEASURED = 4096  # states that inputs of the head are standardised by, at most


@dataclass(frozen=True, slots=True)
class Job(Given):
    """All that decides the result. `mixture.val_share` is of the theorems of both streams."""

    runs: tuple[Path, ...] = ()  # of searches, for siblings
    conditioned: bool = True
    slower: bool = False  # siblings with longer proofs are negatives, too
    policy_val_share: float = 0.0  # of the base's own training; 0: it learned from none of the theorems
    pooling: Pooling = "mean"
    layer: int = -1
    plan: JointPlan = field(default_factory=JointPlan)


def train_joint(job: Job, out: Path, watcher: Watcher, *, resume: bool) -> dict[str, Any] | None:
    """What is in result.json in the end; None when it was stopped before."""
    accelerator = Accelerator(mixed_precision="no")  # `TacticLoss` says what is computed in what
    try:
        return _train(job, out, watcher, accelerator, resume=resume)
    finally:
        accelerator.end_training()


def _train(
    job: Job, out: Path, watcher: Watcher, accelerator: Any, *, resume: bool
) -> dict[str, Any] | None:
    if accelerator.num_processes > 1:
        raise InputError(
            f"a joint training runs in one process, and {accelerator.num_processes} were started",
            hint="start it without `accelerate launch`",
        )
    chosen, asked, places = read_data(job, watcher)
    learnt = frozenset(pair.state for pair in chosen.train)
    siblings = read_siblings(
        job.runs, job.mixture.val_share, watcher, slower=job.slower, flag="--runs", learnt=learnt,
        unlearnt=job.policy_val_share,
    )  # fmt: skip
    base, adapting, place = find_given_base(job)
    job = replace(job, adapting=adapting)
    asked |= _settings(job, siblings, accelerator)
    places |= {"runs": [str(path.resolve()) for path in job.runs], **place}
    fresh = not (out / MANIFEST).exists()
    open_directory(out, asked, places, base, accelerator, resume=resume)
    if (out / RESULT).exists():
        return read_result(out)
    rows = SplitRows.of(siblings.split)
    with nothing_begun(out, accelerator, fresh=fresh):
        ready = make_ready(job, base, chosen, out, accelerator, watcher, job.plan.seed)
        loop = _loop(job, ready, rows, out, accelerator, watcher)
        if loop is None:
            return None
        trial = try_largest(loop)
    watcher.told(trial)
    if loop.progress.step == 0:
        log.append(out / log.LOG, [{"kind": "trial", **asdict(trial)}])
    done = loop.run(watcher.stop, watcher.told)
    entries = log.read_log(out / log.LOG)
    save_joint_curve(out, entries, job.plan)
    if not done:
        return None
    result = _result(job, loop, ready, siblings, rows, entries)
    write_result(out, result)
    return result


# -------------------------------------------------------------------------------------- before


def _settings(job: Job, siblings: Siblings, accelerator: Any) -> dict[str, Any]:
    return {
        "command": "train joint",
        **told_settings(job, accelerator),
        "groups": len(siblings.found.groups),
        "checksum": siblings.checksum,
        "conditioned": job.conditioned,
        "slower": job.slower,
        # Trainings that had no such setting go on without it.
        **({"policy_val_share": job.policy_val_share} if job.policy_val_share else {}),
        "pooling": job.pooling,
        "layer": job.layer,
        **asdict(job.plan),
        "version": version("burn-qed"),
    }


def _loop(
    job: Job, ready: Ready, rows: SplitRows, out: Path, accelerator: Any, watcher: Watcher
) -> Loop | None:
    """None when it was stopped while the head's inputs were measured."""
    loaded = ready.loaded
    module = TacticLoss(loaded.model, ready.precision, loaded.settings.max_length)
    with watcher.counted("tokenising states", len(rows.states)) as one:
        states = prompts(loaded.tokenizer, loaded.settings, rows.states, one)
    width = int(loaded.model.config.get_text_config().hidden_size)
    check_layer(loaded.model.config, job.layer)
    if ready.checkpoint:
        head = read_head(ready.checkpoint / VALUE).head.requires_grad_(True)
    else:
        torch.manual_seed(job.plan.seed)
        head = EnergyHead(HeadConfig(width, job.conditioned))
    both = OnePass(module, head.to(loaded.device), states, job.pooling, job.layer)
    if not ready.checkpoint and not _standardise(job, both, rows, watcher):
        return None
    material = Material(ready.material, rows.train, rows.val)
    return Loop(
        loaded, both, material, job.plan, out, accelerator, job.pooling, job.layer, ready.checkpoint
    )


def _standardise(job: Job, both: OnePass, rows: SplitRows, watcher: Watcher) -> bool:
    """By some training states, as the backbone shows them before the first step."""
    seen = sorted({row for g in rows.train for row in (g.goal, g.positive, *g.siblings, *g.others)})
    chance = random.Random(f"standardise {job.plan.seed}")
    some = chance.sample(seen, min(_MEASURED, len(seen)))
    room = job.plan.batch * both.module.longest
    embeddings = both.embed(some, room, watcher.stop)
    if embeddings is None:
        return False
    both.head.standardise(embeddings)
    return True


# --------------------------------------------------------------------------------------- after


def _result(
    job: Job,
    loop: Loop,
    ready: Ready,
    siblings: Siblings,
    rows: SplitRows,
    entries: Sequence[log.Entry],
) -> dict[str, Any]:
    """Judged with both models as they can be read from the disk."""
    best = loop.out / BEST
    head = read_head(best)
    encoder = LocalEncoder(
        load(best / POLICY, device_name(loop.accelerator), loop.dtype), loop.pooling, loop.layer
    )
    assert encoder.name == head.encoder, "the head is for the policy beside it"
    embeddings = torch.zeros(len(rows.states), encoder.name.width)
    asked = sorted({row for g in (*rows.val, *rows.test) for row in (g.goal, g.positive, *g.siblings)})
    embeddings[asked] = torch.from_numpy(encoder.encode([rows.states[row] for row in asked]))
    judged = judge_head(best / VALUE, head.head, embeddings, rows, siblings, loop.plan.seed)
    evaluations = {e["step"]: e for e in entries if e["kind"] == "eval"}
    kept, last = evaluations[loop.progress.best_step or 0], evaluations[loop.progress.step]
    parameters = list(loop.loaded.model.parameters())
    trained = [e for e in entries if e["kind"] == "train"]
    losses = [e["loss"] for e in trained][-_LAST:]
    train, val = ready.train.examples, ready.val.examples
    watched = ("val_loss", "val_contrast_loss", "val_rank1", "centroid_l2", "distance", "probe")
    return {
        "stopped": loop.progress.ended,
        "steps": loop.progress.step,
        "epochs": round(loop.progress.step / loop.order.per_epoch, 3),
        "group_epochs": round(loop.progress.step / loop.group_order.per_epoch, 3),
        "tokens": sum(e["tokens"] for e in trained),
        "seconds": round(loop.progress.seconds, 3),
        "best_step": loop.progress.best_step,
        "base": job.base,
        "parameters": sum(p.numel() for p in parameters),
        "trained_parameters": sum(p.numel() for p in loop.shared),
        "head_parameters": sum(p.numel() for p in head.head.parameters()),
        "conditioned": head.head.config.conditioned,
        "encoder": asdict(head.encoder),
        "device": str(loop.both.device),
        "scale": loop.scale,
        "data": siblings.found.statistics,
        "states": len(rows.states),
        **siblings.split.counts,
        "train_examples": len(train),
        "val_examples": len(val),
        "baseline_val_loss": baseline_loss(train, val, len(loop.loaded.tokenizer)) if val else None,
        "train_loss": sum(losses) / len(losses),
        **{f"first_{key}": evaluations[0][key] for key in watched},
        **{f"best_{key}": kept[key] for key in watched},
        **{f"last_{key}": last[key] for key in watched},
        "val_loss": kept["val_loss"],
        "val_accuracy": kept["val_accuracy"],
        **judged,
    }
