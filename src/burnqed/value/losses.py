"""Losses on the energies of a positive and its negatives.

A positive is a state on a judged proof's path. Its negatives are states that were searched in vain.
Positives have different numbers of negatives: `there` masks those that exist.
"""

from __future__ import annotations

import torch
from torch import Tensor


def info_nce(positive: Tensor, negatives: Tensor, there: Tensor) -> Tensor:
    """Contrastive loss: a positive [batch] must have a lower energy than its negatives [batch, k].

    It has no temperature, because the head has one already.
    """
    logits = torch.cat([-positive[:, None], (-negatives).masked_fill(~there, float("-inf"))], dim=1)
    return -torch.log_softmax(logits, dim=1)[:, 0].mean()


def margin(positive: Tensor, negatives: Tensor, there: Tensor, width: float = 1.0) -> Tensor:
    """How far negatives are from being `width` above their positive, on average."""
    short = torch.relu(width + positive[:, None] - negatives)
    return short[there].mean()


def remaining_steps(energy: Tensor, steps: Tensor) -> Tensor:
    """Loss towards energies that are the logarithm of the remaining steps: low near the end."""
    return torch.nn.functional.smooth_l1_loss(energy, torch.log(steps.float()))
