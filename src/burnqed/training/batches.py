"""Examples as tokens, and the order in which a model sees them.

The order is a pure function of the seed and the epoch, so a resumed training goes on with exactly
what would have come. What is learnt from in one step does not depend on how the step is cut into
batches: neither on accumulation nor on the number of GPUs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from burnqed.policy.prompt import FORMATS, Example, PromptSettings, Tokenizer, example, tactic_of
from burnqed.training.pairs import Pair

if TYPE_CHECKING:
    import torch

# Steps whose examples are sorted by length together: enough for little padding, and few enough that
# each step still sees a mixture.
_WINDOW = 16


@dataclass(frozen=True, slots=True)
class Encoded:
    """Examples of pairs, `places[i]` being the pair of `examples[i]`; the rest cannot be learnt."""

    examples: tuple[Example, ...]
    places: tuple[int, ...]
    dropped: int


def encode(
    tokenizer: Tokenizer,
    settings: PromptSettings,
    pairs: Sequence[Pair],
    on_one: Callable[[], None] = lambda: None,
) -> Encoded:
    """Tokenise once, up front; dropped and counted are pairs whose tactic no model could say.

    It is too long, or has in it what ends a tactic in this format.
    """
    format = FORMATS[settings.format]
    made = []
    for place, pair in enumerate(pairs):
        if tactic_of(format, pair.tactic) == pair.tactic:
            one = example(tokenizer, _shown(settings, pair), pair.state, pair.tactic)
            if one is not None:
                made.append((place, one))
        on_one()
    return Encoded(
        tuple(one for _, one in made), tuple(place for place, _ in made), len(pairs) - len(made)
    )


def _shown(settings: PromptSettings, pair: Pair) -> PromptSettings:
    """A model that is shown a tag is shown each pair's own."""
    told = settings.dialect and pair.dialect
    return replace(settings, dialect=pair.dialect) if told else settings


def tactic_tokens(examples: Sequence[Example]) -> int:
    """How many tokens the loss is on."""
    return sum(len(one.ids) - one.prompt_length for one in examples)


# -------------------------------------------------------------------------------------- order


class Order:
    """Which examples each optimiser step learns from; `size` of them, fewer at an epoch's end."""

    def __init__(self, lengths: Sequence[int], repeats: Sequence[int], size: int, seed: int) -> None:
        self.size = size
        self._lengths = lengths
        self._all = [place for place, count in enumerate(repeats) for _ in range(count)]
        self._seed = seed
        self.per_epoch = -(-len(self._all) // size)
        self._epoch = cache(self._make)

    def step(self, number: int) -> tuple[int, ...]:
        """The examples of a step, the longest first; steps are counted from 0 over all epochs."""
        epoch, place = divmod(number, self.per_epoch)
        if place == 0:
            self._epoch.cache_clear()  # one epoch is enough to have
        return self._epoch(epoch)[place]

    def _make(self, epoch: int) -> list[tuple[int, ...]]:
        chance = random.Random(f"order {self._seed} {epoch}")
        order = list(self._all)
        chance.shuffle(order)
        steps = []
        for begin in range(0, len(order), self.size * _WINDOW):
            window = order[begin : begin + self.size * _WINDOW]
            window.sort(key=lambda place: -self._lengths[place])
            steps += [tuple(window[i : i + self.size]) for i in range(0, len(window), self.size)]
        chance.shuffle(steps)
        return steps


def micro_batches(
    step: Sequence[int], batch: int, rank: int = 0, world: int = 1
) -> Iterator[tuple[tuple[int, ...], bool]]:
    """A step cut into batches, those of one process: each with whether it counts.

    A process for which nothing is left gets one that does not count: all of them have to be there
    when gradients are added up.
    """
    cut = [tuple(step[i : i + batch]) for i in range(0, len(step), batch)]
    mine = cut[rank::world]
    if mine:
        yield from ((one, True) for one in mine)
    else:
        yield cut[-1], False


# ----------------------------------------------------------------------------------- tensors


@dataclass(frozen=True, slots=True)
class Batch:
    """Tokens padded on the right, and where among the model's predictions the tactics' are.

    `keep` are the positions of which any row's prediction is wanted, as a range; `index` picks the
    wanted ones of those (rows one after the other), and `targets` is what they should be.
    """

    ids: torch.Tensor
    keep: tuple[int, int]
    index: torch.Tensor
    targets: torch.Tensor


def collate(examples: Sequence[Example], padding: int = 0) -> Batch:
    """One batch. There is no attention mask: padding is to the right of all that counts."""
    import torch

    width = max(len(one.ids) for one in examples)
    ids = torch.full((len(examples), width), padding, dtype=torch.long)
    # What is predicted at a position is the next token.
    low = min(one.prompt_length for one in examples) - 1
    high = width - 1
    index: list[int] = []
    targets: list[int] = []
    for row, one in enumerate(examples):
        ids[row, : len(one.ids)] = torch.tensor(one.ids, dtype=torch.long)
        places = range(one.prompt_length - 1, len(one.ids) - 1)
        index += [row * (high - low) + place - low for place in places]
        targets += one.ids[one.prompt_length :]
    return Batch(ids, (low, high), torch.tensor(index), torch.tensor(targets))


def on_device(batch: Batch, device: torch.device) -> Batch:
    """The batch on the device. Pinned on the way to a GPU, so that nothing waits for the copy."""

    def move(tensor: torch.Tensor) -> torch.Tensor:
        if device.type == "cuda":
            return tensor.pin_memory().to(device, non_blocking=True)
        return tensor.to(device)

    return Batch(move(batch.ids), batch.keep, move(batch.index), move(batch.targets))
