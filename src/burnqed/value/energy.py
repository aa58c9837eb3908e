"""The head that turns embeddings into an energy: lower is more provable.

`[z_state; z_goal; z_state ⊙ z_goal]` through three hidden layers to one number, divided by a learned
temperature. Every layer has a spectral norm of 1, so that energies differ only if the states do. The
first layer's output is scaled to a tenth, so that training begins with nearly equal energies. That
scale is learned, too: otherwise the temperature alone would have to make up for it and reach its bound.

Inputs are standardised. A few dimensions of a language model's hidden states are a thousand times as
large as the others, and a head of bounded slope would see only these.

A linear head has no hidden layers. It is for embeddings of words, which have thousands of dimensions,
few of them in any one state: more layers would memorize them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

# A temperature at a bound means that training went wrong; healthy is 0.5 to 3.
COLDEST, WARMEST = 0.05, 20.0
_FIRST_SCALE = 0.1
_POWER_ITERATIONS = 5
_NARROWEST = 16
# A dimension is noise if its deviation is less than this share of the usual one, or of its mean.
_FLATTEST, _ROUNDING = 1e-3, 1e-5


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """A head for embeddings of `width`. If not `conditioned`, it sees only the state."""

    width: int
    conditioned: bool = True
    dropout: float = 0.15
    linear: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """The widths of the layers from input to energy: 2048, 1024 and 512 for a width of 4096."""
        inputs = 3 * self.width if self.conditioned else self.width
        hidden = () if self.linear else (max(_NARROWEST, self.width // part) for part in (2, 4, 8))
        return (inputs, *hidden, 1)


class EnergyHead(nn.Module):
    """The energy of states, given the root goals of their searches."""

    mean: Tensor
    scale: Tensor

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(_layer(before, after) for before, after in pairwise(config.sizes))
        self.dropout = nn.Dropout(config.dropout)
        self.log_gain = nn.Parameter(torch.tensor(_FIRST_SCALE).log())
        self.log_temperature = nn.Parameter(torch.zeros(()))
        self.register_buffer("mean", torch.zeros(config.width))
        self.register_buffer("scale", torch.ones(config.width))

    @torch.no_grad()
    def standardise(self, embeddings: Tensor) -> None:
        """Standardise inputs by the mean and deviation of these embeddings [states, width]."""
        mean, deviation = embeddings.mean(0), embeddings.std(0, correction=0)
        flat = torch.maximum(_FLATTEST * deviation.median(), _ROUNDING * mean.abs())
        self.mean.copy_(mean)
        self.scale.copy_(torch.where(deviation > flat, 1 / deviation, 0.0))

    @property
    def temperature(self) -> Tensor:
        return self.log_temperature.exp().clamp(COLDEST, WARMEST)

    def forward(self, state: Tensor, goal: Tensor) -> Tensor:
        """Embeddings [..., width] of states and of their root goals; energies [...]."""
        hidden = (state - self.mean) * self.scale
        if self.config.conditioned:
            goal = (goal - self.mean) * self.scale
            hidden = torch.cat([hidden, goal, hidden * goal], dim=-1)
        if self.config.linear:
            hidden = self.dropout(hidden)
        # Outside of the layer, because its spectral norm would undo smaller weights.
        hidden = self.log_gain.exp() * self.layers[0](hidden)
        for layer in self.layers[1:]:
            hidden = layer(self.dropout(nn.functional.silu(hidden)))
        energy: Tensor = hidden.squeeze(-1) / self.temperature
        return energy


def _layer(before: int, after: int) -> nn.Module:
    """A linear layer whose largest singular value is 1."""
    layer = nn.Linear(before, after)
    nn.init.orthogonal_(layer.weight)  # torch's default initialisation is far from this norm
    nn.init.zeros_(layer.bias)
    return spectral_norm(layer, n_power_iterations=_POWER_ITERATIONS)
