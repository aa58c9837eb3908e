"""Two scales made one, and a verdict that has to be earned."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from burnqed.core.errors import CorruptError, InputError
from burnqed.value.calibration import (
    CALIBRATION,
    FEWEST_THEOREMS,
    Calibration,
    Exam,
    Scored,
    ScoredSiblings,
    calibrate,
    read_calibration,
    verdict_of,
    write_calibration,
)


def groups(
    count: int, energy: float, logprob: float, per_theorem: int = 2, scale: float = 1.0
) -> list[ScoredSiblings]:
    """Siblings of which the positive is ahead by so much of the noise, by either account."""
    chance = random.Random(1)

    def state(ahead: float) -> Scored:
        return Scored(
            scale * (chance.gauss(0, 1) - ahead * energy), chance.gauss(0, 1) - 5 + ahead * logprob
        )

    return [
        ScoredSiblings(f"t{i // per_theorem}", 1, state(1), tuple(state(0) for _ in range(4)))
        for i in range(count)
    ]


def one_head(
    tuning: Sequence[ScoredSiblings], judging: Sequence[ScoredSiblings], *policies: str
) -> Calibration:
    return calibrate(tuning, [Exam(tuning, judging)], policies)


def both(found: Sequence[ScoredSiblings]) -> Calibration:
    return one_head(found, found)


def test_an_energy_that_knows_more_is_better() -> None:
    found = both(groups(300, energy=2.0, logprob=0.5))
    assert found.verdict == "better"
    assert 0 < found.low < found.difference < found.high
    assert found.difference == found.rank1_energy - found.rank1_logprob
    assert found.chance == pytest.approx(0.2)
    assert (found.groups, found.theorems) == (300, 150)
    assert found.beta > found.alpha


@pytest.mark.parametrize(
    ("energy", "verdict"), [(0.5, "undecided"), (-0.5, "no better"), (-1.0, "no better")]
)
def test_one_that_knows_no_more_is_not(energy: float, verdict: str) -> None:
    found = both(groups(300, energy, logprob=0.5))
    assert found.verdict == verdict
    assert found.low <= 0


@pytest.mark.parametrize(
    ("low", "high", "theorems", "verdict"),
    [
        (0.01, 0.2, 10, "better"),
        (-0.2, -0.01, 10, "no better"),
        (-0.2, 0.0, 10, "no better"),
        (0.0, 0.0, 10, "no better"),
        (0.0, 0.2, 10, "undecided"),
        (-0.1, 0.1, 1000, "undecided"),
        (0.5, 0.667, 9, "undecided"),
        (-0.9, -0.8, 9, "undecided"),
    ],
)
def test_the_words_never_contradict_the_interval(
    low: float, high: float, theorems: int, verdict: str
) -> None:
    assert verdict_of(low, high, theorems) == verdict


def test_what_an_older_file_calls_no_better_is_undecided(tmp_path: Path) -> None:
    few = both(groups(8, energy=9.0, logprob=-3.0))
    assert few.low > 0
    write_calibration(tmp_path, replace(few, verdict="no better"))
    assert read_calibration(tmp_path) == few
    assert few.verdict == "undecided"


def test_a_few_theorems_prove_nothing() -> None:
    """Hundreds of groups of two theorems are two pieces of evidence."""
    lucky = groups(150, energy=2.0, logprob=0.5, per_theorem=200)
    unlucky = groups(100, energy=-2.0, logprob=0.5, per_theorem=200)
    mixed = [*lucky, *(ScoredSiblings("u", g.depth, g.positive, g.negatives) for g in unlucky)]
    assert both(mixed).verdict == "undecided"
    apart = [ScoredSiblings(f"{i}", g.depth, g.positive, g.negatives) for i, g in enumerate(mixed)]
    assert both(apart).low > both(mixed).low
    few = both(groups(2 * FEWEST_THEOREMS - 2, energy=9.0, logprob=-3.0))
    assert few.low > 0
    assert few.verdict == "undecided"
    assert "too few" in few.told
    assert both(groups(2 * FEWEST_THEOREMS, energy=9.0, logprob=-3.0)).verdict == "better"


def test_of_equally_good_weights_the_middle_one_is_taken() -> None:
    """At the edge the energy is right about siblings by a hair, and wrong about anything further."""
    likely, unlikely = Scored(1.0, 0.0), Scored(0.0, -1.0)
    found = both([ScoredSiblings(f"t{n}", 1, unlikely, (likely,)) for n in range(20)])
    assert found.scale == pytest.approx(1.0)
    assert found.alpha == 0.25, "of all below a half, where the two are even"


def test_the_verdict_is_not_that_of_the_theorems_it_was_tuned_on() -> None:
    good, bad = groups(100, energy=2.0, logprob=0.5), groups(100, energy=-2.0, logprob=0.5)
    found = one_head(good, bad)
    assert (found.verdict, found.scale) == ("no better", both(good).scale)
    assert found.alpha == both(good).alpha
    assert one_head(bad, good).rank1_energy == both(good).rank1_energy


def test_log_probabilities_that_are_all_alike_leave_energies_their_say() -> None:
    """A server that gives none: whatever the energy says must not come to nothing."""
    alike = [
        ScoredSiblings(
            g.theorem, 1, Scored(g.positive.energy, -1.0),
            tuple(Scored(n.energy, -1.0) for n in g.negatives),
        )
        for g in groups(60, energy=2.0, logprob=0.0)
    ]  # fmt: skip
    found = both(alike)
    assert found.scale > 0
    assert found.rank1_both == found.rank1_energy > found.rank1_logprob


def test_both_together_know_more_than_either() -> None:
    found = both(groups(500, energy=1.0, logprob=1.0))
    assert found.rank1_both > max(found.rank1_energy, found.rank1_logprob) + 0.05
    assert 0.2 < found.alpha < 0.8
    assert found.alpha + found.beta == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_raw_scale_of_energies_does_not_matter(scale: float) -> None:
    """Mixed raw, a head with large energies drowned log-probabilities, and a small one was drowned."""
    reference = both(groups(300, 1.0, 1.0))
    found = both(groups(300, 1.0, 1.0, scale=scale))
    assert (found.alpha, found.verdict) == (reference.alpha, reference.verdict)
    assert found.rank1_both == reference.rank1_both
    assert found.scaled(1.3 * scale) == pytest.approx(reference.scaled(1.3), abs=1e-3)


def test_energies_that_are_all_alike_say_nothing() -> None:
    def flat(state: Scored) -> Scored:
        return Scored(1.0, state.logprob)

    found = both(
        [
            ScoredSiblings(g.theorem, 1, flat(g.positive), tuple(map(flat, g.negatives)))
            for g in groups(50, 0.0, 1.0)
        ]
    )
    assert found.verdict == "no better"
    assert found.rank1_energy == pytest.approx(found.chance)
    assert found.scaled(1.0) == 0.0


def test_heads_that_judge_together_need_no_common_scale() -> None:
    """Each was trained apart: what one calls low may be high for another."""
    found = groups(300, 1.0, 1.0)
    parts = [found[:100], found[100:200], found[200:]]
    heads = calibrate(found, [Exam(part, part) for part in parts])
    apart = [
        [scaled(group, 10.0**place, 50.0 * place) for group in part] for place, part in enumerate(parts)
    ]
    assert calibrate(found, [Exam(part, part) for part in apart]) == heads
    assert (heads.heads, heads.groups, heads.theorems) == (3, 300, 150)
    whole = both(found)
    assert (heads.difference, heads.low, heads.high) == (whole.difference, whole.low, whole.high)
    assert "3 heads judged" in heads.told
    assert "heads" not in whole.told


def scaled(group: ScoredSiblings, scale: float, shift: float) -> ScoredSiblings:
    def of(state: Scored) -> Scored:
        return Scored(state.energy * scale + shift, state.logprob)

    return replace(group, positive=of(group.positive), negatives=tuple(map(of, group.negatives)))


def test_theorems_are_counted_not_groups() -> None:
    right, wrong = Scored(0.0, -1.0), Scored(1.0, -1.0)
    said = {"both": (right, wrong), "neither": (wrong, right)}
    likely, unlikely = Scored(0.0, -0.5), Scored(0.0, -5.0)

    def one(theorem: str, energy: str, policy: tuple[Scored, Scored]) -> ScoredSiblings:
        mine = zip(said[energy], policy, strict=True)
        positive, negative = (Scored(e.energy, p.logprob) for e, p in mine)
        return ScoredSiblings(theorem, 1, positive, (negative,))

    knows, errs = (likely, unlikely), (unlikely, likely)
    found = both([
        *[one("gained", "both", errs)] * 5, one("gained", "neither", knows),
        one("lost", "neither", knows),
        one("even", "both", errs), one("even", "neither", knows),
        one("alike", "both", knows),
    ])  # fmt: skip
    assert (found.gained, found.lost) == (1, 1)
    assert "; of 4 theorems 1 gained, 1 lost, p = 1;" in found.told


def test_it_is_kept_beside_the_head(tmp_path: Path) -> None:
    found = one_head(groups(40, 1.0, 1.0), groups(40, 1.0, 1.0), "portfolio")
    write_calibration(tmp_path, found)
    assert read_calibration(tmp_path) == found
    whole = json.loads((tmp_path / CALIBRATION).read_text())
    older = {key: value for key, value in whole.items() if key not in ("heads", "gained", "lost")}
    (tmp_path / CALIBRATION).write_text(json.dumps(older))
    assert read_calibration(tmp_path) == replace(found, gained=None, lost=None)
    assert "gained" not in read_calibration(tmp_path).told
    # A scale that is no number would lose every state of a search, as if there were nothing to try.
    wrong: list[dict[str, object]] = [
        {"verdict": "yes"},
        {"scale": float("nan")},
        {"mean": None},
        {"alpha": "0.5"},
    ]
    for content in ({"verdict": "better"}, *({**whole, **one} for one in wrong)):
        (tmp_path / CALIBRATION).write_text(json.dumps(content))
        with pytest.raises(CorruptError, match="cannot read"):
            read_calibration(tmp_path)
    (tmp_path / CALIBRATION).unlink()
    with pytest.raises(InputError, match="not finished"):
        read_calibration(tmp_path)


def test_nothing_is_calibrated_with_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        calibrate([], [])
