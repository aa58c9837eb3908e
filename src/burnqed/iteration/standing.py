"""What became of a run's stages, and of what they measured: which value models a red line drops.

That a head is dropped is written nowhere. It is made again from the same figures each time, as gates
are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError
from burnqed.evaluation.results import RESULT
from burnqed.iteration.config import Config
from burnqed.iteration.directory import OUTCOMES, read_done, record_of
from burnqed.iteration.made import (
    EMBEDDINGS,
    JOINT,
    VALUE,
    Done,
    Status,
    head_stage,
    is_made,
    joint_training,
    look_of,
    value_training,
)
from burnqed.iteration.red_lines import drops
from burnqed.prover.embeddings import FIGURES


def read_standing(run: Path, config: Config) -> dict[tuple[int, str], Status]:
    """What became of the stages that are over, with heads that no search is to follow."""
    done = read_done(run)
    for number in [number for number, stage in done if stage in (VALUE, JOINT)]:
        if drops(config, read_look(run, number, done), read_value(run, number, done)):
            done[number, head_stage(number, done)] = "dropped"
    return done


def read_look(run: Path, number: int, done: Done) -> dict[str, Any] | None:
    """The figures of an iteration's embeddings."""
    return read_made(run / look_of(number) / FIGURES, done, (number, EMBEDDINGS))


def read_value(run: Path, number: int, done: Done) -> dict[str, Any] | None:
    """The result of an iteration's value model."""
    stage = head_stage(number, done)
    training = joint_training if stage == JOINT else value_training
    return read_made(run / training(number) / RESULT, done, (number, stage))


def read_made(path: Path, done: Done, key: tuple[int, str]) -> dict[str, Any] | None:
    """What a finished stage wrote; None where there was no such stage."""
    if not is_made(*key, done):
        return None
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content
    except (OSError, ValueError) as error:
        record = record_of(Path(), *key)
        outcome = Path(OUTCOMES, *record.parts[1:])
        raise InputError(
            f"cannot read {path}: {error}",
            hint=f"remove it, {record} and {outcome}, and the stage {key[1]} is done again",
        ) from error
