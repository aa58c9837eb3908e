"""What all trainings have in common: epochs over examples, and losses that are fetched now and then."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from burnqed.core.errors import InfrastructureError

T = TypeVar("T")


def learn(
    examples: Sequence[T], loss_of: Callable[[list[T]], torch.Tensor], optimizer: torch.optim.Optimizer,
    draw: random.Random, *, size: int, epochs: int, after_step: Callable[[], None] = lambda: None,
    ended: Callable[[int], bool],
) -> None:  # fmt: skip
    """Epoch after epoch over the examples, in batches of an order that is drawn anew for each.

    `ended` is asked after each epoch, by its number from 1 on.
    """
    order = list(range(len(examples)))
    for epoch in range(1, epochs + 1):
        draw.shuffle(order)
        for start in range(0, len(order), size):
            loss = loss_of([examples[place] for place in order[start : start + size]])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            after_step()
        if ended(epoch):
            return


class Pending:
    """What was computed of steps and is still on the device: to fetch it is to wait for it.

    `names` are those of the figures, of which the first two are the loss and the gradient's norm.
    """

    def __init__(self, *names: str, hint: str) -> None:
        self._names, self._hint = names, hint
        self._steps: list[tuple[dict[str, Any], torch.Tensor]] = []

    def add(self, entry: dict[str, Any], *figures: torch.Tensor) -> None:
        device = figures[0].device
        self._steps.append((entry, torch.stack([figure.to(device) for figure in figures])))

    def fetch(self) -> list[dict[str, Any]]:
        """The entries that came since the last time, with their figures. Raises where one diverged."""
        if not self._steps:
            return []
        values = torch.stack([figures for _, figures in self._steps]).tolist()
        entries = []
        for (entry, _), found in zip(self._steps, values, strict=True):
            loss, norm = found[:2]
            if not (math.isfinite(loss) and math.isfinite(norm)):
                what = f"the gradient is {norm}" if math.isfinite(loss) else f"the loss is {loss}"
                raise InfrastructureError(
                    f"step {entry['step']}: {what}; nothing can be learnt from there on",
                    hint=f"train again with {self._hint}; the last checkpoint is kept",
                )
            entries.append({**entry, **dict(zip(self._names, found, strict=True))})
        self._steps.clear()
        return entries
