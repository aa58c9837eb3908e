"""Energies for searches: together, once, on the right scale, and never of the wrong encoder."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.types import Goal
from burnqed.value.calibration import Calibration, Exam, Scored, ScoredSiblings, calibrate
from burnqed.value.encoder import Embeddings, EncoderName
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.saved import SavedHead
from burnqed.value.scorer import CLOSED, Scorer

NAME = EncoderName("m" * 64, "colons 64", "mean", "float32", 8)
ROOT = [Goal("g", "root")]


class Counting:
    """An encoder that remembers what it was asked, and takes a while."""

    name = NAME

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.trouble: Exception | None = None

    def encode(self, states: Sequence[str]) -> Embeddings:
        self.batches.append(list(states))
        if self.trouble is not None:
            raise self.trouble
        rows = [np.random.default_rng(len(s)).normal(size=NAME.width) for s in states]
        return np.array(rows, dtype=np.float32)


@pytest.fixture
def encoder() -> Counting:
    return Counting()


def saved(conditioned: bool = True) -> SavedHead:
    torch.manual_seed(0)
    head = EnergyHead(HeadConfig(NAME.width, conditioned)).eval()
    return SavedHead(head, NAME, Path("head"), "model")


def calibration() -> Calibration:
    group = ScoredSiblings("t", 1, Scored(0.0, -1.0), (Scored(1.0, -2.0), Scored(2.0, -5.0)))
    return calibrate([group], [Exam([group], [group])])


def goals(*targets: str) -> list[list[Goal]]:
    return [[Goal("g", target)] for target in targets]


async def test_energies_are_those_of_the_head_on_the_calibrated_scale(encoder: Counting) -> None:
    own, scale = saved(), calibration()
    scorer = Scorer(own, encoder, scale)
    found = await scorer.energies(ROOT, goals("a", "bbbb"))
    z = torch.from_numpy(encoder.encode(["⊢ a", "⊢ bbbb", "⊢ root"]))
    plain = own.head(z[:2], z[2:].expand(2, -1)).tolist()
    assert found == [scale.scaled(energy) for energy in plain]
    assert len(set(found)) == 2


async def test_the_goal_of_the_search_counts(encoder: Counting) -> None:
    scorer = Scorer(saved(), encoder, calibration())
    first = await scorer.energies(ROOT, goals("a"))
    assert await scorer.energies([Goal("g", "another root")], goals("a")) != first
    blind = Scorer(saved(conditioned=False), encoder, calibration())
    assert await blind.energies(ROOT, goals("a")) == await blind.energies(
        [Goal("g", "another root")], goals("a")
    )


async def test_nothing_left_to_prove_is_better_than_anything(encoder: Counting) -> None:
    """It was an energy of 0 once, like that of an average state."""
    scorer = Scorer(saved(), encoder, calibration())
    first, closed, last = await scorer.energies(ROOT, [*goals("a"), [], *goals("b")])
    assert closed == CLOSED < min(first, last)
    assert await scorer.energies(ROOT, [[]]) == [CLOSED]
    assert encoder.batches == [["⊢ a", "⊢ b", "⊢ root"]]


async def test_a_state_is_encoded_once(encoder: Counting) -> None:
    scorer = Scorer(saved(), encoder, calibration())
    first = await scorer.energies(ROOT, goals("a", "b", "a"))
    assert await scorer.energies(ROOT, goals("a", "b", "a")) == first
    assert encoder.batches == [["⊢ a", "⊢ b", "⊢ root"]]
    assert (scorer.encoded, scorer.known) == (3, 4)


async def test_searches_that_wait_are_encoded_together(encoder: Counting) -> None:
    scorer = Scorer(saved(), encoder, calibration())
    asked = [goals(f"s{i}", "common") for i in range(20)]
    found = await asyncio.gather(*(scorer.energies(ROOT, states) for states in asked))
    assert len(encoder.batches) <= 3
    assert sum(map(len, encoder.batches)) == 22
    alone = Scorer(saved(), Counting(), calibration())
    assert found == [await alone.energies(ROOT, states) for states in asked]


async def test_trouble_is_told_to_all_who_wait_and_is_not_remembered(encoder: Counting) -> None:
    scorer = Scorer(saved(), encoder, calibration())
    encoder.trouble = RuntimeError("out of memory")
    found = await asyncio.gather(
        *(scorer.energies(ROOT, goals(f"s{i}")) for i in range(3)), return_exceptions=True
    )
    assert all(isinstance(error, InfrastructureError) for error in found)
    assert "out of memory" in str(found[0])
    encoder.trouble = None
    assert all(map(math.isfinite, await scorer.energies(ROOT, goals("s1"))))


async def test_energies_that_are_no_numbers_stop_the_search(encoder: Counting) -> None:
    broken = saved()
    with torch.no_grad():
        broken.head.log_temperature.fill_(float("nan"))
    with pytest.raises(InfrastructureError, match="not numbers"):
        await Scorer(broken, encoder, calibration()).energies(ROOT, goals("a"))


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("model", "n" * 64),  # the policy was trained on, and its embeddings moved
        ("dtype", "bfloat16"),
        ("pooling", "last"),
        ("prompt", "deepseek 64"),
        ("width", 16),
    ],
)
def test_another_encoder_is_refused(encoder: Counting, field: str, other: object) -> None:
    encoder.name = replace(NAME, **{field: other})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=field):
        Scorer(saved(), encoder, calibration())
