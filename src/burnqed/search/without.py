"""A policy without some of its tactics."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from burnqed.core.ports import Policy
from burnqed.core.types import Candidate, Goal, Theorem


class Without:
    """Another policy that does not propose `tactics`."""

    def __init__(self, policy: Policy, tactics: Collection[str]) -> None:
        self._policy = policy
        self._tactics = tactics

    def about(self, theorem: Theorem) -> Without:
        return Without(self._policy.about(theorem), self._tactics)

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        proposed = await self._policy.propose(states, n, temperature, seed)
        return [[c for c in candidates if c.tactic not in self._tactics] for candidates in proposed]
