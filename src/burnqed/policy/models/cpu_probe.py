"""Computes in half precision as models do, and says what of it worked: a program, run by `cpu`.

A CPU may claim instructions that a hypervisor does not let it use. Whoever tries them is killed, so
this is tried in a process that may die. A word on stdout for each thing that worked: `loaded`, then the
formats.
"""

from __future__ import annotations

import resource
import sys

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention

# Rows, inner and outer width: one token, the smallest models, an odd size, and one with several tiles.
_SHAPES = ((1, 64, 64), (8, 32, 48), (17, 65, 33), (64, 256, 512))
_TOLERANCE = 0.05  # of the largest number: both formats are ten times as exact


def _results(dtype: torch.dtype) -> list[Tensor]:
    """Layers, products of batches and attention, forward and backward, from the same numbers."""
    random = torch.Generator().manual_seed(0)
    found: list[Tensor] = []
    for rows, inner, outer in _SHAPES:
        x = torch.randn(rows, inner, generator=random).to(dtype).requires_grad_()
        weight = (torch.randn(outer, inner, generator=random) / inner**0.5).to(dtype).requires_grad_()
        y = linear(x, weight)
        y.square().mean().backward()
        heads = torch.randn(3, 2, rows, inner, generator=random).to(dtype).requires_grad_()
        query, key, value = heads
        seen = scaled_dot_product_attention(query[None], key[None], value[None], is_causal=True)
        seen.sum().backward()
        products = torch.bmm(query, key.transpose(1, 2))
        for one in (y, x.grad, weight.grad, seen, heads.grad, products):
            assert one is not None
            found.append(one.detach().float())
    return found


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # dying is not news here
    print("loaded", flush=True)
    exact = _results(torch.float32)
    for name in sys.argv[1:]:
        try:
            found = _results(getattr(torch, name))
            for one, other in zip(found, exact, strict=True):
                apart = float((one - other).abs().max() / other.abs().max())
                if not apart <= _TOLERANCE:
                    raise ArithmeticError(f"results are off by {apart:.3g}")
        except (RuntimeError, ArithmeticError) as error:
            print(f"{name}: {error}", file=sys.stderr)
        else:
            print(name, flush=True)


if __name__ == "__main__":
    main()
