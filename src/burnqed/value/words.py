"""Embeddings without a model: the counted words of a state.

Hidden states of a small model blur a state. A few words that are in it or not often show which of two
siblings is nearer to a proof. A word's hash gives its dimension, and the value there is the logarithm
of its count.
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

WORDS = "words"  # the model's name, also in options
WIDTH = 2048
# Names with their dots and daggers, numbers, and single signs.
_WORD = re.compile(r"[\w.'!?✝]+|[^\w\s]")


class WordsEncoder:
    """Always the same: nothing to load, and no versions."""

    name = EncoderName(model=WORDS, prompt="", pooling="mean", dtype="float32", width=WIDTH, layer=0)

    def encode(self, states: Sequence[str]) -> Embeddings:
        rows = np.zeros((len(states), WIDTH), dtype=np.float32)
        for row, state in zip(rows, states, strict=True):
            for word, count in Counter(_WORD.findall(state)).items():
                row[_place(word)] += math.log1p(count)
            # As long as standardised hidden states, whatever the length of the text.
            row *= math.sqrt(WIDTH) / (float(np.linalg.norm(row)) or 1.0)
        return checked(rows, WIDTH)


@lru_cache(maxsize=2**16)
def _place(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest()) % WIDTH
