"""The score of a node, as plain functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from burnqed.core.types import Candidate

# How much a tactic's cost counts against its log-probability. With 1 it would be: likely per second.
_COST = 0.75


@dataclass(frozen=True, slots=True)
class Scoring:
    """Weights of a node's score.

    `length_power` is the alpha of `sum of log-probabilities / length^alpha`: 0 is uniform-cost search,
    1 compares the mean step. The energy of a value model must be on the scale of log-probabilities
    already (the value room calibrates it).
    """

    length_power: float = 0.5
    policy_weight: float = 1.0
    energy_weight: float = 0.0


def score(scoring: Scoring, logprob: float, length: int, energy: float | None) -> float:
    """Higher is better. `logprob` is the sum over the `length` steps from the root."""
    path = logprob / float(max(length, 1) ** scoring.length_power)
    total = scoring.policy_weight * path
    return total if energy is None else total - scoring.energy_weight * energy


def promise(candidate: Candidate) -> float:
    """In which order to try candidates: likely ones first, and cheap ones before costly ones."""
    return candidate.logprob - _COST * candidate.cost


def together(logs: Sequence[float]) -> float:
    """The logarithm of a sum, from the logarithms of what is added."""
    most = max(logs)
    return most + math.log(sum(math.exp(one - most) for one in logs))
