"""A policy that is told what to do at some states, and is free at all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from burnqed.core.ports import Policy
from burnqed.core.types import Candidate, Goal, Theorem, state_text


class Detour:
    """Another policy, but for the states in `told` (by their text), where there is one candidate.

    Along the steps of a proof and then past it, a search so becomes one of what lies beside the proof.
    """

    def __init__(self, policy: Policy, told: Mapping[str, Candidate]) -> None:
        self._policy = policy
        self._told = told

    def about(self, theorem: Theorem) -> Detour:
        return Detour(self._policy.about(theorem), self._told)

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        told = [self._told.get(state_text(goals)) for goals in states]
        free = [goals for goals, candidate in zip(states, told, strict=True) if candidate is None]
        proposed = iter(await self._policy.propose(free, n, temperature, seed) if free else [])
        return [[candidate] if candidate is not None else next(proposed) for candidate in told]
