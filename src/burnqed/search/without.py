"""A policy without some of its tactics."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from burnqed.core.ports import Policy
from burnqed.core.types import Candidate, Goal, Theorem


@dataclass(frozen=True, slots=True)
class Without:
    """Another policy that does not propose `tactics`."""

    policy: Policy
    tactics: Collection[str]

    def about(self, theorem: Theorem) -> Without:
        return replace(self, policy=self.policy.about(theorem))

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        proposed = await self.policy.propose(states, n, temperature, seed)
        return [[c for c in candidates if c.tactic not in self.tactics] for candidates in proposed]
