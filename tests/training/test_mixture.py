"""The shares of a mixture: those that make what worked likeliest."""

from __future__ import annotations

import math
import random

import pytest

from burnqed.policy.mix import Shares
from burnqed.training.mixture import Worked, learn_shares


def told(share: float, count: int, kind: str = "eq", seed: int = 0) -> list[Worked]:
    """What a mixture of this share says, where each of its two parts knows tactics of its own."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        of_model = chance.random() < share
        found.append(Worked(kind, 0.2 if of_model else 0.0, 0.0 if of_model else 0.2))
    return found


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_the_share_that_made_them_is_found(share: float) -> None:
    shares = learn_shares(told(share, 4000))
    assert shares.usual == pytest.approx(share, abs=0.03)


def test_no_other_share_makes_what_worked_likelier() -> None:
    chance = random.Random(1)
    worked = [Worked("eq", chance.random() ** 3, chance.random() ** 2) for _ in range(5000)]

    def likelihood(share: float) -> float:
        return sum(math.log(share * one.model + (1 - share) * one.rules) for one in worked)

    best = learn_shares(worked).usual
    assert all(likelihood(best) >= likelihood(best + by) - 0.05 for by in (-0.1, -0.02, 0.02, 0.1))


def test_a_kind_of_which_little_is_known_is_like_all() -> None:
    shares = learn_shares([*told(0.2, 1000), *told(0.9, 1000, "iff"), *told(1.0, 3, "dvd")])
    assert shares.kinds["eq"] == pytest.approx(0.2, abs=0.05)
    assert shares.kinds["iff"] == pytest.approx(0.9, abs=0.05)
    assert shares.usual < shares.kinds["dvd"] < 0.65
    assert list(shares.kinds) == ["dvd", "eq", "iff"]


def test_neither_is_given_up_and_nothing_teaches_nothing() -> None:
    assert learn_shares([]) == Shares(0.5)
    assert learn_shares([Worked("eq", 0.0, 0.0)] * 50) == Shares(0.5)
    assert 0.9 < learn_shares(told(1.0, 5000)).usual < 1.0
