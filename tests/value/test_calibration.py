"""Two scales made one, and a verdict that has to be earned."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from burnqed.core.errors import CorruptError, InputError
from burnqed.value.calibration import (
    CALIBRATION,
    Calibration,
    Rivals,
    Scored,
    calibrate,
    read_calibration,
    write_calibration,
)


def groups(
    count: int, energy: float, logprob: float, per_theorem: int = 2, scale: float = 1.0
) -> list[Rivals]:
    """Siblings of which the positive is ahead by so much of the noise, by either account."""
    chance = random.Random(1)

    def state(ahead: float) -> Scored:
        return Scored(
            scale * (chance.gauss(0, 1) - ahead * energy), chance.gauss(0, 1) - 5 + ahead * logprob
        )

    return [
        Rivals(f"t{i // per_theorem}", 1, state(1), tuple(state(0) for _ in range(4)))
        for i in range(count)
    ]


def test_an_energy_that_knows_more_is_better() -> None:
    found = calibrate(groups(300, energy=2.0, logprob=0.5))
    assert found.verdict == "better"
    assert 0 < found.low < found.difference < found.high
    assert found.difference == found.rank1_energy - found.rank1_logprob
    assert found.chance == pytest.approx(0.2)
    assert (found.groups, found.theorems) == (300, 150)
    assert found.beta > found.alpha


@pytest.mark.parametrize("energy", [0.5, 0.0, -1.0])
def test_one_that_knows_no_more_is_not(energy: float) -> None:
    found = calibrate(groups(300, energy, logprob=0.5))
    assert found.verdict == "no better"
    assert found.low <= 0


def test_a_few_theorems_prove_nothing() -> None:
    """Hundreds of groups of two theorems are two pieces of evidence."""
    lucky = groups(150, energy=2.0, logprob=0.5, per_theorem=200)
    unlucky = groups(100, energy=-2.0, logprob=0.5, per_theorem=200)
    both = [*lucky, *(Rivals("u", g.depth, g.positive, g.negatives) for g in unlucky)]
    assert calibrate(both).verdict == "no better"
    apart = [Rivals(f"{i}", g.depth, g.positive, g.negatives) for i, g in enumerate(both)]
    assert calibrate(apart).low > calibrate(both).low


def test_both_together_know_more_than_either() -> None:
    found = calibrate(groups(500, energy=1.0, logprob=1.0))
    assert found.rank1_both > max(found.rank1_energy, found.rank1_logprob) + 0.05
    assert 0.2 < found.alpha < 0.8
    assert found.alpha + found.beta == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_raw_scale_of_energies_does_not_matter(scale: float) -> None:
    """Mixed raw, a head with large energies drowned log-probabilities, and a small one was drowned."""
    reference = calibrate(groups(300, 1.0, 1.0))
    found = calibrate(groups(300, 1.0, 1.0, scale=scale))
    assert (found.alpha, found.verdict) == (reference.alpha, reference.verdict)
    assert found.rank1_both == reference.rank1_both
    assert found.scaled(1.3 * scale) == pytest.approx(reference.scaled(1.3), abs=1e-3)


def test_energies_that_are_all_alike_say_nothing() -> None:
    def flat(state: Scored) -> Scored:
        return Scored(1.0, state.logprob)

    found = calibrate(
        [
            Rivals(g.theorem, 1, flat(g.positive), tuple(map(flat, g.negatives)))
            for g in groups(50, 0.0, 1.0)
        ]
    )
    assert found.verdict == "no better"
    assert found.rank1_energy == pytest.approx(found.chance)
    assert found.scaled(1.0) == 0.0


def test_it_is_kept_beside_the_head(tmp_path: Path) -> None:
    found = calibrate(groups(40, 1.0, 1.0))
    write_calibration(tmp_path, found)
    assert read_calibration(tmp_path) == found
    assert isinstance(found, Calibration)
    (tmp_path / CALIBRATION).write_text('{"verdict": "better"}')
    with pytest.raises(CorruptError, match="cannot read"):
        read_calibration(tmp_path)
    (tmp_path / CALIBRATION).unlink()
    with pytest.raises(InputError, match=r"no calibration\.json"):
        read_calibration(tmp_path)


def test_nothing_is_calibrated_with_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        calibrate([])
