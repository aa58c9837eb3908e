"""How far to follow a model and how far rules, at goals of each kind: learnt from proofs.

A tactic that worked had a probability from each. The share that makes what worked likeliest is found
by expectation and maximisation, of all goals and then of each kind, which is drawn towards that of all
as long as there is little to go by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from burnqed.policy.mix import Shares

_PRIOR = 20.0  # proofs' worth of belief that a kind is like all others
_ROUNDS = 200
_LEAST = 0.02  # neither is ever given up


@dataclass(frozen=True, slots=True)
class Worked:
    """A tactic that worked at a goal of a kind, with the probability that each would have said it."""

    kind: str
    model: float
    rules: float


def learn_shares(worked: Sequence[Worked]) -> Shares:
    """The shares of the model; what neither would have said teaches nothing."""
    known = [one for one in worked if one.model + one.rules > 0]
    usual = _share(known, 0.5, 2.0)
    kinds = sorted({one.kind for one in known})
    return Shares(
        usual, {kind: _share([w for w in known if w.kind == kind], usual, _PRIOR) for kind in kinds}
    )


def _share(worked: Sequence[Worked], prior: float, weight: float) -> float:
    share = prior
    for _ in range(_ROUNDS):
        owed = sum(share * one.model / (share * one.model + (1 - share) * one.rules) for one in worked)
        share = (owed + prior * weight) / (len(worked) + weight)
        share = min(1 - _LEAST, max(_LEAST, share))
    return round(share, 4)
