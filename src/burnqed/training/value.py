"""Training an energy head from beginning to end: groups, embeddings, loop, verdict.

What is left in a directory is a head that knows its encoder, and beside it how far it is to be trusted.
That is measured on theorems which had no part in choosing it: the best of twenty looks at the same few
groups is better than it is, by several points where there is nothing to learn at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from burnqed.core.errors import InputError, NotEnough
from burnqed.core.runs import MANIFEST, open_run, read_manifest
from burnqed.core.watching import Watcher
from burnqed.data.splits import split_of
from burnqed.policy.models.names import BEST
from burnqed.search.scoring import Scoring
from burnqed.training import log
from burnqed.training.checkpoints import RESULT, find_checkpoint, read_result, write_result
from burnqed.training.ebm import Evaluation, Loop, Material, evaluate
from burnqed.training.energy_curve import save_energy_curve
from burnqed.training.hard_negatives import GroupRows
from burnqed.training.pairs import is_validation
from burnqed.training.plans import VALUE_VAL_SHARE, ValuePlan
from burnqed.trajectories.store import find_trajectories, iter_rows
from burnqed.value.calibration import Scored, ScoredSiblings, calibrate, policy_label, write_calibration
from burnqed.value.embeddings import EmbeddingCache, Encoder, embed
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.groups import Contrast, Contrasts, contrasts
from burnqed.value.metrics import Group, by_depth, metrics
from burnqed.value.saved import SavedHead, check_encoder, read_head
from burnqed.value.words import WORDS

EMBEDDINGS = "embeddings"
_FEWEST = 2  # theorems on either side
_SHALLOW = 0.8  # share of the groups at depth 1 above which there is a warning
_MORE = "burn-qed negatives makes more siblings at the proofs of a run; then give both with --data"


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


@dataclass(frozen=True, slots=True)
class Split:
    """The groups of theorems that are learnt from, that choose the best step, and that judge it."""

    train: tuple[Contrast, ...]
    val: tuple[Contrast, ...]
    test: tuple[Contrast, ...]
    left_out: int = 0  # groups held out by name, and the same as something that is not


def train_value(
    job: Job, encoder: Encoder, out: Path, watcher: Watcher, *, resume: bool
) -> dict[str, Any] | None:
    """What is in result.json in the end; None when it was stopped before."""
    found = contrasts(*(iter_rows(find_trajectories(run), watcher.warn) for run in job.data))
    policies = _policies(job.data)
    if len(policies) > 1:
        watcher.warn(
            f"the runs' log-probabilities are of several policies ({', '.join(policies)}): a verdict "
            "against them mixes scales"
        )
    split = split_groups(found, job.val_share, slower=job.slower)
    _warn_if_shallow(found, watcher)
    first = _first_head(job, encoder)
    places = {"data": [str(path.resolve()) for path in job.data], "model": job.source}
    open_run(out, _asked(job, encoder, found, first), resume=resume, places=places)
    checkpoint = find_checkpoint(out)  # tidies up
    if (out / RESULT).exists():
        result = read_result(out)
        write_result(out, result)  # whoever looks whether it came to its end sees that it did
        return result
    used = (*split.train, *split.val, *split.test)
    states = list(dict.fromkeys(text for group in used for text in _texts(group)))
    cache = EmbeddingCache(job.embeddings or out / EMBEDDINGS, encoder.name)
    if not _embed(states, encoder, cache, watcher):
        return None
    rows = torch.from_numpy(cache.get(states)).to(job.device)
    material = _material(split, states, rows)
    if checkpoint:
        head = read_head(checkpoint).head.requires_grad_(True)
    elif first:
        head = first.head.requires_grad_(True)
    else:
        head = _new_head(job, encoder, material)
    loop = Loop(head.to(job.device), encoder.name, job.source, material, job.plan, out, checkpoint)
    done = loop.run(watcher.stop, watcher.told)
    entries = log.read_log(out / log.LOG)
    save_energy_curve(out, entries, _by_logprob(split.val))
    if not done:
        return None
    result = _result(loop, found, split, len(states), entries, policies)
    write_result(out, result)
    return result


# -------------------------------------------------------------------------------------- before


def split_groups(found: Contrasts, share: float, slower: bool = False) -> Split:
    """By the theorems' names alone, and as policies split them: what one sets aside the other does.

    `share` are the theorems that are not learnt from; half of them choose, half of them judge. With
    `slower`, siblings whose proofs are longer stand behind those that were given up, as their like: a
    search should not begin with either.
    """
    if not found.groups:
        raise NotEnough(
            f"nothing to learn from: of {found.positives} states on the paths of proofs, none has a "
            "sibling that was explored and given up",
            hint=_MORE,
        )
    sides: tuple[list[Contrast], list[Contrast], list[Contrast]] = ([], [], [])
    groups = tuple(_with_slower(found)) if slower else found.groups
    for group in groups:
        judges = split_of(f"judges {group.theorem}", (0.0, 0.5, 0.5)) == "test"
        sides[1 + judges if is_validation(group.theorem, share) else 0].append(group)
    train, val, test = _apart(*sides)
    counts = [len({group.theorem for group in side}) for side in (train, val, test)]
    if min(counts) < _FEWEST:
        raise NotEnough(
            f"{len(groups)} groups of {sum(counts)} theorems are too few: {counts[0]} theorems "
            f"learn, {counts[1]} choose the best step and {counts[2]} judge it; each needs {_FEWEST}",
            hint=f"{_MORE}; or another --val-share",
        )
    left_out = len(groups) - sum(map(len, (train, val, test)))
    return Split(tuple(train), tuple(val), tuple(test), left_out)


def _with_slower(found: Contrasts) -> Iterator[Contrast]:
    for group in (*found.groups, *found.paced):
        yield replace(group, siblings=(*group.siblings, *group.slower))


def _apart(*sides: list[Contrast]) -> Iterator[list[Contrast]]:
    """Each side without what an earlier one has seen: a library says much twice, under two names."""
    seen: set[str] = set()
    for side in sides:
        kept = [g for g in side if g.root_goal not in seen and g.positive.text not in seen]
        seen |= {text for g in kept for text in _texts(g)}
        yield kept


def _policies(runs: Sequence[Path]) -> list[str]:
    """Whose log-probabilities some runs have, as far as their manifests say."""
    found: dict[str, None] = {}
    for run in runs:
        directory = run if (run / MANIFEST).exists() else run.parent  # an attempt of an evaluation
        if (directory / MANIFEST).exists():
            found[policy_label(read_manifest(directory))] = None
    return list(found)


def _warn_if_shallow(found: Contrasts, watcher: Watcher) -> None:
    depths = found.by_depth
    if depths.get(1, 0) > _SHALLOW * len(found.groups):
        said = ", ".join(f"{count} at depth {depth}" for depth, count in depths.items())
        watcher.warn(
            f"the groups say little about what is deep in a proof: {said}; longer proofs would"
        )


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


def _asked(job: Job, encoder: Encoder, found: Contrasts, first: SavedHead | None) -> dict[str, Any]:
    digest = hashlib.sha256()
    for group in (*found.groups, *found.paced):
        digest.update(json.dumps(asdict(group)).encode())
    return {
        "command": "train value",
        "groups": len(found.groups),
        "checksum": digest.hexdigest(),
        "encoder": asdict(encoder.name),
        "conditioned": job.conditioned,
        "slower": job.slower,
        "val_share": job.val_share,
        **asdict(job.plan),
        "resume_from": first and first.identity,
        "version": version("burn-qed"),
    }


def _embed(states: Sequence[str], encoder: Encoder, cache: EmbeddingCache, watcher: Watcher) -> bool:
    with watcher.counted("embedding", len(cache.missing(states))) as one:

        def some(count: int) -> None:
            for _ in range(count):
                one()

        return embed(states, encoder, cache, some, watcher.stop)


def _texts(group: Contrast) -> list[str]:
    siblings = [state.text for state in group.siblings]
    return [group.root_goal, group.positive.text, *siblings, *group.others]


def _material(split: Split, states: Sequence[str], embeddings: torch.Tensor) -> Material:
    row = {text: place for place, text in enumerate(states)}

    def places(groups: Sequence[Contrast]) -> tuple[GroupRows, ...]:
        return tuple(
            GroupRows(
                theorem=g.theorem,
                goal=row[g.root_goal],
                depth=g.depth,
                positive=row[g.positive.text],
                siblings=tuple(row[state.text] for state in g.siblings),
                others=tuple(row[text] for text in g.others),
                remaining=g.remaining_steps,
            )
            for g in groups
        )

    return Material(embeddings, places(split.train), places(split.val), places(split.test))


# --------------------------------------------------------------------------------------- after


def _by_logprob(groups: Sequence[Contrast]) -> list[Group]:
    """What the policy's log-probability alone says, as if it were an energy."""
    return [Group(-g.positive.logprob, tuple(-s.logprob for s in g.siblings), g.depth) for g in groups]


