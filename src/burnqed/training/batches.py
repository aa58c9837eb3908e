"""Examples as tokens, and the order in which a model sees them.

The order is a pure function of the seed and the epoch, so a resumed training goes on with exactly
what would have come. What is learnt from in one step does not depend on how the step is cut into
rows of examples: neither on accumulation nor on the number of GPUs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from burnqed.policy.prompt import FORMATS, Example, FastTokenizer, PromptSettings, examples, tactic_of
from burnqed.training.pairs import Pair

if TYPE_CHECKING:
    import torch


_AT_ONCE = 1000  # pairs that are tokenised together


@dataclass(frozen=True, slots=True)
class Encoded:
    """Examples of pairs, `places[i]` being the pair of `examples[i]`; the rest cannot be learnt."""

    examples: tuple[Example, ...]
    places: tuple[int, ...]
    dropped: int


def encode(
    tokenizer: FastTokenizer,
    settings: PromptSettings,
    pairs: Sequence[Pair],
    on_one: Callable[[], None] = lambda: None,
) -> Encoded:
    """Tokenise once, up front; dropped and counted are pairs whose tactic no model could say.

    It is too long, or has in it what ends a tactic in this format.
    """
    format = FORMATS[settings.format]
    made = []
    for begin in range(0, len(pairs), _AT_ONCE):
        some = list(enumerate(pairs[begin : begin + _AT_ONCE], begin))
        said = [(at, pair) for at, pair in some if tactic_of(format, pair.tactic) == pair.tactic]
        # The tag is in the prompt's shape, so pairs of one tag are tokenised together.
        for dialect in dict.fromkeys(_dialect(settings, pair) for _, pair in said):
            alike = [(at, pair) for at, pair in said if _dialect(settings, pair) == dialect]
            texts = [(pair.state, pair.tactic) for _, pair in alike]
            found = examples(tokenizer, replace(settings, dialect=dialect), texts)
            made += [(at, one) for (at, _), one in zip(alike, found, strict=True) if one is not None]
        for _ in some:
            on_one()
    made.sort(key=lambda placed: placed[0])
    return Encoded(
        tuple(one for _, one in made), tuple(place for place, _ in made), len(pairs) - len(made)
    )


def _dialect(settings: PromptSettings, pair: Pair) -> str:
    """A model that is shown a tag is shown each pair's own."""
    return pair.dialect if settings.dialect and pair.dialect else settings.dialect


def tactic_tokens(examples: Sequence[Example]) -> int:
    """How many tokens the loss is on."""
    return sum(len(one.ids) - one.prompt_length for one in examples)


# -------------------------------------------------------------------------------------- order


class Order:
    """Which examples each optimiser step learns from; `size` of them, fewer at an epoch's end."""

    def __init__(self, repeats: Sequence[int], size: int, seed: int) -> None:
        self.size = size
        self._all = [place for place, count in enumerate(repeats) for _ in range(count)]
        self._seed = seed
        self.per_epoch = -(-len(self._all) // size)
        self._epoch = cache(self._make)

    def step(self, number: int) -> tuple[int, ...]:
        """The examples of a step; steps are counted from 0 over all epochs."""
        epoch, place = divmod(number, self.per_epoch)
        if place == 0:
            self._epoch.cache_clear()  # one epoch is enough to have
        return self._epoch(epoch)[place]

    def _make(self, epoch: int) -> list[tuple[int, ...]]:
        chance = random.Random(f"order {self._seed} {epoch}")
        order = list(self._all)
        chance.shuffle(order)
        return [tuple(order[i : i + self.size]) for i in range(0, len(order), self.size)]


def rows(step: Sequence[int], lengths: Sequence[int], room: int) -> list[list[int]]:
    """A step's examples in rows of at most `room` tokens (or one example), of about the same length."""
    order = sorted(step, key=lambda place: (-lengths[place], place))
    count = max(1, -(-sum(lengths[place] for place in step) // room))
    while True:
        cut: list[list[int]] = [[] for _ in range(count)]
        filled = [0] * count
        for place in order:
            least = filled.index(min(filled))
            cut[least].append(place)
            filled[least] += lengths[place]
        if max(filled) <= room or count >= len(order):
            return [row for row in cut if row]
        count += 1


def micro_batches(
    step: Sequence[int], lengths: Sequence[int], room: int, rank: int = 0, world: int = 1
) -> Iterator[tuple[list[int], bool]]:
    """A step cut into rows, those of one process: each with whether it counts.

    A process for which nothing is left gets one that does not count: all of them have to be there
    when gradients are added up.
    """
    cut = rows(step, lengths, room)
    mine = cut[rank::world]
    if mine:
        yield from ((one, True) for one in mine)
    else:
        yield cut[-1], False


# ----------------------------------------------------------------------------------- tensors


@dataclass(frozen=True, slots=True)
class Batch:
    """Examples one after the other in one row, without padding.

    Example `i` has the tokens from `starts[i]` to `starts[i + 1]`, `longest` of them at most. The
    predictions at `index` are wanted, and `targets` is what they should be.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    starts: torch.Tensor
    longest: int
    index: torch.Tensor
    targets: torch.Tensor


def collate(examples: Sequence[Example], longest: int) -> Batch:
    """One row of these examples, none of which is longer than `longest`."""
    import torch

    ids: list[int] = []
    positions: list[int] = []
    starts = [0]
    index: list[int] = []
    targets: list[int] = []
    for one in examples:
        # What is predicted at a position is the next token.
        index += range(len(ids) + one.prompt_length - 1, len(ids) + len(one.ids) - 1)
        targets += one.ids[one.prompt_length :]
        ids += one.ids
        positions += range(len(one.ids))
        starts.append(len(ids))
    return Batch(
        torch.tensor(ids)[None],
        torch.tensor(positions)[None],
        torch.tensor(starts, dtype=torch.int32),
        longest,
        torch.tensor(index, dtype=torch.long),
        torch.tensor(targets, dtype=torch.long),
    )


def on_device(batch: Batch, device: torch.device) -> Batch:
    """The batch on the device. Pinned on the way to a GPU, so that nothing waits for the copy."""

    def move(tensor: torch.Tensor) -> torch.Tensor:
        if device.type == "cuda":
            return tensor.pin_memory().to(device, non_blocking=True)
        return tensor.to(device)

    return Batch(
        move(batch.ids), move(batch.positions), move(batch.starts), batch.longest, move(batch.index),
        move(batch.targets),
    )  # fmt: skip
