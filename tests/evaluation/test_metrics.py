"""The statistics against what they are defined as, counted out one by one."""

from __future__ import annotations

import math
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.evaluation.metrics import pass_at, wilson

rates = st.integers(1, 5000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@pytest.mark.parametrize(
    ("solved", "total", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
        (81, 263, 0.2553, 0.3662),  # the example in Newcombe (1998), method 3
        (0, 0, 0.0, 1.0),  # nothing is known
    ],
)
def test_wilson_as_published(solved: int, total: int, low: float, high: float) -> None:
    assert wilson(solved, total) == pytest.approx((low, high), abs=5e-5)


@given(rates)
def test_wilson_ends_are_the_rates_that_could_just_be_true(given: tuple[int, int]) -> None:
    """Seen from an end of the interval, what was found is 1.96 standard errors away."""
    solved, total = given
    found = solved / total
    for end in wilson(solved, total):
        if 0 < end < 1:
            distance = abs(found - end) / math.sqrt(end * (1 - end) / total)
            assert distance == pytest.approx(1.959964, rel=1e-4)


@given(rates)
def test_wilson_holds_the_rate_and_is_symmetric(given: tuple[int, int]) -> None:
    solved, total = given
    low, high = wilson(solved, total)
    assert 0 <= low <= solved / total <= high <= 1
    assert wilson(total - solved, total) == pytest.approx((1 - high, 1 - low))


@given(rates)
def test_wilson_moves_with_the_rate_and_narrows_with_the_total(given: tuple[int, int]) -> None:
    solved, total = given
    low, high = wilson(solved, total)
    if solved < total:
        more = wilson(solved + 1, total)
        assert low < more[0]
        assert high < more[1] or more[1] == 1
    ten_times = wilson(10 * solved, 10 * total)
    assert ten_times[1] - ten_times[0] < high - low
    surer = wilson(solved, total, 0.99)
    assert surer[0] <= low
    assert surer[1] >= high


@pytest.mark.parametrize(("solved", "total"), [(-1, 5), (6, 5), (1, 0)])
def test_no_rate(solved: int, total: int) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        wilson(solved, total)


@pytest.mark.parametrize("attempts", range(1, 8))
def test_pass_at_is_the_share_of_draws_with_a_success(attempts: int) -> None:
    for successes, k in product(range(attempts + 1), range(1, attempts + 1)):
        draws = list(combinations(range(attempts), k))
        lucky = sum(any(drawn < successes for drawn in draw) for draw in draws)
        assert pass_at(k, attempts, successes) == pytest.approx(lucky / len(draws))


def test_pass_at_in_general() -> None:
    assert pass_at(1, 8, 3) == pytest.approx(3 / 8)
    assert pass_at(8, 8, 1) == 1.0
    # The product form of Chen et al. (2021).
    assert pass_at(10, 200, 5) == pytest.approx(1 - math.prod(1 - 10 / i for i in range(196, 201)))


@pytest.mark.parametrize(("k", "attempts", "successes"), [(0, 4, 1), (5, 4, 1), (1, 4, 5), (1, 4, -1)])
def test_pass_at_of_what_cannot_be(k: int, attempts: int, successes: int) -> None:
    with pytest.raises(ValueError, match="pass@"):
        pass_at(k, attempts, successes)
