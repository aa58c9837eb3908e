"""A policy that follows recorded proofs where they have the state, and is free at all others.

A search so becomes the record of a proof that somebody else found, judged like any other: something to
look beside for negatives, and to learn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from burnqed.core.ports import Policy
from burnqed.core.types import Candidate, Goal, Theorem, state_text

# A step: its goals as texts, of which it acts on the first, and the tactic.
RecordedStep = tuple[Sequence[str], str]


class RecordedProof:
    """The steps of a theorem. `opening` names the hypotheses of the first state, in their order."""

    def __init__(self, steps: Iterable[RecordedStep], opening: Sequence[str] = ()) -> None:
        self._whole: dict[str, dict[str, None]] = {}
        self._first: dict[str, dict[str, None]] = {}
        self._any: dict[str, dict[str, None]] = {}
        self._opening = opening
        for goals, tactic in steps:
            self._whole.setdefault("\n\n".join(goals), {})[tactic] = None
            for place, goal in enumerate(goals):
                known = self._any if place else self._first
                known.setdefault(goal, {})[tactic] = None

    def at(self, goals: Sequence[Goal]) -> list[str]:
        """The tactics that were used at these goals, the best match first; none where it is free.

        The search works on goals one by one that stand together in a record: so a tactic is also
        looked for where the goal was the first of several, and then where it was one of the others.
        """
        found = self._whole.get(state_text(goals)) or self._first.get(goals[0].text)
        if found is None and self._opening and not goals[0].hypotheses:
            return [f"intro {' '.join(self._opening)}"]
        return list(found or self._any.get(goals[0].text) or ())


class Recorded:
    """Another policy, but for the states of the theorem's recorded proof.

    What was recorded keeps the log-probability that the policy gives it. A tactic that the policy does
    not propose has the median of those that it does: it neither wins nor loses by it.
    """

    def __init__(
        self,
        policy: Policy,
        proofs: Mapping[str, RecordedProof],
        own: RecordedProof | None = None,
    ) -> None:
        self._policy, self._proofs, self._own = policy, proofs, own

    def about(self, theorem: Theorem) -> Recorded:
        return Recorded(self._policy.about(theorem), self._proofs, self._proofs.get(theorem.name))

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        proposed = await self._policy.propose(states, n, temperature, seed)
        return [self._one(goals, free) for goals, free in zip(states, proposed, strict=True)]

    def _one(self, goals: Sequence[Goal], free: list[Candidate]) -> list[Candidate]:
        recorded = self._own.at(goals) if self._own else []
        if not recorded:
            return free
        known = {candidate.tactic: candidate for candidate in free}
        usual = median(candidate.logprob for candidate in free) if free else 0.0
        found = [known.get(tactic, Candidate(tactic, usual)) for tactic in recorded]
        return sorted(found, key=lambda candidate: -candidate.logprob)
