"""Drift between two encoders: none, a rotation, a little, and everything."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from burnqed.value.drift import drift, moved_each


def rows(seed: int, width: int = 16, count: int = 300) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32) + 1


def test_nothing_moved() -> None:
    found = drift(rows(0), rows(0))
    assert [found.cosine, found.cosine_low, found.cka] == pytest.approx([1, 1, 1])
    assert (found.moved, found.neighbours) == (0, 1)


@pytest.mark.parametrize("count", [8, 300], ids=["fewer states than dimensions", "more"])
def test_a_rotation_moves_states_and_keeps_who_is_near(count: int) -> None:
    turn, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((16, 16)))
    before = rows(0, count=count)
    found = drift(before, (3 * before @ turn).astype(np.float32))
    assert found.cosine is not None
    assert found.cosine < 0.8
    assert found.moved is not None
    assert found.moved > 1
    assert found.cka == pytest.approx(1, abs=1e-5)
    assert found.neighbours == 1


def test_the_more_noise_the_more_drift() -> None:
    before = rows(0)
    found = [drift(before, before + share * (rows(1) - 1)) for share in (0.1, 0.5, 2.0)]
    for figure in ("cosine", "cka", "neighbours"):
        values = [getattr(one, figure) for one in found]
        assert values == sorted(values, reverse=True)
        assert values[0] > values[2] + 0.2
    assert [one.moved for one in found] == sorted(one.moved or 0 for one in found)


def test_other_widths_are_compared_by_who_is_near() -> None:
    found = drift(rows(0), rows(1, width=40))
    assert (found.cosine, found.cosine_low, found.moved) == (None, None, None)
    assert found.cka < 0.4
    assert found.neighbours < 0.15


def test_other_states_are_refused() -> None:
    with pytest.raises(ValueError, match="same states"):
        drift(rows(0), rows(0, count=9))


def test_each_state_says_what_became_of_it() -> None:
    before = rows(0, count=1200)  # more than are compared at once
    after = before.copy()
    after[7] = -after[7]
    found = moved_each(before, after)
    assert found.cosine is not None
    assert found.cosine[7] == pytest.approx(-1)
    assert found.neighbours[7] < 0.5
    others = np.delete(np.arange(1200), 7)
    assert found.cosine[others] == pytest.approx(1)
    assert found.neighbours[others].min() >= 0.8, "at most, number 7 is missing and another came"
    assert moved_each(before, rows(1, width=40, count=1200)).cosine is None
