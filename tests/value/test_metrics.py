"""Metrics against counting, and against what chance gives."""

from __future__ import annotations

import random

import pytest

from burnqed.value.metrics import Group, by_depth, metrics


def test_figures_of_groups_that_can_be_counted() -> None:
    found = metrics([Group(0.0, (1.0, 3.0), 0), Group(2.0, (1.0, 2.5), 1)])
    assert found.groups == 2
    assert found.energy_gap == pytest.approx((2.0 + -0.25) / 2)
    assert found.rank1 == 0.5
    assert found.chance == pytest.approx(1 / 3)
    assert found.discrimination == 0.75
    assert found.active == 0.5


def test_an_energy_that_says_nothing_gets_what_chance_gets() -> None:
    """A constant must not look like a perfect or a useless one (closed states were once scored 0)."""
    found = metrics([Group(0.0, (0.0,) * k, k) for k in range(1, 8)])
    assert found.rank1 == pytest.approx(found.chance)
    assert found.discrimination == 0.5
    assert found.energy_gap == 0


def test_noise_gets_what_chance_gets() -> None:
    chance = random.Random(0)
    groups = [Group(chance.random(), tuple(chance.random() for _ in range(3)), 2) for _ in range(4000)]
    found = metrics(groups)
    assert found.rank1 == pytest.approx(0.25, abs=0.03)
    assert found.discrimination == pytest.approx(0.5, abs=0.03)


def test_depths_are_told_apart_and_the_deep_are_one() -> None:
    found = by_depth([Group(0.0, (1.0,), depth) for depth in (0, 1, 1, 4, 9)])
    assert {depth: m.groups for depth, m in found.items()} == {0: 1, 1: 2, 4: 2}


def test_a_state_without_siblings_is_no_group() -> None:
    with pytest.raises(ValueError, match="needs siblings"):
        Group(0.0, (), 1)
