"""Attention for what is done here: many prompts read once, then many short continuations of each.

All tokens of a pass lie in one row, whichever prompt they belong to, so that no layer works on padding.
Only attention has to know who sees whom, and that is what these classes say. `decoder` puts them in the
place of a model's own attention function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional


class Prompts:
    """The first pass: prompts one after the other, each seeing itself only. Keeps keys and values."""

    def __init__(self, lengths: list[int], width: int, device: torch.device) -> None:
        self.count, self.width = len(lengths), width
        starts = torch.arange(self.count) * width
        self.places = torch.cat(
            [start + torch.arange(length) for start, length in zip(starts, lengths, strict=True)]
        ).to(device)
        self.kept: list[Tensor] = []  # per layer [2, prompts, heads, width, size]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Of tokens in one row [1, heads, tokens, size]; the result is [1, tokens, heads, size]."""
        queries, keys, values = (self._apart(x) for x in (query, key, value))
        assert layer == len(self.kept), "layers come in order"
        self.kept.append(torch.stack([keys, values]))
        groups = queries.shape[1] // keys.shape[1]
        if groups > 1:
            keys, values = (x.repeat_interleave(groups, dim=1) for x in (keys, values))
        out = functional.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, scale=scale
        )
        return out.transpose(1, 2).flatten(0, 1)[self.places].unsqueeze(0)

    def _apart(self, row: Tensor) -> Tensor:
        """[prompts, heads, width, size]; what follows a prompt's end is seen by none of its tokens."""
        _, heads, _, size = row.shape
        padded = row.new_zeros(self.count * self.width, heads, size)
        padded[self.places] = row[0].transpose(0, 1)
        return padded.view(self.count, self.width, heads, size).transpose(1, 2)


class Continuations:
    """A later pass: one new token for each continuation.

    The token sees its prompt, whose keys and values all continuations of that prompt share, and its
    own earlier tokens. `slots` says where in a grid of prompts × `per_prompt` each continuation has its
    place; the grid is what lets a prompt's keys be read once for all of them.
    """

    def __init__(self, prompts: Tensor, hidden: Tensor, own: Tensor, per_prompt: int) -> None:
        self.prompts = prompts  # [layers, 2, prompts, heads, width, size]
        self.hidden = hidden  # [prompts, width]: where there is no prompt
        self.own = own  # [layers, 2, continuations, heads, longest, size]
        self.per_prompt = per_prompt
        self.slots: Tensor | None = None  # None: the continuations fill the grid in its order
        self.seen = 0  # own tokens that are there after this pass
        # For a pass whose length must not be known beforehand (a recorded one): the same as tensors.
        self.last: Tensor | None = None
        self.unseen: Tensor | None = None

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Of continuations in one row [1, heads, continuations, size]."""
        heads, groups = key.shape[1], query.shape[1] // key.shape[1]
        count, size = query.shape[2], query.shape[3]
        queries = query[0].transpose(0, 1).reshape(count, heads, groups, size)
        keys, values = self._own(layer, key[0].transpose(0, 1), value[0].transpose(0, 1))
        grid = self._to_grid(queries)
        shared = grid @ self.prompts[layer, 0].transpose(-1, -2) * scale
        shared = shared.masked_fill(self.hidden[:, None, None, :], float("-inf"))
        scores = [self._from_grid(shared, groups), queries @ keys.transpose(-1, -2) * scale]
        if self.unseen is not None:
            scores[1] = scores[1].masked_fill(self.unseen, float("-inf"))
        weights = torch.softmax(torch.cat(scores, dim=-1).float(), dim=-1).to(query.dtype)
        width = shared.shape[-1]
        out = self._from_grid(self._to_grid(weights[..., :width]) @ self.prompts[layer, 1], groups)
        out = out + weights[..., width:] @ values
        return out.reshape(1, count, heads * groups, size)

    def _own(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = self.own[layer, 0], self.own[layer, 1]
        if self.last is not None:
            keys.index_copy_(2, self.last, key.unsqueeze(2))
            values.index_copy_(2, self.last, value.unsqueeze(2))
            return keys, values
        keys[:, :, self.seen - 1], values[:, :, self.seen - 1] = key, value
        return keys[:, :, : self.seen], values[:, :, : self.seen]

    def _to_grid(self, rows: Tensor) -> Tensor:
        """[continuations, heads, groups, x] as [prompts, heads, per_prompt · groups, x]."""
        _, heads, groups, last = rows.shape
        prompts = self.prompts.shape[2]
        if self.slots is not None:
            grid = rows.new_zeros(prompts * self.per_prompt, heads, groups, last)
            grid[self.slots] = rows
            rows = grid
        rows = rows.view(prompts, self.per_prompt, heads, groups, last)
        return rows.transpose(1, 2).reshape(prompts, heads, self.per_prompt * groups, last)

    def _from_grid(self, grid: Tensor, groups: int) -> Tensor:
        prompts, heads, _, last = grid.shape
        rows = grid.view(prompts, heads, self.per_prompt, groups, last).transpose(1, 2)
        rows = rows.reshape(prompts * self.per_prompt, heads, groups, last)
        return rows if self.slots is None else rows[self.slots]


def grid(owners: Sequence[int]) -> tuple[int, list[int]]:
    """How many an owner has at most, and the place of each in a grid of owners × that many."""
    width = max(Counter(owners).values())
    return width, places(owners, width)


def places(owners: Sequence[int], width: int) -> list[int]:
    """The place of each in a grid of owners × `width`, in their order."""
    counts: Counter[int] = Counter()
    found = []
    for owner in owners:
        found.append(owner * width + counts[owner])
        counts[owner] += 1
    return found
