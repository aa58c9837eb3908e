"""A language model that is shown lemmas of the library with each state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from burnqed.core.types import Candidate, Goal, Theorem, state_text
from burnqed.policy.prompt import first_goal, with_lemmas
from burnqed.policy.sampled import SampledPolicy

if TYPE_CHECKING:
    from burnqed.policy.ranked.retrieval import Retriever


class Informed:
    """`Policy` of a model that was trained with lemmas in front of its states."""

    def __init__(
        self,
        model: SampledPolicy,
        retriever: Retriever,
        count: int,
        without: Collection[int] = frozenset(),
    ) -> None:
        self._model, self._retriever = model, retriever
        self._count, self._without = count, without

    def about(self, theorem: Theorem) -> Informed:
        forbidden = self._retriever.library.forbidden(theorem)
        return Informed(self._model, self._retriever, self._count, forbidden) if forbidden else self

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        shown = [self._shown(state_text(goals)) for goals in states]
        return await self._model.propose_for(shown, n, temperature, seed)

    def _shown(self, state: str) -> str:
        return with_lemmas(state, found_for(state, self._retriever, self._count, self._without))


def found_for(
    state: str, retriever: Retriever, count: int, without: Collection[int] = frozenset()
) -> list[str]:
    """The names of the strongest lemmas for a state's first goal: the same in training and search."""
    names = retriever.library.names
    return [names[one.place] for one in retriever.find(first_goal(state), without, count)]
