"""The heads of a training by their number: the one that is kept, and one for each fold of theorems.

A fold's theorems judge a head that learned from the others. So all theorems judge, and none of them
what has learned from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError
from burnqed.core.runs import MANIFEST, read_manifest
from burnqed.core.watching import Watcher
from burnqed.policy.models.names import BEST
from burnqed.training.ebm import Progress, StepMetrics
from burnqed.training.judging import Judged
from burnqed.value.encoder import EncoderName
from burnqed.value.saved import SavedHead, check_encoder, read_head

FOLDS = "folds"  # a directory for each, with a log, a checkpoint and the best head
WHOLE = 0  # the number of the head that is kept; folds count from 1
_OLDER = {"folds": 1, "policy_val_share": 0.0}  # of trainings that had no such settings


def place_of(out: Path, number: int) -> Path:
    """Where a head is trained."""
    return out if number == WHOLE else out / FOLDS / str(number)


@dataclass(frozen=True, slots=True)
class Fold:
    """The head of a fold: what its theorems say of it, and how its training ended."""

    judged: Judged
    progress: Progress
    counts: Mapping[str, int]

    @property
    def told(self) -> dict[str, Any]:
        """For a result."""
        return {
            "stopped": self.progress.ended,
            "steps": self.progress.step,
            "best_step": self.progress.best_step,
            **{key: count for key, count in self.counts.items() if key != "groups_left_out"},
            "test_rank1": self.judged.test.overall.rank1,
        }


@dataclass(frozen=True, slots=True)
class Telling:
    """All heads to a watcher as one training, in which each has as many steps as the first."""

    watcher: Watcher
    steps: int
    numbers: tuple[int, ...]

    def of(self, number: int) -> Callable[[StepMetrics], None]:
        place, heads = self.numbers.index(number), len(self.numbers)
        fold = None if number == WHOLE else number

        def tell(told: StepMetrics) -> None:
            step = place * self.steps + self.steps * told.step // told.steps
            self.watcher.told(replace(told, step=step, steps=heads * self.steps, fold=fold))

        return tell


def first_heads(
    begin: Path | None,
    encoder: EncoderName,
    conditioned: bool,
    divided: Mapping[str, Any],
    numbers: Collection[int],
) -> dict[int, SavedHead]:
    """The heads to begin with, by their number, if a training was given to go on from.

    A fold begins with the head of the same fold: any other may have learned from those that judge it.
    `divided` are the settings by which theorems are divided, which have to be those of that training.
    """
    if begin is None:
        return {}
    saved = read_head(begin)
    check_encoder(saved, encoder)
    if saved.head.config.conditioned != conditioned:
        sees = "sees" if saved.head.config.conditioned else "does not see"
        raise InputError(
            f"the head in {saved.directory} {sees} the goal",
            hint="leave out --unconditioned" if saved.head.config.conditioned else "--unconditioned",
        )
    training = saved.directory.parent
    if (training / MANIFEST).exists():
        _refuse_others(training, {**_OLDER, **read_manifest(training)}, divided)
    elif numbers:
        raise InputError(
            f"beside the head in {saved.directory} there are none of its folds: it may know any "
            "theorem that is to judge",
            hint="--folds 1, or give the directory of a training",
        )
    return {WHOLE: saved} | {one: _same_fold(training, one) for one in numbers}


def _refuse_others(training: Path, had: Mapping[str, Any], divided: Mapping[str, Any]) -> None:
    for key, given in divided.items():
        if had.get(key) != given:
            option = f"--{key.replace('_', '-')}"
            raise InputError(
                f"{training} was trained with {option} {had.get(key)}, and here it is {given}: its "
                "head may know theorems that are to judge",
                hint=f"{option} {had.get(key)}",
            )


def _same_fold(training: Path, number: int) -> SavedHead:
    directory = place_of(training, number) / BEST
    if not directory.is_dir():
        raise InputError(
            f"{training} has no head of fold {number}: it is not whole, or had no theorem in that fold",
            hint="finish it with --resume, or begin with no head: leave out --resume-from",
        )
    return read_head(directory)
