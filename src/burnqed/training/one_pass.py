"""One forward pass for two losses: pairs and states in one row of a shared backbone.

A pair is a prompt and a tactic, whose tokens are predicted. A state is a prompt alone, whose hidden
states are pooled to an embedding. The model reads both at once; an encoder that loads the same weights
gives the same embeddings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from burnqed.policy.prompt import Example, PromptSettings, Tokenizer, prompt_ids
from burnqed.training.batches import collate, on_device, rows
from burnqed.training.ebm import held_against
from burnqed.training.hard_negatives import GroupRows
from burnqed.training.loss import TacticLoss, tactic_loss
from burnqed.value.encoder import Pooling, pooled
from burnqed.value.energy import EnergyHead
from burnqed.value.losses import info_nce


@dataclass(frozen=True, slots=True)
class Part:
    """What is read in one pass: pairs, and groups with the negatives of each positive."""

    pairs: tuple[Example, ...]
    groups: tuple[GroupRows, ...]
    chosen: tuple[tuple[int, ...], ...]

    def states(self, *, goals: bool) -> list[int]:
        """The rows of its states, each once."""
        found: dict[int, None] = {}
        for group, negatives in zip(self.groups, self.chosen, strict=True):
            found |= dict.fromkeys((group.positive, *negatives))
            if goals:
                found[group.goal] = None
        return list(found)


def prompts(
    tokenizer: Tokenizer, settings: PromptSettings, states: Iterable[str], on_one: Callable[[], None]
) -> list[Example]:
    """States as examples of which no token is predicted, prompted as an encoder does it."""
    made = []
    for state in states:
        ids = prompt_ids(tokenizer, settings, state)
        made.append(Example(tuple(ids), len(ids)))
        on_one()
    return made


class OnePass:
    """A backbone and a head. `states` are the prompts of all states, known by their rows."""

    def __init__(
        self,
        module: TacticLoss,
        head: EnergyHead,
        states: Sequence[Example],
        pooling: Pooling,
        layer: int,
    ) -> None:
        self.module, self.head, self.states = module, head, states
        self._pooling, self._layer = pooling, layer

    def with_head(self, head: EnergyHead) -> OnePass:
        return OnePass(self.module, head, self.states, self._pooling, self._layer)

    @property
    def device(self) -> torch.device:
        found: torch.device = self.module.model.device
        return found

    def losses(self, part: Part) -> tuple[Tensor, Tensor]:
        """Both as sums: over the tactic tokens of the pairs, and over the groups."""
        states = part.states(goals=self.head.config.conditioned)
        read = [*part.pairs, *(self.states[row] for row in states)]
        batch = on_device(collate(read, self.module.longest), self.device)
        out = self.module.read(batch, output_hidden_states=True)
        tactics, _ = tactic_loss(out, batch)
        if not part.groups:
            return tactics, torch.zeros((), device=self.device)
        begin = sum(len(one.ids) for one in part.pairs)
        z = self._embedded(out, begin, states)
        place = {row: i for i, row in enumerate(states)}
        groups = [
            replace(g, positive=place[g.positive], goal=place.get(g.goal, 0)) for g in part.groups
        ]
        chosen = [[place[row] for row in negatives] for negatives in part.chosen]
        contrast = info_nce(*held_against(self.head, z, groups, chosen))
        return tactics, contrast * len(groups)

    @torch.no_grad()
    def embed(self, wanted: Sequence[int], room: int, stop: Callable[[], bool]) -> Tensor | None:
        """The embeddings of these rows, `room` tokens at a time; None when `stop` says so before."""
        training = self.module.training
        self.module.eval()
        found: dict[int, Tensor] = {}
        try:
            lengths = [len(self.states[row].ids) for row in wanted]
            for places in rows(range(len(wanted)), lengths, room):
                if stop():
                    return None
                read = [wanted[place] for place in places]
                batch = on_device(
                    collate([self.states[row] for row in read], self.module.longest), self.device
                )
                out = self.module.read(batch, output_hidden_states=True)
                found |= zip(read, self._embedded(out, 0, read), strict=True)
        finally:
            self.module.train(training)
        return torch.stack([found[row] for row in wanted])

    def _embedded(self, out: object, begin: int, read: Sequence[int]) -> Tensor:
        hidden = out.hidden_states[self._layer][0, begin:].float()  # type: ignore[attr-defined]
        return pooled(hidden, [len(self.states[row].ids) for row in read], self._pooling)
