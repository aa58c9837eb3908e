"""The learning rate of a step, a function of the step alone."""

from __future__ import annotations

import math


def lr_at(step: int, steps: int, lr: float, warmup: float) -> float:
    """Up in a straight line, down in half a cosine; steps are counted from 0."""
    warm = max(1, round(warmup * steps)) if warmup > 0 else 0
    if step < warm:
        return lr * (step + 1) / warm
    return lr * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))
