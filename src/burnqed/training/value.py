"""Training an energy head from beginning to end: groups, embeddings, loop, verdict.

What is left in a directory is a head that knows its encoder, and beside it how far it is to be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from burnqed.core.errors import InputError
from burnqed.core.runs import open_run
from burnqed.core.watching import Watcher
from burnqed.policy.models.names import BEST
from burnqed.training import log
from burnqed.training.checkpoints import RESULT, find_checkpoint, read_result, write_result
from burnqed.training.ebm import Loop, Material
from burnqed.training.energy_curve import save_energy_curve
from burnqed.training.judging import by_logprob, judge_head
from burnqed.training.plans import VALUE_VAL_SHARE, ValuePlan
from burnqed.training.siblings import Siblings, SplitRows, read_siblings
from burnqed.value.embeddings import EmbeddingCache, Encoder, embed_watched
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.saved import SavedHead, check_encoder, read_head
from burnqed.value.words import WORDS

EMBEDDINGS = "embeddings"


@dataclass(frozen=True, slots=True)
class Job:
    """All that decides the result, besides the encoder; and where to compute."""

    data: tuple[Path, ...]
    conditioned: bool = True
    slower: bool = False  # siblings with longer proofs are negatives, too
    val_share: float = VALUE_VAL_SHARE
    plan: ValuePlan = field(default_factory=ValuePlan)
    resume_from: Path | None = None  # a head to begin with
    embeddings: Path | None = None  # where they are kept; by default with the training
    device: str = "cpu"  # for the head
    source: str = ""  # where the encoder's model is; written into the head


def train_value(
    job: Job, encoder: Encoder, out: Path, watcher: Watcher, *, resume: bool
) -> dict[str, Any] | None:
    """What is in result.json in the end; None when it was stopped before."""
    siblings = read_siblings(job.data, job.val_share, watcher, slower=job.slower)
    first = _first_head(job, encoder)
    places = {"data": [str(path.resolve()) for path in job.data], "model": job.source}
    open_run(out, _asked(job, encoder, siblings, first), resume=resume, places=places)
    checkpoint = find_checkpoint(out)  # tidies up
    if (out / RESULT).exists():
        result = read_result(out)
        write_result(out, result)  # whoever looks whether it came to its end sees that it did
        return result
    rows = SplitRows.of(siblings.split)
    cache = EmbeddingCache(job.embeddings or out / EMBEDDINGS, encoder.name)
    if not embed_watched(rows.states, encoder, cache, watcher):
        return None
    embeddings = torch.from_numpy(cache.get(rows.states)).to(job.device)
    material = Material(embeddings, rows.train, rows.val)
    if checkpoint:
        head = read_head(checkpoint).head.requires_grad_(True)
    elif first:
        head = first.head.requires_grad_(True)
    else:
        head = _new_head(job, encoder, material)
    loop = Loop(head.to(job.device), encoder.name, job.source, material, job.plan, out, checkpoint)
    done = loop.run(watcher.stop, watcher.told)
    entries = log.read_log(out / log.LOG)
    save_energy_curve(out, entries, by_logprob(siblings.split.val))
    if not done:
        return None
    result = _result(loop, siblings, rows, entries)
    write_result(out, result)
    return result


# -------------------------------------------------------------------------------------- before


def _first_head(job: Job, encoder: Encoder) -> SavedHead | None:
    """The head to begin with, if one was given and it is this encoder's."""
    if job.resume_from is None:
        return None
    saved = read_head(job.resume_from)
    check_encoder(saved, encoder.name)
    if saved.head.config.conditioned != job.conditioned:
        sees = "sees" if saved.head.config.conditioned else "does not see"
        raise InputError(
            f"the head in {saved.directory} {sees} the goal",
            hint="leave out --unconditioned" if saved.head.config.conditioned else "--unconditioned",
        )
    return saved


def _new_head(job: Job, encoder: Encoder, material: Material) -> EnergyHead:
    torch.manual_seed(job.plan.seed)
    if encoder.name.model == WORDS:  # what is rare would be the loudest of all, were it standardised
        return EnergyHead(HeadConfig(encoder.name.width, job.conditioned, linear=True))
    head = EnergyHead(HeadConfig(encoder.name.width, job.conditioned))
    rows = {row for g in material.train for row in (g.goal, g.positive, *g.siblings, *g.others)}
    head.standardise(material.embeddings[sorted(rows)].cpu())
    return head


def _asked(job: Job, encoder: Encoder, siblings: Siblings, first: SavedHead | None) -> dict[str, Any]:
    return {
        "command": "train value",
        "groups": len(siblings.found.groups),
        "checksum": siblings.checksum,
        "encoder": asdict(encoder.name),
        "conditioned": job.conditioned,
        "slower": job.slower,
        "val_share": job.val_share,
        **asdict(job.plan),
        "resume_from": first and first.identity,
        "version": version("burn-qed"),
    }


# --------------------------------------------------------------------------------------- after


def _result(
    loop: Loop, siblings: Siblings, rows: SplitRows, entries: Sequence[log.Entry]
) -> dict[str, Any]:
    """Judged with the head as it can be read from the disk."""
    head = read_head(loop.out / BEST).head.to(loop.device)
    judged = judge_head(loop.out / BEST, head, loop.material.embeddings, rows, siblings, loop.plan.seed)
    best = next(e for e in entries if e["kind"] == "eval" and e["step"] == loop.progress.best_step)
    return {
        "stopped": loop.progress.ended,
        "steps": loop.progress.step,
        "epochs": round(loop.progress.step / loop.order.per_epoch, 3),
        "seconds": round(loop.progress.seconds, 3),
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
    }