def _given_up_alone(
    groups: Sequence[Contrast], energies: Sequence[Group], logprob: Sequence[Group]
) -> dict[str, float]:
    """The figures without siblings that are merely slower."""

    def without_slower(told: Sequence[Group]) -> list[Group]:
        kept = []
        for contrast, group in zip(groups, told, strict=True):
            pairs = zip(contrast.siblings, group.negatives, strict=True)
            negatives = tuple(energy for state, energy in pairs if state not in contrast.slower)
            if negatives:
                kept.append(replace(group, negatives=negatives))
        return kept

    if not without_slower(energies):
        return {"groups": 0}
    ours, theirs = metrics(without_slower(energies)), metrics(without_slower(logprob))
    figures = {"rank1": ours.rank1, "chance": ours.chance, "logprob_rank1": theirs.rank1}
    return {"groups": ours.groups, **figures}


def _counts(split: Split) -> dict[str, int]:
    sides = {"train": split.train, "val": split.val, "test": split.test}
    groups = {f"{side}_groups": len(found) for side, found in sides.items()}
    names = {f"{side}_theorems": len({g.theorem for g in found}) for side, found in sides.items()}
    return {**groups, **names}


def _scored_siblings(groups: Sequence[Contrast], found: Evaluation) -> list[ScoredSiblings]:
    """Siblings as a search sees them, which divides by a power of the path's length."""
    scored = []
    for group, energies in zip(groups, found.groups, strict=True):
        length = group.depth ** Scoring().length_power
        pairs = zip(energies.negatives, group.siblings, strict=True)
        scored.append(
            ScoredSiblings(
                theorem=group.theorem,
                depth=group.depth,
                positive=Scored(energies.positive, group.positive.logprob / length),
                negatives=tuple(Scored(energy, state.logprob / length) for energy, state in pairs),
            )
        )
    return scored


