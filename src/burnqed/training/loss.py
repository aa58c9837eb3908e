"""The loss on tactic tokens, and nothing else of a model's predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from burnqed.policy.prompt import Example
from burnqed.training.batches import Batch, collate, on_device, tactic_tokens


class TacticLoss(torch.nn.Module):
    """A model as its loss: the sum over a batch's tactic tokens, and how many it would have said.

    A module of its own, so that what spreads a model over GPUs sees one forward pass. `precision` is
    what the model computes in; its weights, and the loss, may be kept more exactly.
    """

    def __init__(self, model: Any, precision: torch.dtype) -> None:
        super().__init__()
        self.model = model
        self.precision = precision
        forward = inspect.signature(_innermost(model).forward).parameters
        self._selects = "logits_to_keep" in forward

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        low, high = batch.keep
        with self._autocast(batch.ids.device.type):
            if self._selects:  # the head is large: only where its predictions are wanted
                keep = torch.arange(low, high, device=batch.ids.device)
                logits = self.model(batch.ids, use_cache=False, logits_to_keep=keep).logits
            else:
                logits = self.model(batch.ids, use_cache=False).logits[:, low:high]
        wanted = logits.flatten(0, 1)[batch.index].float()
        loss = torch.nn.functional.cross_entropy(wanted, batch.targets, reduction="sum")
        return loss, (wanted.detach().argmax(-1) == batch.targets).sum()

    def _autocast(self, device: str) -> Any:
        if self.precision == torch.float32:
            return nullcontext()
        return torch.autocast(device, dtype=self.precision)


def _innermost(model: Any) -> Any:
    """The model under an adapter."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


@dataclass(frozen=True, slots=True)
class Score:
    """Sums over tactic tokens."""

    loss: float = 0.0
    correct: float = 0.0
    tokens: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(self.loss + other.loss, self.correct + other.correct, self.tokens + other.tokens)

    @property
    def mean(self) -> float | None:
        return self.loss / self.tokens if self.tokens else None

    @property
    def accuracy(self) -> float | None:
        return self.correct / self.tokens if self.tokens else None


def evaluate(
    module: TacticLoss,
    examples: Sequence[Example],
    batch: int,
    accelerator: Any,
    stop: Callable[[], bool] = lambda: False,
) -> Score | None:
    """The score on all of these, shared out over the processes; None when `stop` says so before."""
    order = sorted(range(len(examples)), key=lambda i: -len(examples[i].ids))
    batches = [order[i : i + batch] for i in range(0, len(order), batch)]
    sums = torch.zeros(2, dtype=torch.float64, device=accelerator.device)
    module.eval()
    with torch.no_grad():
        for places in batches[accelerator.process_index :: accelerator.num_processes]:
            if stop():
                return None
            made = on_device(collate([examples[i] for i in places]), accelerator.device)
            loss, correct = module(made)
            sums += torch.stack([loss.double(), correct.double()])
    module.train()
    if accelerator.num_processes > 1:
        sums = accelerator.reduce(sums, reduction="sum")
    loss_sum, correct_sum = sums.tolist()
    return Score(loss_sum, correct_sum, tactic_tokens(examples))
