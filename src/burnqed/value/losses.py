"""What the energies of a positive and of its negatives should be.

A positive is a state on a judged proof's path, its negatives are states that the same search explored
and gave up. Not all positives have as many: `there` says which negatives are.
"""

from __future__ import annotations

import torch
from torch import Tensor


def info_nce(positive: Tensor, negatives: Tensor, there: Tensor) -> Tensor:
    """The positive [batch] picked out among its negatives [batch, k] by its low energy.

    There is no temperature here: the head has one, and two would be one too many to learn.
    """
    logits = torch.cat([-positive[:, None], (-negatives).masked_fill(~there, float("-inf"))], dim=1)
    return -torch.log_softmax(logits, dim=1)[:, 0].mean()


def margin(positive: Tensor, negatives: Tensor, there: Tensor, width: float = 1.0) -> Tensor:
    """How far negatives are from lying `width` above their positive, on average over those there."""
    short = torch.relu(width + positive[:, None] - negatives)
    return short[there].mean()


def remaining_steps(energy: Tensor, steps: Tensor) -> Tensor:
    """Energies of states on a path as the logarithm of what is left of it: near the end is low."""
    return torch.nn.functional.smooth_l1_loss(energy, torch.log(steps.float()))
