"""Searches with something to learn: the states of a proof say so, those beside it say otherwise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burnqed.trajectories.schema import StepRow
from burnqed.trajectories.store import open_writer
from burnqed.value.encoder import Embeddings, EncoderName
from tests.training.samples import Watcher
from tests.trajectories.samples import name, record

WIDTH = 24


def search(number: int, steps: int = 3) -> list[StepRow]:
    """A proof of so many steps, with one to three siblings beside each of its states."""
    chance = random.Random(number)
    made: list[StepRow] = []
    fresh = iter(range(steps, 10**6))

    def add(node: int, depth: int, state: str, *children: int, left: int | None = None) -> None:
        made.append(
            StepRow(
                run="run", theorem=name(number), node=node, parent=None, children=children,
                depth=depth, state=state, root_goal=_goal(number), tactic="simp",
                logprob=-2 * chance.random(), energy=None, score=0.0,
                outcome="rejected" if left is None and not children else "advanced", error="",
                label="negative" if left is None else "positive", on_proof_path=left is not None,
                remaining_steps=left, origin="search", temperature=0.0, iteration=0, seconds=0.0,
            )
        )  # fmt: skip

    for depth in range(steps):
        state = _goal(number) if depth == 0 else _state(number, depth, "near", chance)
        following = (depth + 1,) if depth + 1 < steps else ()
        add(depth, depth, state, *following, left=steps - depth)
        for node in [next(fresh) for _ in range(chance.randint(1, 3))] if following else []:
            add(depth, depth, state, node)
            add(node, depth + 1, _state(number, depth + 1, "lost", chance))
    return made


def _goal(number: int) -> str:
    return f"⊢ goal {number}"


def _state(number: int, depth: int, word: str, chance: random.Random) -> str:
    return f"n : Nat\nh : n < {chance.randrange(10**6)}\n⊢ {word} {word} {word} {number} {depth}"


def write_searches(directory: Path, numbers: range, steps: int = 3) -> Path:
    """A run's directory."""
    with open_writer(directory / "trajectories") as writer:
        for number in numbers:
            writer.add(record(number, 1), search(number, steps))
    return directory


class Onlooker(Watcher):
    """Of the training of a head."""

    def told(self, told: Any) -> None:
        self.heard.append(told)


class Planted:
    """An encoder that sees the word, somewhere among noise and on scales of all sizes."""

    def __init__(self, dtype: str = "float32", model: str = "m" * 64, blind: bool = False) -> None:
        self.name = EncoderName(model, "colons 64", "mean", dtype, WIDTH)
        self.encoded = 0
        self._blind = blind

    def encode(self, states: Sequence[str]) -> Embeddings:
        self.encoded += len(states)
        return np.stack([self._row(state) for state in states])

    def _row(self, state: str) -> np.ndarray:
        noise = np.random.default_rng(list(state.encode()))
        row = noise.standard_normal(WIDTH)
        if not self._blind:
            row[:4] += 2.0 * (("near" in state) - ("lost" in state))
        scales = np.logspace(-2, 3, WIDTH)
        return ((row + 5.0) * scales).astype(np.float32)
