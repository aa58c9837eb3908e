"""Two policies as one: a model's tactics and the portfolio's, in one distribution."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from burnqed.core.ports import Policy
from burnqed.core.types import Candidate, Goal, Theorem
from burnqed.policy.candidates import log_add

# A model's tactics cost a pass each, and its first few are nearly all that it has to say.
MODEL_CANDIDATES = 8


class Mix:
    """With probability `share` what the model would do, else what the portfolio would."""

    def __init__(self, model: Policy, portfolio: Policy, share: float = 0.5) -> None:
        if not 0 < share < 1:
            raise ValueError(f"a share is between 0 and 1, not {share}")
        self.model, self.portfolio, self.share = model, portfolio, share

    def about(self, theorem: Theorem) -> Mix:
        return Mix(self.model.about(theorem), self.portfolio.about(theorem), self.share)

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        asked = self.model.propose(states, min(n, MODEL_CANDIDATES), temperature, seed)
        said, read = await asyncio.gather(asked, self.portfolio.propose(states, n, temperature, seed))
        return [self._one(a, b)[:n] for a, b in zip(said, read, strict=True)]

    def _one(self, model: Sequence[Candidate], portfolio: Sequence[Candidate]) -> list[Candidate]:
        """One list. Where one of the two has nothing to say, the other speaks alone."""
        share = 1.0 if not portfolio else 0.0 if not model else self.share
        found: dict[str, Candidate] = {}
        for part, candidates in ((share, model), (1 - share, portfolio)):
            for c in candidates:
                logprob = c.logprob + math.log(part)
                known = found.get(c.tactic)
                if known is None:
                    found[c.tactic] = Candidate(c.tactic, logprob, c.length)
                else:
                    both = min(0.0, log_add(known.logprob, logprob))
                    found[c.tactic] = Candidate(c.tactic, both, known.length)
        return sorted(found.values(), key=lambda c: (-c.logprob, c.tactic))
