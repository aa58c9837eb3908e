"""Learning in which order to try things, from decisions in numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from burnqed.policy.ranked.retrieval import Bags, Rows
from burnqed.policy.ranked.weights import SHAPE_ROWS, STATE_WIDTH, WORD_ROWS, Weights
from burnqed.training.loop import Epochs
from burnqed.training.plans import Effort
from burnqed.training.retrieval import bags

_BATCH = 128
_START = 0.1  # the size of the first random numbers


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision: the words of the state, and of each tactic its shape, weight and strength."""

    words: Rows
    shapes: np.typing.NDArray[np.int64]
    weights: np.typing.NDArray[np.float32]
    strengths: np.typing.NDArray[np.float32]
    worked: np.typing.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Tables:
    """The part of the weights that is learnt here."""

    reading: torch.Tensor
    shapes: torch.Tensor
    bias: torch.Tensor
    trust: torch.Tensor
    rules: torch.Tensor

    @classmethod
    def of(cls, weights: Weights) -> _Tables:
        return cls(*(torch.from_numpy(getattr(weights, name)) for name in _NAMES))

    def into(self, weights: Weights) -> Weights:
        learnt = {name: getattr(self, name).detach().numpy().copy() for name in _NAMES}
        return replace(weights, **learnt)


_NAMES = ("reading", "shapes", "bias", "trust", "rules")


def learn_order(
    begin: Weights, choices: Sequence[Choice], checks: Sequence[Choice], effort: Effort,
    told: Callable[[], bool],
) -> tuple[Weights, int]:  # fmt: skip
    """The weights with the least loss on `checks` (without any, the last), and their epoch.

    `told` is called at each epoch; True ends it.
    """
    torch.manual_seed(effort.seed)
    draw = random.Random(effort.seed)
    tables = _Tables(
        reading=torch.nn.Parameter(_START * torch.randn(WORD_ROWS, STATE_WIDTH)),
        shapes=torch.nn.Parameter(torch.zeros(SHAPE_ROWS, STATE_WIDTH)),
        bias=torch.nn.Parameter(torch.zeros(SHAPE_ROWS)),
        trust=torch.nn.Parameter(torch.zeros(SHAPE_ROWS)),
        rules=torch.nn.Parameter(torch.ones(1)),
    )
    learnt = [tables.reading, tables.shapes, tables.bias, tables.trust]
    optimizer = torch.optim.AdamW(
        [{"params": learnt, "weight_decay": effort.weight_decay},
         {"params": [tables.rules], "weight_decay": 0.0}],
        lr=effort.lr,
    )  # fmt: skip
    best, at = tables.into(begin), 0
    least = measured(best, checks)["loss"] if checks else np.inf

    def ended(epoch: int) -> bool:
        nonlocal best, least, at
        weights = tables.into(begin)
        found = measured(weights, checks)["loss"] if checks else -float(epoch)
        if found < least:
            best, least, at = weights, found, epoch
        return told()

    Epochs(
        choices, lambda batch: _losses(_scores(batch, tables), batch).mean(), optimizer, draw,
        _BATCH, effort.epochs, ended,
    ).learn()  # fmt: skip
    return best, at


def measured(weights: Weights, choices: Sequence[Choice]) -> dict[str, float]:
    """Mean loss, and how often what worked is first, or among the first four, of all that was tried."""
    if not choices:
        return {}
    with torch.no_grad():
        scores = _scores(choices, _Tables.of(weights))
        losses = _losses(scores, choices)
    ranks = []
    for row, one in zip(scores.numpy(), choices, strict=True):
        own = row[: len(one.worked)]
        ranks.append(int((own > own[one.worked].max()).sum()))
    return {
        "loss": float(losses.mean()),
        "top1": float(np.mean([rank == 0 for rank in ranks])),
        "top4": float(np.mean([rank < 4 for rank in ranks])),
    }


def _scores(choices: Sequence[Choice], tables: _Tables) -> torch.Tensor:
    """A row for each choice; behind its tactics there is nothing, with a score of minus infinity."""
    wide = max(len(one.worked) for one in choices)

    def padded(name: str) -> torch.Tensor:
        columns = [getattr(one, name) for one in choices]
        return torch.from_numpy(np.stack([np.pad(c, (0, wide - len(c))) for c in columns]))

    rows = padded("shapes")
    nothing = torch.tensor([[i >= len(one.worked) for i in range(wide)] for one in choices])
    read = bags(Bags.of(one.words for one in choices), tables.reading)
    scores = (
        tables.rules * padded("weights")
        + tables.bias[rows]
        + torch.einsum("nwd,nd->nw", tables.shapes[rows], read)
        + tables.trust[rows] * padded("strengths")
    )
    return scores.masked_fill(nothing, -torch.inf)


def _losses(scores: torch.Tensor, choices: Sequence[Choice]) -> torch.Tensor:
    """Minus the logarithm of the share that what worked has of all that was tried."""
    worked = torch.zeros_like(scores, dtype=torch.bool)
    for row, one in enumerate(choices):
        worked[row, : len(one.worked)] = torch.from_numpy(one.worked)
    return torch.logsumexp(scores, 1) - torch.logsumexp(scores.masked_fill(~worked, -torch.inf), 1)
