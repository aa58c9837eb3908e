"""Learning which lemmas a state needs, from the lemmas that judged proofs use.

Words of states and words of lemmas get vectors whose products are added to what words in common say.
A lemma that a proof uses is held against those that words alone put first, against those of the other
states of a batch, and against some drawn at random.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional

from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.retrieval import Bags, Retriever, Rows, Shared, rows_of
from burnqed.policy.ranked.weights import LEMMA_WIDTH, WORD_ROWS, Weights, untrained
from burnqed.policy.ranked.words import words_of
from burnqed.training.loop import Epochs
from burnqed.training.plans import Effort

_RANDOM = 64
_HARD_NEGATIVES = 64  # that words alone put first
_BATCH = 64
_START = 0.1  # the size of the first random numbers
CUTS = (1, 4, 16)


@dataclass(frozen=True, slots=True)
class Use:
    """A state, the lemmas that a step there needed, and the theorem: it is not a lemma for itself."""

    state: str
    needed: tuple[int, ...]
    own: int | None


@dataclass(frozen=True, slots=True)
class _Example:
    rows: Rows
    needed: tuple[int, ...]
    hard_negatives: tuple[int, ...]
    own: int | None
    gains: np.typing.NDArray[np.float32]  # of all lemmas, by words in common


def learn_retrieval(
    library: Library,
    shared: Shared,
    uses: Sequence[Use],
    effort: Effort,
    told: Callable[[], bool],
) -> Weights:
    """Weights with the tables of retrieval filled in. `told` is called at each epoch; True ends it.

    Of nothing nothing is learnt: the random numbers that learning begins with are no better than none.
    """
    if not uses:
        return untrained()
    plain = Retriever(library, untrained(), shared)
    examples = [_example(plain, use) for use in uses]
    torch.manual_seed(effort.seed)
    draw = random.Random(effort.seed)
    asking = torch.nn.Parameter(_START * torch.randn(WORD_ROWS, LEMMA_WIDTH))
    offering = torch.nn.Parameter(_START * torch.randn(WORD_ROWS, LEMMA_WIDTH))
    scale = torch.nn.Parameter(torch.tensor(untrained().scale))
    optimizer = torch.optim.AdamW(
        [{"params": [asking, offering], "weight_decay": effort.weight_decay},
         {"params": [scale], "weight_decay": 0.0}],
        lr=effort.lr,
    )  # fmt: skip
    steps = max(1, effort.epochs * -(-len(examples) // _BATCH))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, steps)
    Epochs(
        examples, lambda batch: _loss(shared, batch, asking, offering, scale, draw), optimizer, draw,
        _BATCH, effort.epochs, lambda _: told(), schedule.step,
    ).learn()  # fmt: skip
    return replace(
        untrained(),
        asking=asking.detach().numpy().copy(),
        offering=offering.detach().numpy().copy(),
        scale=scale.detach().numpy().copy(),
    )


def recall(retriever: Retriever, uses: Sequence[Use]) -> dict[str, float]:
    """How often one of the lemmas that were needed is among the first so many."""
    if not uses:
        return {}
    found = dict.fromkeys(CUTS, 0)
    for use in uses:
        without = () if use.own is None else (use.own,)
        first = [one.place for one in retriever.find(use.state, without)]
        for cut in CUTS:
            found[cut] += bool(set(first[:cut]) & set(use.needed))
    return {f"recall_{cut}": found[cut] / len(uses) for cut in CUTS}


def _example(plain: Retriever, use: Use) -> _Example:
    words = Counter(words_of(use.state))
    without = () if use.own is None else (use.own,)
    hard_negatives = tuple(one.place for one in plain.find(use.state, without, _HARD_NEGATIVES))
    rows, gains = rows_of(words, plain.shared.rarity), plain.shared.gains(words)
    return _Example(rows, use.needed, hard_negatives, use.own, gains)


def _loss(
    shared: Shared, batch: Sequence[_Example], asking: torch.Tensor,
    offering: torch.Tensor, scale: torch.Tensor, draw: random.Random,
) -> torch.Tensor:  # fmt: skip
    """Of each state, minus the logarithm of the share that what it needed has of all of the batch's."""
    places = sorted(
        {place for one in batch for place in (*one.needed, *one.hard_negatives)}
        | {draw.randrange(shared.size) for _ in range(_RANDOM)}
    )
    column = {place: i for i, place in enumerate(places)}
    asked = bags(Bags.of(one.rows for one in batch), asking)
    offered = bags(shared.lemmas.only(places), offering)
    gains = torch.from_numpy(np.stack([one.gains[places] for one in batch]))
    scores = scale * gains + asked @ offered.T
    needed = torch.zeros_like(scores, dtype=torch.bool)
    own = torch.zeros_like(needed)
    for row, one in enumerate(batch):
        needed[row, [column[place] for place in one.needed]] = True
        if one.own in column:
            own[row, column[one.own]] = True
    scores = scores.masked_fill(own, -torch.inf)  # it is there for others
    inside = torch.logsumexp(scores.masked_fill(~needed, -torch.inf), dim=1)
    return (torch.logsumexp(scores, dim=1) - inside).mean()


def bags(given: Bags, table: torch.Tensor) -> torch.Tensor:
    """A weighted sum of rows of the table for each of the bags."""
    return functional.embedding_bag(
        torch.from_numpy(given.rows),
        table,
        torch.from_numpy(given.starts[:-1]),
        mode="sum",
        per_sample_weights=torch.from_numpy(given.weights),
    )