def _result(
    loop: Loop,
    found: Contrasts,
    split: Split,
    states: int,
    entries: Sequence[log.Entry],
    policies: Sequence[str],
) -> dict[str, Any]:
    """Judged with the head as it can be read from the disk."""
    head = read_head(loop.out / BEST).head.to(loop.device)
    val = evaluate(head, loop.material.embeddings, loop.material.val)
    test = evaluate(head, loop.material.embeddings, loop.material.test)
    tuning, judging = _scored_siblings(split.val, val), _scored_siblings(split.test, test)
    calibration = calibrate(tuning, judging, policies, loop.plan.seed)
    write_calibration(loop.out / BEST, calibration)
    logprob = _by_logprob(split.test)
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
        "data": found.statistics,
        "states": states,
        **_counts(split),
        "groups_left_out": split.left_out,
        **{key: best[key] for side in ("train", "val") for key in (f"{side}_loss", f"{side}_rank1")},
        **test.told("test"),
        "test_logprob_rank1": metrics(logprob).rank1,
        "test_given_up": _given_up_alone(split.test, test.groups, logprob),
        "test_logprob_by_depth": {str(d): m.rank1 for d, m in by_depth(logprob).items()},
        "first_val_rank1": entries[0]["val_rank1"],
        "temperature": head.temperature.item(),
        "verdict": calibration.verdict,
        "told": calibration.told,
        "calibration": {**asdict(calibration), "policies": list(policies)},
    }
