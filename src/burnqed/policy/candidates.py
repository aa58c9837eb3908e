"""From rated tactics to candidates: distinct, at most n, with log-probabilities that sum to one."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from burnqed.core.types import Candidate
from burnqed.policy.prompt import Format, tactic_of

Rated = tuple[str, float]  # a tactic and its log-weight, which need not be normalised


def candidates_of(rated: Iterable[Rated], n: int, temperature: float, seed: int) -> list[Candidate]:
    """The distribution's `n` likeliest tactics, or at a temperature above 0 a sample of `n` from it.

    Tactics that come twice have their weights added. The log-probabilities are those of the whole
    distribution at temperature 1, so cutting it at `n` does not change them.
    """
    weights: dict[str, float] = {}
    for tactic, weight in rated:
        weights[tactic] = log_add(weights[tactic], weight) if tactic in weights else weight
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


@dataclass(frozen=True, slots=True)
class Sample:
    """What a model said: the log-probability of exactly these `length` tokens, the end among them.

    `ended` is False when it was cut off before it said that the tactic ends. `tokens` are there where
    the model is: a text can be spelt in several ways.
    """

    text: str
    logprob: float
    length: int
    ended: bool = True
    tokens: tuple[int, ...] = field(default=(), compare=False, repr=False)


def candidates_from(format: Format, samples: Sequence[Sample], n: int) -> list[Candidate]:
    """The distinct tactics among samples, with probabilities that sum to one over them.

    The same text sampled twice is one event and counts once; different texts that come to the same
    tactic (space around it) add up. What was cut off is not a tactic.
    """
    texts = {sample.text: sample for sample in samples if sample.ended}
    weights: dict[str, float] = {}
    lengths: dict[str, int] = {}
    for sample in texts.values():
        tactic = tactic_of(format, sample.text)
        if not tactic:
            continue
        known = tactic in weights
        weights[tactic] = log_add(weights[tactic], sample.logprob) if known else sample.logprob
        lengths[tactic] = min(lengths.get(tactic, sample.length), sample.length)
    if not weights:
        return []
    total = _log_sum(weights.values())
    found = [Candidate(t, min(0.0, w - total), lengths[t]) for t, w in weights.items()]
    return sorted(found, key=lambda c: (-c.logprob, c.tactic))[:n]


def log_add(a: float, b: float) -> float:
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def _log_sum(values: Iterable[float]) -> float:
    values = list(values)
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))
