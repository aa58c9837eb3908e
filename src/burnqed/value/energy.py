"""The head that turns embeddings into an energy: lower is more provable.

`[z_state; z_goal; z_state ⊙ z_goal]` through three hidden layers to one number, divided by a
temperature that is learnt. Every layer has a spectral norm of 1, so that energies cannot grow without
the states being apart, and the first one is scaled down, so that training begins where all energies
are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

# A temperature at one of these is a training that went wrong; healthy is 0.5 to 3.
COLDEST, WARMEST = 0.05, 20.0
_FIRST_SCALE = 0.1
_POWER_ITERATIONS = 5
_NARROWEST = 16


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """A head for embeddings of `width`; one that is not `conditioned` sees the state alone."""

    width: int
    conditioned: bool = True
    dropout: float = 0.15

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the layers, from the input to the energy: 2048, 1024 and 512 for a width of 4096."""
        inputs = 3 * self.width if self.conditioned else self.width
        return (inputs, *(max(_NARROWEST, self.width // part) for part in (2, 4, 8)), 1)


class EnergyHead(nn.Module):
    """The energy of states, given the goals that their searches began with."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(_layer(before, after) for before, after in pairwise(config.sizes))
        self.dropout = nn.Dropout(config.dropout)
        self.log_temperature = nn.Parameter(torch.zeros(()))

    @property
    def temperature(self) -> Tensor:
        return self.log_temperature.exp().clamp(COLDEST, WARMEST)

    def forward(self, state: Tensor, goal: Tensor) -> Tensor:
        """Embeddings [..., width] of states and of their root goals; energies [...]."""
        hidden = torch.cat([state, goal, state * goal], dim=-1) if self.config.conditioned else state
        # Outside of the layer: its spectral norm would undo a smaller weight.
        hidden = _FIRST_SCALE * self.layers[0](hidden)
        for layer in self.layers[1:]:
            hidden = layer(self.dropout(nn.functional.silu(hidden)))
        energy: Tensor = hidden.squeeze(-1) / self.temperature
        return energy


def _layer(before: int, after: int) -> nn.Module:
    """A linear layer whose largest singular value is 1."""
    layer = nn.Linear(before, after)
    nn.init.orthogonal_(layer.weight)  # torch's own start is far from any norm that is wanted
    nn.init.zeros_(layer.bias)
    return spectral_norm(layer, n_power_iterations=_POWER_ITERATIONS)
