"""The loss on tactic tokens, and nothing else of a model's predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from burnqed.policy.prompt import Example
from burnqed.training.batches import Batch, collate, on_device, rows, tactic_tokens
from burnqed.training.packing import pack, segments


class TacticLoss(torch.nn.Module):
    """A model as its loss: the sum over a batch's tactic tokens, and how many it would have said.

    A module of its own, so that what spreads a model over GPUs sees one forward pass. `precision` is
    what the model computes in; its weights, and the loss, may be kept more exactly. No example has
    more than `longest` tokens.
    """

    def __init__(self, model: Any, precision: torch.dtype, longest: int) -> None:
        super().__init__()
        self.model = model
        self.precision = precision
        self.longest = longest
        with self._autocast(model.device.type):
            pack(model, longest)

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        return tactic_loss(self.read(batch), batch)

    def read(self, batch: Batch, **how: Any) -> Any:
        """What the model makes of a batch, with the predictions that are wanted and no others."""
        with self._autocast(batch.ids.device.type):
            return self.model(
                batch.ids,
                position_ids=batch.positions,
                use_cache=False,
                logits_to_keep=batch.index,  # the head is large: only where its predictions are wanted
                **segments(batch.starts, batch.longest),
                **how,
            )

    def _autocast(self, device: str) -> Any:
        if self.precision == torch.float32:
            return nullcontext()
        return torch.autocast(device, dtype=self.precision)


def tactic_loss(out: Any, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum over the tactic tokens of a batch, and how many of these the model would have said."""
    wanted = out.logits[0].float()
    loss = torch.nn.functional.cross_entropy(wanted, batch.targets, reduction="sum")
    return loss, (wanted.detach().argmax(-1) == batch.targets).sum()


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
    room: int,
    accelerator: Any,
    stop: Callable[[], bool] = lambda: False,
) -> Score | None:
    """The score on all of these, shared out over the processes; None when `stop` says so before.

    They are read in rows of at most `room` tokens.
    """
    batches = rows(range(len(examples)), [len(one.ids) for one in examples], room)
    sums = torch.zeros(2, dtype=torch.float64, device=accelerator.device)
    module.eval()
    with torch.no_grad():
        for places in batches[accelerator.process_index :: accelerator.num_processes]:
            if stop():
                return None
            row = collate([examples[i] for i in places], module.longest)
            made = on_device(row, accelerator.device)
            loss, correct = module(made)
            sums += torch.stack([loss.double(), correct.double()])
    module.train()
    if accelerator.num_processes > 1:
        sums = accelerator.reduce(sums, reduction="sum")
    loss_sum, correct_sum = sums.tolist()
    return Score(loss_sum, correct_sum, tactic_tokens(examples))
