"""What a trained head is worth: its figures and its verdict, by theorems that had no part in it.

The best of twenty looks at the same few groups is better than it is, by several points where there is
nothing to learn at all. So some theorems choose the best step, and others judge it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from burnqed.search.scoring import Scoring
from burnqed.training.ebm import Evaluation, evaluate
from burnqed.training.siblings import Siblings, Split, SplitRows
from burnqed.value.calibration import Exam, Scored, ScoredSiblings, calibrate, write_calibration
from burnqed.value.energy import EnergyHead
from burnqed.value.groups import Contrast
from burnqed.value.metrics import Group, by_depth, metrics


@dataclass(frozen=True, slots=True)
class Judged:
    """What a head makes of the groups that choose, and of those that judge it."""

    test: Evaluation
    exam: Exam


def examine(head: EnergyHead, embeddings: Tensor, rows: SplitRows, split: Split) -> Judged:
    """The energies of a head, for both kinds of groups of its split."""
    val, test = evaluate(head, embeddings, rows.val), evaluate(head, embeddings, rows.test)
    return Judged(test, Exam(_scored_siblings(split.val, val), _scored_siblings(split.test, test)))


def judge_head(
    directory: Path,
    head: EnergyHead,
    embeddings: Tensor,
    rows: SplitRows,
    siblings: Siblings,
    seed: int,
    folds: Sequence[Judged] = (),
) -> dict[str, Any]:
    """Figures for a result; the calibration is written beside the head.

    Where there are `folds`, their heads are judged in place of this one, by the same groups in the
    same order. It is the head of all of them, and learned from more: it should not be worse.
    """
    split = siblings.split
    val = evaluate(head, embeddings, rows.val)
    judged = folds or [examine(head, embeddings, rows, split)]
    test = _together([one.test for one in judged])
    exams = [one.exam for one in judged]
    calibration = calibrate(_scored_siblings(split.val, val), exams, siblings.policies, seed)
    write_calibration(directory, calibration)
    logprob = by_logprob(split.test)
    return {
        "val_rank1": val.overall.rank1,
        **test.told("test"),
        "test_logprob_rank1": metrics(logprob).rank1,
        "test_given_up": _given_up_alone(split.test, test.groups, logprob),
        "test_logprob_by_depth": {str(d): m.rank1 for d, m in by_depth(logprob).items()},
        "temperature": head.temperature.item(),
        "verdict": calibration.verdict,
        "told": calibration.told,
        "calibration": {**asdict(calibration), "policies": list(siblings.policies)},
    }


def _together(found: Sequence[Evaluation]) -> Evaluation:
    groups = tuple(group for one in found for group in one.groups)
    return Evaluation(groups, sum(one.loss * len(one.groups) for one in found) / len(groups))


def by_logprob(groups: Sequence[Contrast]) -> list[Group]:
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
