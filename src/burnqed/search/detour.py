"""A policy with a fixed tactic at some states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from burnqed.core.ports import Policy
from burnqed.core.types import Candidate, Goal, Theorem, state_text


@dataclass(frozen=True, slots=True)
class Detour:
    """Another policy, except at the states in `fixed` (by their text), which have one candidate.

    With the steps of a proof and one that leaves it, a search goes to that sibling and explores it.
    """

    policy: Policy
    fixed: Mapping[str, Candidate]

    def about(self, theorem: Theorem) -> Detour:
        return replace(self, policy=self.policy.about(theorem))

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        fixed = [self.fixed.get(state_text(goals)) for goals in states]
        free = [goals for goals, candidate in zip(states, fixed, strict=True) if candidate is None]
        proposed = iter(await self.policy.propose(free, n, temperature, seed) if free else [])
        return [[candidate] if candidate is not None else next(proposed) for candidate in fixed]
