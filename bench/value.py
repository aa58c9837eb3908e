"""What do energies cost: encoding, scoring in a search, and keeping embeddings?

    python bench/value.py MODEL [--device cpu] [--theorems 12] [--nodes 6] [--states 256] [--rounds 3]

MODEL is the encoder (a directory, or smollm2). Three things are measured.

Search: theorems of qed-core, one at a time on one real Lean, with the portfolio and a head of random
weights on the encoder, which costs what a trained one costs. The time spent waiting for energies is
set against all of the search's; the goal is under a tenth of it.

Encoding: the states that these searches met, as the scorer encodes them, against a plain loop as one
would write it: batches of 32 in the order they come, padded to the longest. They take turns, and the
median of the rounds counts. Embeddings of the two ways are compared.

Keeping: the same number of embeddings saved again and again to a cache that grows. The last saves over
the first say whether a save costs what is there; each is set against one to an empty cache, in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from burnqed.core.types import Goal, state_text
from burnqed.data.benchmarks import theorem_set
from burnqed.lean.embedded.progress import Silent
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.lean.toolchain import find
from burnqed.policy.models.load import Loaded, load
from burnqed.policy.portfolio import Portfolio
from burnqed.policy.prompt import prompt_ids
from burnqed.search.best_first import best_first
from burnqed.search.budget import Budget
from burnqed.value.calibration import Exam, Scored, ScoredSiblings, calibrate
from burnqed.value.embeddings import EmbeddingCache
from burnqed.value.encoder import Embeddings, EncoderName, LocalEncoder
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.saved import SavedHead
from burnqed.value.scorer import Scorer

BATCH = 32
SAVES, SAVED = 20, 2000


class Timed:
    """A scorer, the time spent waiting for it, and the states it was asked about."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.seconds = 0.0
        self.states: dict[str, None] = {}

    async def energies(self, root: Sequence[Goal], states: Sequence[Sequence[Goal]]) -> list[float]:
        self.states.update(dict.fromkeys(map(state_text, states)))
        begun = time.perf_counter()
        found = await self._scorer.energies(root, states)
        self.seconds += time.perf_counter() - begun
        return found


def scorer(loaded: Loaded) -> Scorer:
    encoder = LocalEncoder(loaded)
    head = EnergyHead(HeadConfig(encoder.name.width)).eval().requires_grad_(False)
    saved = SavedHead(head, encoder.name, Path(), str(loaded.path))
    siblings = [ScoredSiblings("t", 1, Scored(0.0, -1.0), (Scored(1.0, -2.0),))]
    return Scorer(saved, encoder, calibrate(siblings, [Exam(siblings, siblings)]), loaded.thread)


async def searched(value: Timed, theorems: int, nodes: int) -> tuple[float, float, int]:
    """Seconds in all, seconds of Lean, and nodes of searches with energies."""
    known = theorem_set("qed-core", None, None).theorems
    chosen = known[:: max(1, len(known) // theorems)]
    spent = lean = 0.0
    expanded = 0
    async with Pool(find(Silent(), None, None).launch(("Init",)), 1) as pool:
        for theorem in chosen:
            async with open_session(pool, 4000) as session:
                budget = Budget(nodes=nodes, candidates=32)
                found = await best_first(theorem, session, Portfolio(), value, budget)
                spent, lean = spent + found.seconds, lean + found.lean_seconds
                expanded += found.nodes
    return spent, lean, expanded


@torch.inference_mode()
def plain(loaded: Loaded, states: Sequence[str]) -> Embeddings:
    """As one would write it with transformers alone."""
    rows = []
    pad = int(loaded.tokenizer.pad_token_id)
    model: Any = loaded.model
    for begin in range(0, len(states), BATCH):
        batch = states[begin : begin + BATCH]
        prompts = [prompt_ids(loaded.tokenizer, loaded.settings, state) for state in batch]
        width = max(map(len, prompts))
        ids = torch.tensor([p + [pad] * (width - len(p)) for p in prompts], device=model.device)
        mask = torch.tensor([[1] * len(p) + [0] * (width - len(p)) for p in prompts])
        mask = mask.to(model.device)
        hidden = model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weights = mask[:, :, None].float()
        rows.append(((hidden * weights).sum(1) / weights.sum(1)).cpu().numpy())
    return np.concatenate(rows)


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def save_seconds(width: int) -> tuple[list[float], list[float]]:
    """Of saves to a cache that grows, and of the same to an empty one."""
    name = EncoderName("0" * 64, "colons 512", "mean", "float32", width)
    chance = np.random.default_rng(0)
    growing: list[float] = []
    empty: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        cache = EmbeddingCache(Path(folder) / "growing", name)
        for number in range(SAVES):
            rows = chance.standard_normal((SAVED, width)).astype(np.float32)
            states = [f"{number} {i}" for i in range(SAVED)]
            fresh = EmbeddingCache(Path(folder) / f"empty{number}", name)
            for target, times in ((cache, growing), (fresh, empty)):
                target.add(states, rows)
                begun = time.perf_counter()
                target.save()
                times.append(time.perf_counter() - begun)
    return growing, empty


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--theorems", type=int, default=12)
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--states", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    loaded = load(given.model, given.device)
    value = Timed(scorer(loaded))
    seconds, lean, nodes = asyncio.run(searched(value, given.theorems, given.nodes))
    print(
        f"search: {nodes} nodes, {len(value.states)} states, {seconds:.1f} s, Lean's own {lean:.1f} s"
    )
    share = value.seconds / seconds
    print(f"  energies {1000 * value.seconds / nodes:.1f} ms a node, {share:.1%} of the time")

    states = list(value.states)[: given.states]
    encoder = LocalEncoder(loaded)
    off = np.abs(encoder.encode(states) - plain(loaded, states)).max()
    ours, theirs = [], []
    for _ in range(given.rounds):
        ours.append(seconds_of(lambda: encoder.encode(states)))
        theirs.append(seconds_of(lambda: plain(loaded, states)))
    fast, slow = statistics.median(ours), statistics.median(theirs)
    print(
        f"encoding: {len(states)} states, {len(states) / fast:.0f}/s, plain {len(states) / slow:.0f}/s"
    )
    print(f"  {slow / fast:.2f} times as fast; embeddings differ by {off:.1e} at most")

    growing, empty = save_seconds(encoder.name.width)
    third = SAVES // 3
    ratio = sum(growing[-third:]) / sum(growing[:third])
    control = sum(empty[-third:]) / sum(empty[:third])
    print(f"keeping: {SAVED} embeddings in {1000 * statistics.median(growing):.0f} ms")
    print(f"  last third of {SAVES} saves over the first {ratio:.2f}, of empty caches {control:.2f}")


if __name__ == "__main__":
    main()
