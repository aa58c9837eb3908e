"""Which stage is due: a pure function of the configuration and of what is done."""

from __future__ import annotations

from dataclasses import dataclass

from burnqed.iteration.config import Config
from burnqed.iteration.history import BASELINE
from burnqed.iteration.made import Done
from burnqed.iteration.specs import Stage
from burnqed.iteration.stages import stages


@dataclass(frozen=True, slots=True)
class Due:
    """The next stage, or one that cannot be done: `without` says which stage it would have needed."""

    stage: Stage
    without: str = ""


def due(config: Config, iteration: int, done: Done) -> Due | None:
    """What is to be done next in an iteration; None when all of it is done or skipped.

    The baseline never counts as an earlier iteration that is missing: `complete` asks for that.
    """
    for stage in stages(config, iteration, done):
        if stage.key in done:
            continue
        skipped = (name for name in stage.needs if done.get((iteration, name)) == "skipped")
        return Due(stage, next(skipped, ""))
    return None


def complete(config: Config, iteration: int, done: Done) -> bool:
    return due(config, iteration, done) is None


def first_incomplete(config: Config, done: Done, last: int) -> int | None:
    """The first iteration up to `last`, the baseline included, that has something due."""
    every = range(BASELINE, last + 1)
    return next((number for number in every if not complete(config, number, done)), None)
