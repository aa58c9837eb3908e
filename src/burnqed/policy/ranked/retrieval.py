"""Which lemmas of the library a state may need.

Two parts, added: the words that state and lemma share, the rare ones counting more (BM25), and what was
learnt about words of states and of lemmas that go together in proofs, as a product of two tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.weights import WORD_ROWS, Floats, Weights
from burnqed.policy.ranked.words import bucket, words_of, words_of_name

Rows = list[tuple[int, float]]  # rows of a table, each with a weight

_AT_ONCE = 4096  # bags that are summed at once
CONSIDERED = 256  # lemmas among which strengths are shared out
_SATURATION, _LENGTH = 0.9, 0.6  # BM25's k1 and b
_TWICE = 2  # a word of a state counts so often at most


@dataclass(frozen=True, slots=True)
class Found:
    """A lemma by its place in the table.

    `strength` is the logarithm of its share of all that were considered.
    """

    place: int
    strength: float


@dataclass(frozen=True, slots=True)
class Bags:
    """Weighted rows of a table, many bags one after the other; bag `i` begins at `starts[i]`."""

    rows: np.typing.NDArray[np.int64]
    weights: Floats
    starts: np.typing.NDArray[np.int64]  # one more than there are bags

    @classmethod
    def of(cls, bags: Iterable[Rows]) -> Bags:
        lengths, rows, weights = [0], list[int](), list[float]()
        for bag in bags:
            lengths.append(len(bag))
            rows += [row for row, _ in bag]
            weights += [weight for _, weight in bag]
        return cls(np.array(rows, np.int64), np.array(weights, np.float32), np.cumsum(lengths))

    def only(self, places: Sequence[int]) -> Bags:
        """These bags, in this order."""
        parts = [np.arange(self.starts[place], self.starts[place + 1]) for place in places]
        inside = np.concatenate([np.zeros(0, np.int64), *parts])
        starts = np.cumsum([0, *map(len, parts)])
        return Bags(self.rows[inside], self.weights[inside], starts)

    def sums(self, table: Floats) -> Floats:
        """Of each bag, the weighted sum of its rows."""
        count = len(self.starts) - 1
        found = np.zeros((count, table.shape[1]), dtype=np.float32)
        for first in range(0, count, _AT_ONCE):
            last = min(first + _AT_ONCE, count)
            inside = slice(self.starts[first], self.starts[last])
            of_bag = np.repeat(np.arange(first, last), np.diff(self.starts[first : last + 1]))
            np.add.at(found, of_bag, self.weights[inside, None] * table[self.rows[inside]])
        return found


@dataclass(frozen=True)
class Shared:
    """The words of a library's statements, looked up from the side of the words.

    The postings of word `i` are entries `starts[i]` to `starts[i + 1]` of `places` and `gains`.
    """

    words: tuple[str, ...]
    rare: np.typing.NDArray[np.float64]
    starts: np.typing.NDArray[np.int64]
    places: np.typing.NDArray[np.int32]
    postings: Floats
    lemmas: Bags

    @classmethod
    def of(cls, library: Library) -> Shared:
        counted = [Counter(words_of(statement)) for statement in library.statements]
        held = Counter(word for one in counted for word in one)
        total = len(counted)
        rarity = {w: float(np.log1p((total - n + 0.5) / (n + 0.5))) for w, n in held.items()}
        lengths = np.array([sum(one.values()) for one in counted], dtype=np.float32)
        relative = (
            1 - _LENGTH + _LENGTH * lengths / max(float(lengths.mean()), 1.0) if total else lengths
        )
        collected: dict[str, tuple[list[int], list[float]]] = {w: ([], []) for w in held}
        for place, one in enumerate(counted):
            for word, count in one.items():
                gain = count * (_SATURATION + 1) / (count + _SATURATION * float(relative[place]))
                collected[word][0].append(place)
                collected[word][1].append(gain * rarity[word])
        postings = collected.values()
        lemmas = Bags.of(
            [*rows_of(one, rarity), *_rows_of_name(name)]
            for one, name in zip(counted, library.names, strict=True)
        )
        return cls(
            words=tuple(rarity),
            rare=np.array(list(rarity.values()), np.float64),
            starts=np.cumsum([0, *(len(places) for places, _ in postings)]),
            places=np.array([place for places, _ in postings for place in places], np.int32),
            postings=np.array([gain for _, gains in postings for gain in gains], np.float32),
            lemmas=lemmas,
        )

    @property
    def size(self) -> int:
        """How many lemmas there are."""
        return len(self.lemmas.starts) - 1

    @cached_property
    def rarity(self) -> dict[str, float]:
        return dict(zip(self.words, self.rare.tolist(), strict=True))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def gains(self, words: Counter[str]) -> Floats:
        """What each lemma shares with these words, 1 being about as much as there is to share."""
        found = np.zeros(self.size, dtype=np.float32)
        most = 0.0
        for word, count in words.items():
            times = min(count, _TWICE)
            if (number := self._number.get(word)) is not None:
                own = slice(self.starts[number], self.starts[number + 1])
                found[self.places[own]] += times * self.postings[own]
                most += times * self.rarity[word]
        return found / max(most, 1e-6)


class Retriever:
    """Lemmas for states. Without `shared`, making one reads the whole library."""

    def __init__(self, library: Library, weights: Weights, shared: Shared | None = None) -> None:
        self.library = library
        self.shared = shared or Shared.of(library)
        self._asking, self._scale = weights.asking, float(weights.scale[0])
        learnt = bool(weights.offering.any())
        self._offered = self.shared.lemmas.sums(weights.offering) if learnt else None

    def find(self, state: str, without: Collection[int] = (), most: int = CONSIDERED) -> list[Found]:
        """The strongest lemmas for a state that is given as its text, the first the strongest."""
        words = Counter(words_of(state))
        scores = self._scale * self.shared.gains(words)
        if self._offered is not None:
            # Not by `@`: BLAS does that in as many threads as there are cores, which spin for a while
            # afterwards, where Lean's processes want to run.
            wanted = asked(words, self.shared.rarity, self._asking)
            scores = scores + np.einsum("ij,j->i", self._offered, wanted)
        if without:
            scores[list(without)] = -np.inf
        count = min(most, self.shared.size - len(without))
        if count <= 0:
            return []
        best = np.argpartition(-scores, count - 1)[:count]
        best = best[np.lexsort((best, -scores[best]))]
        top = scores[best]
        shares = top - top[0] - np.log(np.exp(top - top[0]).sum())
        return [Found(int(place), float(share)) for place, share in zip(best, shares, strict=True)]


def rows_of(words: Counter[str], rarity: dict[str, float]) -> Rows:
    """Rows of a table for these words, with weights whose squares sum to one.

    A word that no statement has is left out: nothing can be learnt about it.
    """
    found = {
        word: rarity[word] * float(np.log1p(count)) for word, count in words.items() if word in rarity
    }
    norm = float(np.sqrt(sum(weight * weight for weight in found.values()))) or 1.0
    return [(bucket(word, WORD_ROWS), weight / norm) for word, weight in found.items()]


def _rows_of_name(name: str) -> Rows:
    """The words of a lemma's name count for as much as its statement."""
    words = words_of_name(name)
    return [(bucket(word, WORD_ROWS), 1 / float(np.sqrt(len(words)))) for word in words]


def asked(words: Counter[str], rarity: dict[str, float], asking: Floats) -> Floats:
    rows = rows_of(words, rarity)
    if not rows:
        return np.zeros(asking.shape[1], dtype=np.float32)
    places, weights = zip(*rows, strict=True)
    return np.asarray(np.array(weights, dtype=np.float32) @ asking[list(places)], dtype=np.float32)


def strength_of(places: Sequence[int], found: Sequence[Found]) -> float:
    """Of several lemmas together: the share that they have of what was considered."""
    shares = {one.place: one.strength for one in found}
    least = min(shares.values(), default=0.0)
    return float(np.log(sum(np.exp(shares.get(place, least)) for place in set(places))))
