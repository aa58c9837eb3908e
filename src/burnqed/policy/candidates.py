"""From rated tactics to candidates: distinct, at most n, with log-probabilities that sum to one."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

from burnqed.core.types import Candidate

Rated = tuple[str, float]  # a tactic and its log-weight, which need not be normalised


def candidates_of(rated: Iterable[Rated], n: int, temperature: float, seed: int) -> list[Candidate]:
    """The distribution's `n` likeliest tactics, or at a temperature above 0 a sample of `n` from it.

    Tactics that come twice have their weights added. The log-probabilities are those of the whole
    distribution at temperature 1, so cutting it at `n` does not change them.
    """
    weights: dict[str, float] = {}
    for tactic, weight in rated:
        weights[tactic] = _log_add(weights[tactic], weight) if tactic in weights else weight
    if not weights:
        return []
    total = _log_sum(weights.values())
    scored = [Candidate(tactic, min(0.0, weight - total)) for tactic, weight in weights.items()]
    scored.sort(key=lambda c: (-c.logprob, c.tactic))
    if temperature <= 0:
        return scored[:n]
    # The largest n of log p / T + Gumbel noise: a sample without replacement.
    noise = random.Random(f"{seed} {scored[0].tactic} {len(scored)}")
    keyed = [(c.logprob / temperature - math.log(-math.log(1 - noise.random())), c) for c in scored]
    keyed.sort(key=lambda pair: -pair[0])
    return sorted((c for _, c in keyed[:n]), key=lambda c: (-c.logprob, c.tactic))


def _log_add(a: float, b: float) -> float:
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def _log_sum(values: Iterable[float]) -> float:
    values = list(values)
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))
