"""Losses against sums written out."""

from __future__ import annotations

import math

import pytest
import torch

from burnqed.value.losses import info_nce, margin, remaining_steps

POSITIVE = torch.tensor([1.0, -2.0])
NEGATIVES = torch.tensor([[2.0, 0.5, 9.0], [-1.0, 7.0, 7.0]])
THERE = torch.tensor([[True, True, False], [True, False, False]])


def test_the_positive_is_picked_among_those_that_are_there() -> None:
    one = math.exp(-1) / (math.exp(-1) + math.exp(-2) + math.exp(-0.5))
    two = math.exp(2) / (math.exp(2) + math.exp(1))
    expected = -(math.log(one) + math.log(two)) / 2
    assert float(info_nce(POSITIVE, NEGATIVES, THERE)) == pytest.approx(expected)


def test_what_is_not_there_pulls_nowhere() -> None:
    negatives = NEGATIVES.clone().requires_grad_()
    info_nce(POSITIVE, negatives, THERE).backward()
    margin(POSITIVE, negatives, THERE).backward()
    assert negatives.grad is not None
    assert (negatives.grad[~THERE] == 0).all()
    assert (negatives.grad[THERE] != 0).any()


def test_only_differences_count() -> None:
    moved = info_nce(POSITIVE + 5, NEGATIVES + 5, THERE)
    assert float(moved) == pytest.approx(float(info_nce(POSITIVE, NEGATIVES, THERE)), abs=1e-6)


def test_a_margin_asks_for_no_more_than_its_width() -> None:
    assert float(margin(POSITIVE, NEGATIVES, THERE)) == pytest.approx((0.0 + 1.5 + 0.0) / 3)
    assert float(margin(POSITIVE, NEGATIVES + 100, THERE)) == 0


def test_the_last_step_has_no_energy_left() -> None:
    steps = torch.tensor([1, 2, 8])
    assert float(remaining_steps(torch.log(steps.float()), steps)) == 0
    assert float(remaining_steps(torch.zeros(3), steps)) > 0
