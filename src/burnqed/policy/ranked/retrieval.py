"""Which lemmas of the library a state may need.

Two parts, added: the words that state and lemma share, the rare ones counting more (BM25), and what was
learnt about words of states and of lemmas that go together in proofs, as a product of two tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.weights import WORD_ROWS, Floats, Weights
from burnqed.policy.ranked.words import bucket, words_of, words_of_name

CONSIDERED = 64  # lemmas among which strengths are shared out
_SATURATION, _LENGTH = 0.9, 0.6  # BM25's k1 and b
_TWICE = 2  # a word of a state counts so often at most


@dataclass(frozen=True, slots=True)
class Found:
    """A lemma, and the logarithm of its share of all that were considered."""

    place: int
    strength: float


@dataclass(frozen=True, slots=True)
class _Postings:
    places: np.typing.NDArray[np.int32]
    gains: Floats


class Shared:
    """The words of a library's statements, looked up from the side of the words."""

    def __init__(self, library: Library) -> None:
        counted = [Counter(words_of(statement)) for statement in library.statements]
        held = Counter(word for one in counted for word in one)
        total = len(counted)
        self.rarity = {w: float(np.log1p((total - n + 0.5) / (n + 0.5))) for w, n in held.items()}
        lengths = np.array([sum(one.values()) for one in counted], dtype=np.float32)
        relative = (
            1 - _LENGTH + _LENGTH * lengths / max(float(lengths.mean()), 1.0) if total else lengths
        )
        collected: dict[str, tuple[list[int], list[float]]] = {w: ([], []) for w in held}
        for place, one in enumerate(counted):
            for word, count in one.items():
                gain = count * (_SATURATION + 1) / (count + _SATURATION * float(relative[place]))
                collected[word][0].append(place)
                collected[word][1].append(gain * self.rarity[word])
        self._postings = {
            word: _Postings(np.array(places, dtype=np.int32), np.array(gains, dtype=np.float32))
            for word, (places, gains) in collected.items()
        }
        self.size = total
        self.counted = counted

    def gains(self, words: Counter[str]) -> Floats:
        """What each lemma shares with these words, 1 being about as much as there is to share."""
        found = np.zeros(self.size, dtype=np.float32)
        most = 0.0
        for word, count in words.items():
            times = min(count, _TWICE)
            if (postings := self._postings.get(word)) is not None:
                found[postings.places] += times * postings.gains
                most += times * self.rarity[word]
        return found / max(most, 1e-6)


class Retriever:
    """Lemmas for states. Making one reads the whole library once."""

    def __init__(self, library: Library, weights: Weights, shared: Shared | None = None) -> None:
        self.library = library
        self.shared = shared or Shared(library)
        self._asking, self._scale = weights.asking, float(weights.scale[0])
        self._learnt = bool(weights.offering.any())
        self._offered = offered(self.shared, library, weights) if self._learnt else None

    def find(self, state: str, without: Collection[int] = (), least: int = CONSIDERED) -> list[Found]:
        """The strongest lemmas for a state that is given as its text, the first the strongest."""
        words = Counter(words_of(state))
        scores = self._scale * self.shared.gains(words)
        if self._offered is not None:
            scores = scores + self._offered @ asked(words, self.shared.rarity, self._asking)
        if without:
            scores[list(without)] = -np.inf
        count = min(least, self.shared.size - len(without))
        if count <= 0:
            return []
        best = np.argpartition(-scores, count - 1)[:count]
        best = best[np.lexsort((best, -scores[best]))]
        top = scores[best]
        shares = top - top[0] - np.log(np.exp(top - top[0]).sum())
        return [Found(int(place), float(share)) for place, share in zip(best, shares, strict=True)]


def rows_of(words: Counter[str], rarity: dict[str, float]) -> list[tuple[int, float]]:
    """Rows of a table for these words, with weights whose squares sum to one.

    A word that no statement has is left out: nothing can be learnt about it.
    """
    found = {
        word: rarity[word] * float(np.log1p(count)) for word, count in words.items() if word in rarity
    }
    norm = float(np.sqrt(sum(weight * weight for weight in found.values()))) or 1.0
    return [(bucket(word, WORD_ROWS), weight / norm) for word, weight in found.items()]


def rows_of_lemma(shared: Shared, library: Library, place: int) -> list[tuple[int, float]]:
    """The same for a lemma: the words of its statement, and those of its name for as much again."""
    rows = rows_of(shared.counted[place], shared.rarity)
    name = words_of_name(library.names[place])
    return [*rows, *((bucket(word, WORD_ROWS), 1 / np.sqrt(len(name))) for word in name)]


def asked(words: Counter[str], rarity: dict[str, float], asking: Floats) -> Floats:
    rows = rows_of(words, rarity)
    if not rows:
        return np.zeros(asking.shape[1], dtype=np.float32)
    places, weights = zip(*rows, strict=True)
    return np.asarray(np.array(weights, dtype=np.float32) @ asking[list(places)], dtype=np.float32)


def offered(shared: Shared, library: Library, weights: Weights) -> Floats:
    """A row for each lemma."""
    found = np.zeros((shared.size, weights.offering.shape[1]), dtype=np.float32)
    for place in range(shared.size):
        rows = rows_of_lemma(shared, library, place)
        at, how = zip(*rows, strict=True) if rows else ((), ())
        found[place] = np.array(how, dtype=np.float32) @ weights.offering[list(at)]
    return found


def strength_of(places: Sequence[int], found: Sequence[Found]) -> float:
    """Of several lemmas together: the share that they have of what was considered."""
    shares = {one.place: one.strength for one in found}
    least = min(shares.values(), default=0.0)
    return float(np.log(sum(np.exp(shares.get(place, least)) for place in set(places))))
