"""One batch of a joint training, before anything long begins: does it fit, and do both losses teach?

It is the largest batch that will come. Both losses go back through the shared weights one after the
other, so that their gradients can be compared. Nothing of it stays behind.
"""

from __future__ import annotations

import copy
import math
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from burnqed.core.errors import InfrastructureError
from burnqed.training.batches import tactic_tokens
from burnqed.training.joint_loop import Loop
from burnqed.training.one_pass import OnePass, Part


@dataclass(frozen=True, slots=True)
class Trial:
    """What the batch took. Norms are of gradients; `memory` is the peak in bytes."""

    steps: int
    largest_at: int  # the step that the batch is of
    pairs: int
    states: int
    tokens: int
    memory: int
    tactic_loss: float
    contrast_loss: float
    tactic_norm: float  # on the shared weights
    contrast_norm: float  # on the shared weights, before its weight
    head_norm: float
    seconds: float  # of this batch
    hours: float  # of all steps, if every batch were as large
    step: int = 0


def try_largest(loop: Loop) -> Trial:
    """Raises where a loss is not a number, or does not reach the shared weights."""
    number, part = max(_parts(loop), key=lambda found: _tokens(loop.both, found[1]))
    device = loop.both.device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    begun = time.monotonic()
    # A copy of the head, because a pass changes what it knows of its spectral norms.
    both = loop.both.with_head(copy.deepcopy(loop.both.head).train())
    try:
        tactics, contrast = both.losses(part)
        tactics, contrast = tactics / tactic_tokens(part.pairs), contrast / len(part.groups)
        tactic_norm, _ = _gradients(tactics, loop, both, keep=True)
        contrast_norm, head_norm = _gradients(contrast, loop, both)
    except torch.OutOfMemoryError as error:
        raise InfrastructureError(
            f"out of memory with the largest batch ({_tokens(both, part)} tokens): {error}",
            hint="smaller --batch and --positives with a larger --accumulate, or --checkpointing",
        ) from error
    seconds = time.monotonic() - begun
    trial = Trial(
        steps=loop.steps, largest_at=number + 1, pairs=len(part.pairs),
        states=len(part.states(goals=both.head.config.conditioned)), tokens=_tokens(both, part),
        memory=_memory(device), tactic_loss=tactics.item(), contrast_loss=contrast.item(),
        tactic_norm=tactic_norm, contrast_norm=contrast_norm, head_norm=head_norm, seconds=seconds,
        hours=seconds * loop.plan.accumulate * loop.steps / 3600,
    )  # fmt: skip
    for what, norm in (("tactics", tactic_norm), ("siblings", contrast_norm)):
        if not (math.isfinite(norm) and norm > 0):
            raise InfrastructureError(
                f"the loss of {what} has a gradient of norm {norm:g} on the shared weights",
                hint="it would teach them nothing: another --base, or --dtype fp32",
            )
    return trial


def _parts(loop: Loop) -> Iterator[tuple[int, Part]]:
    """Every batch with both kinds of examples, and its step counted from 0."""
    for number in range(loop.steps):
        for part in loop.parts(number):
            if part.pairs and part.groups:
                yield number, part


def _tokens(both: OnePass, part: Part) -> int:
    states = part.states(goals=both.head.config.conditioned)
    return sum(len(one.ids) for one in (*part.pairs, *(both.states[row] for row in states)))


def _gradients(loss: Tensor, loop: Loop, both: OnePass, *, keep: bool = False) -> tuple[float, float]:
    """The norms of a loss's gradients on the shared weights and on the head."""
    own = list(both.head.parameters())
    found = torch.autograd.grad(loss, [*loop.shared, *own], retain_graph=keep, allow_unused=True)
    shared, head = found[: len(loop.shared)], found[len(loop.shared) :]
    return _norm(shared), _norm(head)


def _norm(gradients: tuple[Tensor | None, ...]) -> float:
    there = [gradient for gradient in gradients if gradient is not None]
    return float(torch.nn.utils.get_total_norm(there)) if there else 0.0


def _memory(device: torch.device) -> int:
    """The peak on the GPU, or of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
