"""How fast a training is, against what the GPU can do."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch

_SIDE, _TIMES = 8192, 10  # of the matrices that are multiplied to learn the limit
# Compiling layers takes some 20 s and halves the time of what follows.
_WORTH = 5_000_000  # tokens


@dataclass(frozen=True, slots=True)
class Work:
    """Floating-point operations of a model in training: matrix products only, without attention's.

    A token goes through the matrices of all layers; a predicted one through the head as well. Each
    product is done once forward and once for the gradient of its input, and once more for the gradient
    of a matrix that is trained.
    """

    per_token: float
    per_prediction: float

    @classmethod
    def of(cls, model: Any) -> Work:
        """The work of a causal language model, with or without an adapter."""
        ends = [model.get_input_embeddings().weight, model.get_output_embeddings().weight]
        outer = {id(weight) for weight in ends}
        layers = [p for p in model.parameters() if p.ndim == 2 and id(p) not in outer]
        return cls(_work(layers), _work(ends[1:]))

    def of_tokens(self, tokens: int, predictions: int) -> float:
        return tokens * self.per_token + predictions * self.per_prediction


def _work(matrices: list[torch.nn.Parameter]) -> float:
    return sum(p.numel() * (6.0 if p.requires_grad else 4.0) for p in matrices)


def limit(device: torch.device, precision: torch.dtype) -> float | None:
    """Operations a second of this GPU in one large matrix product; None where there is no GPU."""
    if device.type != "cuda":
        return None
    chance = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(_SIDE, _SIDE, device=device, generator=chance).to(precision) for _ in range(2))
    for _ in range(3):
        a @ b
    torch.cuda.synchronize(device)
    begun = time.perf_counter()
    for _ in range(_TIMES):
        a @ b
    torch.cuda.synchronize(device)
    return _TIMES * 2 * _SIDE**3 / (time.perf_counter() - begun)


def compile_layers(model: Any, tokens: int) -> bool:
    """Compile each layer of a model, if so many tokens make it worth while; whether it was done."""
    from transformers.modeling_layers import GradientCheckpointingLayer

    if model.device.type != "cuda" or tokens < _WORTH:
        return False
    for layer in model.modules():
        if isinstance(layer, GradientCheckpointingLayer):
            layer.compile()
    return True
