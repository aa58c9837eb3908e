"""The score of a node, as plain functions of numbers."""

from __future__ import annotations

from dataclasses import dataclass


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
