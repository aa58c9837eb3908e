"""Training an energy head from beginning to end: groups, embeddings, loop, verdict.

What is left in a directory is a head that knows its encoder, and beside it how far it is to be trusted.
It learns from all theorems but those that choose its best step. The heads of the folds, which are only
there for the verdict, are trained after it in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from burnqed.core.runs import open_run
from burnqed.core.watching import Watcher
from burnqed.policy.models.names import BEST
from burnqed.training import log
from burnqed.training.checkpoints import RESULT, find_checkpoint, read_result, write_result
from burnqed.training.ebm import Loop, Material
from burnqed.training.energy_curve import save_energy_curve
from burnqed.training.folds import WHOLE, Fold, Telling, first_heads, place_of
from burnqed.training.judging import by_logprob, examine, judge_head
from burnqed.training.plans import FOLDS, VALUE_VAL_SHARE, ValuePlan
from burnqed.training.siblings import Siblings, SplitRows, read_siblings
from burnqed.value.embeddings import EmbeddingCache, Encoder, embed_watched
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.saved import SavedHead, read_head
from burnqed.value.words import WORDS

EMBEDDINGS = "embeddings"


@dataclass(frozen=True, slots=True)
class Job:
    """All that decides the result, besides the encoder; and where to compute."""

    data: tuple[Path, ...]
    conditioned: bool = True
    slower: bool = False  # siblings with longer proofs are negatives, too
    val_share: float = VALUE_VAL_SHARE
    policy_val_share: float = 0.0  # of the encoder's training; 0: it learned from none of the theorems
    folds: int = FOLDS  # of theorems, each judging a head of its own; 1: some judge the head itself
    plan: ValuePlan = field(default_factory=ValuePlan)
    resume_from: Path | None = None  # a head to begin with
    embeddings: Path | None = None  # where they are kept; by default with the training
    device: str = "cpu"  # for the head
    source: str = ""  # where the encoder's model is; written into the head


@dataclass(frozen=True, slots=True)
class Given:
    """What all heads of a training have in common."""

    job: Job
    encoder: Encoder
    embeddings: Tensor
    out: Path
    watcher: Watcher


def train_value(
    job: Job, encoder: Encoder, out: Path, watcher: Watcher, *, resume: bool
) -> dict[str, Any] | None:
    """What is in result.json in the end; None when it was stopped before."""
    siblings = read_siblings(
        job.data, job.val_share, watcher, slower=job.slower, folds=job.folds,
        unlearnt=job.policy_val_share,
    )  # fmt: skip
    divided = {"val_share": job.val_share, "policy_val_share": job.policy_val_share, "folds": job.folds}
    first = first_heads(job.resume_from, encoder.name, job.conditioned, divided, siblings.folds)
    places = {"data": [str(path.resolve()) for path in job.data], "model": job.source}
    open_run(
        out, _asked(job, encoder, siblings, divided, first.get(WHOLE)), resume=resume, places=places
    )
    if (out / RESULT).exists():
        result = read_result(out)
        write_result(out, result)  # whoever looks whether it came to its end sees that it did
        return result
    rows, states = siblings.rows()
    cache = EmbeddingCache(job.embeddings or out / EMBEDDINGS, encoder.name)
    if not embed_watched(states, encoder, cache, watcher):
        return None
    given = Given(job, encoder, torch.from_numpy(cache.get(states)).to(job.device), out, watcher)
    loop = _loop(given, WHOLE, rows[WHOLE], first)
    telling = Telling(watcher, loop.steps, tuple(rows))
    done = loop.run(watcher.stop, telling.of(WHOLE))
    entries = log.read_log(out / log.LOG)
    save_energy_curve(out, entries, by_logprob(siblings.split.val))
    if not done:
        return None
    folds: dict[int, Fold] = {}
    for number, split in siblings.folds.items():
        fold = _loop(given, number, rows[number], first)
        if not fold.run(watcher.stop, telling.of(number)):
            return None
        head = read_head(fold.out / BEST).head.to(job.device)
        judged = examine(head, given.embeddings, rows[number], split)
        folds[number] = Fold(judged, fold.progress, split.counts)
    result = _result(loop, siblings, rows[WHOLE], entries, folds)
    write_result(out, result)
    return result


# -------------------------------------------------------------------------------------- before


def _loop(given: Given, number: int, rows: SplitRows, first: Mapping[int, SavedHead]) -> Loop:
    """The training of a head, from where it was left."""
    job, encoder, out = given.job, given.encoder, place_of(given.out, number)
    out.mkdir(parents=True, exist_ok=True)
    material = Material(given.embeddings, rows.train, rows.val)
    checkpoint = find_checkpoint(out)  # tidies up
    if checkpoint:
        head = read_head(checkpoint).head.requires_grad_(True)
    elif number in first:
        head = first[number].head.requires_grad_(True)
    else:
        head = _new_head(job, encoder, material)
    return Loop(head.to(job.device), encoder.name, job.source, material, job.plan, out, checkpoint)


def _new_head(job: Job, encoder: Encoder, material: Material) -> EnergyHead:
    torch.manual_seed(job.plan.seed)
    if encoder.name.model == WORDS:  # what is rare would be the loudest of all, were it standardised
        return EnergyHead(HeadConfig(encoder.name.width, job.conditioned, linear=True))
    head = EnergyHead(HeadConfig(encoder.name.width, job.conditioned))
    rows = {row for g in material.train for row in (g.goal, g.positive, *g.siblings, *g.others)}
    head.standardise(material.embeddings[sorted(rows)].cpu())
    return head


def _asked(
    job: Job,
    encoder: Encoder,
    siblings: Siblings,
    divided: Mapping[str, Any],
    first: SavedHead | None,
) -> dict[str, Any]:
    return {
        "command": "train value",
        "groups": len(siblings.found.groups),
        "checksum": siblings.checksum,
        "encoder": asdict(encoder.name),
        "conditioned": job.conditioned,
        "slower": job.slower,
        **divided,
        **asdict(job.plan),
        "resume_from": first and first.identity,
        "version": version("burn-qed"),
    }


# --------------------------------------------------------------------------------------- after


def _result(
    loop: Loop,
    siblings: Siblings,
    rows: SplitRows,
    entries: Sequence[log.Entry],
    folds: Mapping[int, Fold],
) -> dict[str, Any]:
    """Judged with the head as it can be read from the disk."""
    head = read_head(loop.out / BEST).head.to(loop.device)
    judged = judge_head(
        loop.out / BEST, head, loop.material.embeddings, rows, siblings, loop.plan.seed,
        [fold.judged for fold in folds.values()],
    )  # fmt: skip
    progress = [fold.progress for fold in folds.values()]
    best = next(e for e in entries if e["kind"] == "eval" and e["step"] == loop.progress.best_step)
    return {
        "stopped": loop.progress.ended,
        "steps": loop.progress.step,
        "epochs": round(loop.progress.step / loop.order.per_epoch, 3),
        "seconds": round(sum(one.seconds for one in (loop.progress, *progress)), 3),
        "best_step": loop.progress.best_step,
        "parameters": sum(p.numel() for p in head.parameters()),
        "conditioned": head.config.conditioned,
        "encoder": asdict(loop.encoder),
        "device": str(loop.device),
        "data": siblings.found.statistics,
        "states": len(rows.states),
        **siblings.split.counts,
        **{key: best[key] for side in ("train", "val") for key in (f"{side}_loss", f"{side}_rank1")},
        **{key: value for key, value in judged.items() if key != "val_rank1"},
        "first_val_rank1": entries[0]["val_rank1"],
        "folds": {str(number): fold.told for number, fold in folds.items()},
    }
