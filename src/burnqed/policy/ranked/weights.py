"""What a ranker has learnt: tables of numbers, kept as safetensors with a card of its settings.

Words and shapes of tactics have rows by their hashes, so there is no vocabulary to carry along. Tables
of zeros, which is where learning begins, leave the order that rules and words alone give.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnqed.core.errors import InputError
from burnqed.policy.ranked.files import CARD, WEIGHTS

KIND = "burn-qed ranker"
FORMAT = 1
WORD_ROWS = 2**14
SHAPE_ROWS = 2**11
LEMMA_WIDTH = 48
STATE_WIDTH = 24

_NEWER = "cost"  # older rankers lack it, and know of no costs

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Weights:
    """Of retrieval: `asking` and `offering` words; of ranking: `reading` words, `shapes`, `trust`."""

    asking: Floats  # a word of a state
    offering: Floats  # a word of a lemma
    reading: Floats  # a word of a state
    shapes: Floats  # a shape of a tactic, as the words of a state favour it
    bias: Floats  # a shape of a tactic
    trust: Floats  # a shape of a tactic: how much the strength of its lemmas counts
    scale: Floats  # one number: of the words that a state and a lemma share
    rules: Floats  # one number: of what rules say
    cost: Floats  # a shape of a tactic: the logarithm of its time, as a multiple of the average

    @property
    def identity(self) -> str:
        """The same for the same numbers."""
        digest = hashlib.sha256()
        for one in fields(self):
            table = np.ascontiguousarray(getattr(self, one.name))
            if one.name != _NEWER or table.any():
                digest.update(table.tobytes())
        return digest.hexdigest()[:16]

    @property
    def costless(self) -> Weights:
        """The same without costs, as rankers were before they knew any."""
        return replace(self, cost=np.zeros_like(self.cost))


def untrained() -> Weights:
    """Nothing learnt yet."""

    def zeros(*shape: int) -> Floats:
        return np.zeros(shape, dtype=np.float32)

    return Weights(
        asking=zeros(WORD_ROWS, LEMMA_WIDTH),
        offering=zeros(WORD_ROWS, LEMMA_WIDTH),
        reading=zeros(WORD_ROWS, STATE_WIDTH),
        shapes=zeros(SHAPE_ROWS, STATE_WIDTH),
        bias=zeros(SHAPE_ROWS),
        trust=zeros(SHAPE_ROWS),
        scale=np.full(1, 12.0, dtype=np.float32),
        rules=np.ones(1, dtype=np.float32),
        cost=zeros(SHAPE_ROWS),
    )


def as_saved(weights: Weights) -> Weights:
    """With the numbers that `load` will give back: half precision is more than enough for them."""
    return Weights(**{name: table.astype(np.float32) for name, table in _halves(weights).items()})


def _halves(weights: Weights) -> dict[str, NDArray[np.float16]]:
    return {one.name: getattr(weights, one.name).astype(np.float16) for one in fields(weights)}


def save(directory: Path, weights: Weights, about: dict[str, Any]) -> None:
    """Weights in half precision, and a card that says what they are."""
    from safetensors.numpy import save as to_bytes

    from burnqed.core.files import publish, publish_json

    publish(directory / WEIGHTS, to_bytes(_halves(weights)))
    card = {"kind": KIND, "format": FORMAT, **about}
    publish_json(directory / CARD, card)


def load(directory: Path) -> Weights:
    """Raises `InputError` for what is no ranker, or one of another version."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        card = json.loads((directory / CARD).read_text(encoding="utf-8"))
        tables = load_file(directory / WEIGHTS)
    except (OSError, ValueError, SafetensorError) as error:
        raise InputError(
            f"{directory} holds no ranker: {error}", hint="`burn-qed train ranker` makes one"
        ) from error
    if not isinstance(card, dict) or card.get("kind") != KIND:
        raise InputError(
            f"{directory} holds no ranker: its {CARD} is of something else",
            hint="`burn-qed train ranker` makes one",
        )
    if card.get("format") != FORMAT:
        raise InputError(f"{directory} is a ranker of another version", hint="train it again")
    plain = untrained()
    tables.setdefault(_NEWER, plain.cost)
    for one in fields(Weights):
        table = tables.get(one.name)
        if table is None or table.shape != getattr(plain, one.name).shape:
            raise InputError(f"{directory}: the ranker's {one.name} is missing or of another size")
        if not np.isfinite(table).all():
            raise InputError(f"{directory}: the ranker's {one.name} has numbers that are none")
    return Weights(**{one.name: tables[one.name].astype(np.float32) for one in fields(Weights)})
