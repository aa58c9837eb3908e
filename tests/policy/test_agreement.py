"""Rounding is not a difference; attention that sees something else is one."""

from __future__ import annotations

import pytest
import torch

from burnqed.policy.models.agreement import disagreement


@pytest.fixture
def logits() -> torch.Tensor:
    return torch.randn(3, 5000, generator=torch.Generator().manual_seed(0)) * 3


def test_float32_is_compared_token_by_token(logits: torch.Tensor) -> None:
    assert disagreement(logits, logits + 1.0) == ""  # the same distribution
    off = logits.clone()
    off[1, logits[1].argmin()] += 0.01
    assert disagreement(logits, off) == "log-probabilities differ by 0.01"


def test_half_precision_may_be_off_where_nobody_samples(logits: torch.Tensor) -> None:
    off = logits.clone()
    off[1, logits[1].argsort()[:20]] += 0.8
    assert disagreement(logits.bfloat16(), off.bfloat16()) == ""


def test_rounding_to_half_precision_is_no_difference(logits: torch.Tensor) -> None:
    assert disagreement(logits.bfloat16(), (logits + 0.01).bfloat16()) == ""


def test_another_distribution_is_one_in_half_precision(logits: torch.Tensor) -> None:
    off = logits.clone()
    off[2] = logits[1]
    assert "of the probability lies elsewhere" in disagreement(logits.bfloat16(), off.bfloat16())


def test_no_number_is_no_agreement(logits: torch.Tensor) -> None:
    broken = logits.clone()
    broken[0, 0] = float("nan")
    assert disagreement(logits, broken)
    assert disagreement(logits.bfloat16(), broken.bfloat16())
