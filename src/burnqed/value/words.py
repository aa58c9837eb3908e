"""Embeddings without a model: the words of a state, counted.

Hidden states of a small model blur what a state says; a few words that are still in it, or no longer,
often tell which of two siblings is nearer to a proof. Each word has one of the dimensions, by its hash,
and stands there with the logarithm of its count.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from burnqed.value.encoder import Embeddings, EncoderName, checked

WORDS = "words"  # the model's name, and how users ask for it
WIDTH = 2048
# Names with their dots and daggers, numbers, and each sign by itself.
_WORD = re.compile(r"[\w.'!?✝]+|[^\w\s]")


class WordsEncoder:
    """Always the same: there is nothing to load, and nothing that could be of another version."""

    name = EncoderName(model=WORDS, prompt="", pooling="mean", dtype="float32", width=WIDTH, layer=0)

    def encode(self, states: Sequence[str]) -> Embeddings:
        rows = np.zeros((len(states), WIDTH), dtype=np.float32)
        for row, state in zip(rows, states, strict=True):
            for word, count in Counter(_WORD.findall(state)).items():
                row[_place(word)] += math.log1p(count)
            # As long as what standardised hidden states are, however much there is to read.
            row *= math.sqrt(WIDTH) / (float(np.linalg.norm(row)) or 1.0)
        return checked(rows, WIDTH)


@lru_cache(maxsize=2**16)
def _place(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest()) % WIDTH
