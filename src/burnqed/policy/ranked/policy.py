"""The policy: what the rules and the lemmas propose, in the order that was learnt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from burnqed.core.types import Candidate, Goal, Theorem
from burnqed.policy.candidates import Rated, candidates_of
from burnqed.policy.portfolio.portfolio import rate
from burnqed.policy.portfolio.reading import Reading
from burnqed.policy.ranked.retrieval import Found, Retriever, asked, strength_of
from burnqed.policy.ranked.shapes import lemmas_in, shape_row
from burnqed.policy.ranked.tactics import lemma_tactics, pick
from burnqed.policy.ranked.weights import Weights
from burnqed.policy.ranked.words import words_of

# The share of what the rules alone say, whatever was learnt: what was seldom tried is not known to be
# bad. It rises with words that no statement of the library has, to at most so much: somebody's own
# definitions are like nothing that was learnt from, and rules know what to do with them.
_DOUBT, _OF_UNKNOWN, _MOST = 0.3, 2.0, 0.9


@dataclass(frozen=True, slots=True)
class Idea:
    """A tactic and its log-weight: one of the portfolio's, or how strong its lemmas are."""

    tactic: str
    weight: float
    strength: float = 0.0
    by_rule: bool = False


def ideas(
    goal: Goal, retriever: Retriever, without: Collection[int], tactics: Set[str] = frozenset()
) -> tuple[list[Idea], list[Found]]:
    """All that there is to try at a goal, and the lemmas that were found for it."""
    found = retriever.find(goal.text, without)
    library = retriever.library
    names = [library.names[one.place] for one in found]
    usable = [name for name in names if name not in library.unusable]
    by_rules = [Idea(tactic, weight, by_rule=True) for tactic, weight in rate(goal, tactics)]
    by_lemmas = lemma_tactics(Reading(goal), pick(names), pick(usable))
    return [*by_rules, *(Idea(t, w, strength(t, retriever, found)) for t, w in by_lemmas)], found


def strength(tactic: str, retriever: Retriever, found: Sequence[Found]) -> float:
    """Of the lemmas that a tactic names; 0 of one that names none."""
    places = [retriever.library.places[name] for name in lemmas_in(tactic, retriever.library.places)]
    return strength_of(places, found) if places else 0.0


def doubt(words: Counter[str], known: Collection[str]) -> float:
    """How far to go by rules alone at a state of these words."""
    unknown = sum(word not in known for word in words) / max(1, len(words))
    return min(_MOST, _DOUBT + _OF_UNKNOWN * unknown)


class Ranked:
    """`Policy` of rules and lemmas. It acts on a state's first goal."""

    def __init__(
        self,
        retriever: Retriever,
        weights: Weights,
        without: Collection[int] = frozenset(),
        tactics: Set[str] = frozenset(),
    ) -> None:
        self._retriever, self._weights, self._without = retriever, weights, without
        self._tactics = tactics

    def about(self, theorem: Theorem) -> Ranked:
        forbidden = self._retriever.library.forbidden(theorem)
        if not forbidden:
            return self
        return Ranked(self._retriever, self._weights, forbidden, self._tactics)

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        return [
            [
                replace(one, cost=float(self._weights.cost[shape_row(one.tactic)]))
                for one in candidates_of(self._rate(goals[0]), n, temperature, seed)
            ]
            for goals in states
        ]

    def _rate(self, goal: Goal) -> list[Rated]:
        every, _ = ideas(goal, self._retriever, self._without, self._tactics)
        if not every:
            return []
        weights = self._weights
        given = np.array([idea.weight for idea in every], dtype=np.float32)
        by_rules = np.where([idea.by_rule for idea in every], given, -np.inf)
        rows = [shape_row(idea.tactic) for idea in every]
        words, rarity = Counter(words_of(goal.text)), self._retriever.shared.rarity
        reading = asked(words, rarity, weights.reading)
        scores = (
            weights.rules[0] * given
            + weights.bias[rows]
            + weights.shapes[rows] @ reading
            + weights.trust[rows] * np.array([idea.strength for idea in every], dtype=np.float32)
        )
        if np.isneginf(by_rules).all():
            by_rules = scores
        share = doubt(words, rarity)
        both = np.logaddexp(
            np.log1p(-share) + scores - np.logaddexp.reduce(scores),
            np.log(share) + by_rules - np.logaddexp.reduce(by_rules),
        )
        return [(idea.tactic, float(weight)) for idea, weight in zip(every, both, strict=True)]
