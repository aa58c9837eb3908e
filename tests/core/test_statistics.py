"""McNemar's test against what it is defined as, counted out toss by toss."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.core.statistics import mcnemar


def test_mcnemar_as_published() -> None:
    assert mcnemar(10, 2) == pytest.approx(0.0386, abs=5e-5)
    assert mcnemar(5, 2) == pytest.approx(0.4531, abs=5e-5)
    assert mcnemar(0, 5) == 0.0625
    assert mcnemar(6, 0) == 0.03125
    assert mcnemar(0, 0) == mcnemar(1, 0) == mcnemar(7, 7) == 1.0
    assert 0 < mcnemar(1000, 400) < 1e-50, "counts that a float cannot hold the tosses of"


@pytest.mark.parametrize("tosses", range(1, 11))
def test_mcnemar_is_the_share_of_tosses_that_are_as_uneven(tosses: int) -> None:
    heads = [sum(all_of_them) for all_of_them in product((0, 1), repeat=tosses)]
    for gained in range(tosses + 1):
        uneven = abs(2 * gained - tosses)
        as_uneven = sum(abs(2 * count - tosses) >= uneven for count in heads)
        assert mcnemar(gained, tosses - gained) == pytest.approx(as_uneven / 2**tosses)


@settings(deadline=None)
@given(st.integers(0, 200), st.integers(0, 200))
def test_mcnemar_of_any_counts(gained: int, lost: int) -> None:
    p = mcnemar(gained, lost)
    assert 0 <= p <= 1
    assert p == mcnemar(lost, gained)
    if gained >= lost:
        assert mcnemar(gained + 1, lost) <= p


def test_mcnemar_of_no_counts() -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        mcnemar(-1, 3)
