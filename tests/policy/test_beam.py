"""A beam finds what one finds that looks at every continuation of every line, ties among them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from burnqed.policy.local.generate import Ending, Wanted, beam

SIZE, LIMIT = 13, 5
ENDS = frozenset({3, 7})


class Table:
    """Logits that are a function of the last token and the number of tokens, some of them equal."""

    def __init__(self, seed: int, values: int) -> None:
        chance = torch.Generator().manual_seed(seed)
        self.table = torch.randint(0, values, (LIMIT + 1, SIZE, SIZE), generator=chance).float()
        self.seen = 0

    def step(
        self, tokens: Sequence[int], prompts: Sequence[int], parents: Sequence[int] | None
    ) -> Tensor:
        self.seen += 1
        return torch.stack([self.table[self.seen, token] for token in tokens])


def text(tokens: Sequence[int]) -> str:
    return " ".join(map(str, tokens))


def reference(table: Table, n: int, stop: str) -> list[tuple[float, tuple[int, ...]]]:
    """The `n` likeliest that a beam of width `n` meets, by looking at all."""
    lines: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    done: list[tuple[float, tuple[int, ...]]] = []
    for position in range(LIMIT):
        found = []
        for logprob, taken in lines:
            row = table.table[position, taken[-1] if taken else 0]
            said = torch.log_softmax(row, -1)
            best = said.topk(min(n, SIZE))
            found += [
                (logprob + value, (*taken, token))
                for value, token in zip(best.values.tolist(), best.indices.tolist(), strict=True)
            ]
        found.sort(key=lambda one: (-one[0], one[1]))
        done += [one for one in found if one[1][-1] in ENDS]
        going = [one for one in found if one[1][-1] not in ENDS][:n]
        done += [one for one in going if stop and stop in text(one[1])]
        lines = [one for one in going if not (stop and stop in text(one[1]))]
        if len(done) >= n:
            bar = sorted((one[0] for one in done), reverse=True)[n - 1]
            lines = [one for one in lines if one[0] > bar]
    return sorted(done, key=lambda one: (-one[0], text(one[1])))[:n]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("values", [2, 1000])
def test_it_is_the_beam_that_looks_at_all(seed: int, n: int, values: int) -> None:
    stop = "5 1" if seed % 2 else ""
    ending = Ending(ENDS, LIMIT, text, (stop,) if stop else ())
    table = Table(seed, values)
    first = table.table[0, 0]
    found = beam(table, torch.stack([first, first]), [Wanted(n, 0.0, 0), Wanted(n, 0.0, 0)], ending)
    expected = reference(Table(seed, values), n, stop)
    for samples in found:
        assert [sample.tokens for sample in samples] == [tokens for _, tokens in expected]
        assert [sample.logprob for sample in samples] == pytest.approx([x for x, _ in expected])
