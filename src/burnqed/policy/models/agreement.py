"""Whether two ways of running a model say the same, as far as their precision can tell."""

from __future__ import annotations

import torch
from torch import Tensor

_EXACT = 1e-3  # of log-probabilities, in float32
_ROUNDED = 0.1  # of the probability, in half precision


def disagreement(ours: Tensor, theirs: Tensor) -> str:
    """What two tensors of logits [..., vocabulary] differ by; empty if only by rounding.

    In half precision the log-probability of a token that nobody would sample may be off by more than a
    half. So what counts there is how much probability lies elsewhere.
    """
    a, b = (torch.log_softmax(logits.float(), -1) for logits in (ours, theirs))
    if ours.dtype == torch.float32:
        apart = float((a - b).abs().max())
        return "" if apart < _EXACT else f"log-probabilities differ by {apart:.2g}"
    moved = float((a.exp() - b.exp()).abs().sum(-1).max()) / 2
    return "" if moved < _ROUNDED else f"{moved:.1%} of the probability lies elsewhere"
