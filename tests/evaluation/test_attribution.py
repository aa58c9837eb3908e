"""Which part helped: the steps between arms, and the recommendation by the stated rule."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from burnqed.core.statistics import paired_interval
from burnqed.evaluation.attribution import ALL, ARMS, RULE, Attribution, attributed, said
from burnqed.evaluation.results import IterationResult
from tests.evaluation.samples import Outcomes, result_of

TOTAL = 60
BUDGETS = (10, 100)


def proving(proved: Collection[int], errors: Collection[int] = ()) -> IterationResult:
    """With the larger budget these are proved, and the others are not."""
    outcomes: Outcomes = {
        f"t{n}": ("error", 1) if n in errors else ("proved", 50) if n in proved else ("exhausted", 100)
        for n in range(TOTAL)
    }
    return result_of(outcomes, BUDGETS)


def table(measured: dict[str, dict[str, Any]] | None = None, **counts: int) -> Attribution:
    """Each arm proves the first so many theorems; by default ten of them."""
    arms = {arm: proving(range(counts.get(arm.replace("-", "_"), 10))) for arm in ARMS}
    return attributed({"made-up": arms}, measured or {})


@pytest.mark.parametrize(
    ("counts", "arm"),
    [
        ({}, ""),
        ({"A": 12, "B": 12, "C": 12}, ""),
        ({"A": 30}, "A"),
        ({"A": 30, "B": 31, "C": 31}, "A"),
        ({"A": 30, "B": 45, "C": 45}, "C"),
        ({"A": 30, "B": 45}, "B"),
        ({"A": 20, "B": 50, "C": 35}, "B"),
        # The policy alone explains it: no head proves more than its own policy without one.
        ({"none_1": 40, "B": 40, "C": 41}, ""),
        # And a head that is worse than none is not taken for beating a worse arm.
        ({"A": 20, "none_1": 40, "C": 32}, "A"),
    ],
)
def test_the_cheapest_arm_is_recommended_that_is_shown_to_be_better(
    counts: dict[str, int], arm: str
) -> None:
    found = table(None, **counts)
    assert found.recommendation.arm == arm
    assert found.rule == RULE
    assert len(found.recommendation.reasons) >= 3


def test_steps_have_points_intervals_and_a_test() -> None:
    found = table(A=10, B=22, C=20)
    assert {(one.on, one.before, one.after) for one in found.effects} == {
        ("made-up", *pair)
        for pair in [
            ("A", "B"), ("B", "C"), ("A", "C"), ("none-0", "none-1"), ("none-0", "A"), ("none-1", "B"),
            ("none-1", "C"),
        ]
    }  # fmt: skip
    step = next(one for one in found.effects if (one.before, one.after) == ("A", "B"))
    assert step.what == "embeddings"
    none, all_of_it = step.budgets[10], step.budgets[100]
    assert (none.points, none.pairing.verdict) == (0, "no difference shown")
    assert none.interval[0] < 0 < none.interval[1]
    assert all_of_it.points == pytest.approx(20)
    assert 0 < all_of_it.interval[0] < 20 < all_of_it.interval[1]
    assert said(step).startswith(
        "B against A within 100 nodes: 12 gained, 0 lost of 60 theorems, +20.0"
    )
    assert found.scores["made-up"]["C"][100].solved == 20


def test_sets_are_put_together_and_errors_left_out() -> None:
    few = {arm: proving(range(13 if arm == "A" else 10), [59]) for arm in ARMS}
    found = attributed({"one": few, "two": few}, {})
    whole, one = (
        next(e for e in found.effects if (e.on, e.after, e.before) == (on, "A", "none-0"))
        for on in (ALL, "one")
    )
    assert (one.last.pairing.verdict, whole.last.pairing.verdict) == ("no difference shown", "better")
    assert (one.last.pairing.tested, whole.last.pairing.tested) == (59, 118)
    assert whole.last.pairing.gained[0] == "one: t10"
    assert found.recommendation.arm == "A"
    assert "2 left out because of errors" in said(whole)


def test_causes_are_named_where_no_head_helps() -> None:
    measured: dict[str, dict[str, Any]] = {
        "A": {"verdict": "undecided", "test_groups": 9, "test_theorems": 4},
        "B": {"verdict": "no better"},
        "C": {"verdict": "better"},
        "joint": {"stopped": "collapse", "best_step": 500, "first_probe": 0.83, "best_probe": 0.6},
    }
    causes = " ".join(table(measured).recommendation.causes)
    for cause in (
        "collapse",
        "step 500",
        "drift",
        "83%",
        "9 groups of 4",
        "head of B ranks",
        "nothing",
    ):
        assert cause in causes
    assert "head of C ranks" not in causes
    assert not table(measured, A=40).recommendation.causes


@pytest.mark.parametrize("counts", [(0, 0, 0), (0, 0, 50), (50, 0, 50), (0, 50, 50), (3, 9, 40)])
def test_an_interval_is_never_certain(counts: tuple[int, int, int]) -> None:
    gained, lost, tested = counts
    low, high = paired_interval(gained, lost, tested)
    assert -1 <= low < (gained - lost) / max(tested, 1) < high <= 1 or abs(gained - lost) == tested
    assert (low, high) == tuple(-end for end in reversed(paired_interval(lost, gained, tested)))
    assert high - low > 0.02
