"""Figures of embeddings, on places that were planted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from burnqed.value.geometry import (
    DEEPEST,
    Geometry,
    distances,
    effective_rank,
    explained,
    geometry,
    variance_spectrum,
)
from burnqed.value.sample import Sample

WIDTH = 12


def planted(theorems: int = 60, siblings: int = 2, deepest: int = 3) -> Sample:
    """At each depth of each theorem a state on the path, and siblings of it."""
    labels: list[bool] = []
    names: list[str] = []
    depths: list[int] = []
    pairs: list[tuple[int, int]] = []
    for theorem in range(theorems):
        for depth in range(1, deepest + 1):
            positive = len(labels)
            pairs += [(positive, positive + n) for n in range(1, siblings + 1)]
            labels += [True] + [False] * siblings
            names += [f"t{theorem}"] * (siblings + 1)
            depths += [depth] * (siblings + 1)
    texts = tuple(f"⊢ {i}" for i in range(len(labels)))
    return Sample(texts, tuple(labels), tuple(names), tuple(depths), tuple(pairs), both=7)


def noise(states: Sample, width: int = WIDTH) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((len(states), width)).astype(np.float32)


def seen(rows: NDArray[np.float32], states: Sample) -> Geometry:
    return geometry(rows, states, variance_spectrum(rows), distances(rows, states))


def test_noise_is_noise() -> None:
    states = planted()
    found = seen(noise(states), states)
    assert (found.states, found.theorems, found.both_labels) == (540, 60, 7)
    assert (found.positives, found.negatives) == (180, 360)
    assert found.probe == pytest.approx(0.5, abs=0.08)
    assert found.sibling_l2 == pytest.approx(math.sqrt(2 * WIDTH), rel=0.05)
    assert found.stranger_l2 == pytest.approx(found.sibling_l2, rel=0.05)
    assert found.norm_gap == pytest.approx(0.0, abs=0.2)
    assert found.effective_rank == pytest.approx(WIDTH, rel=0.05)
    assert found.directions_90 in (10, 11)
    assert found.same_as_sibling == 0
    for share in (found.explained.label, found.explained.depth, found.explained.theorem):
        assert share == pytest.approx(0.0, abs=0.03), "corrected for the number of groups"


def test_what_was_planted_is_found() -> None:
    states = planted()
    rows = noise(states)
    rows[np.array(states.on_path), 0] += 6.0
    found = seen(rows, states)
    assert found.centroid_l2 == pytest.approx(6.0, abs=0.3)
    assert found.probe is not None
    assert found.probe > 0.98
    assert found.norm_gap == found.norm_positive - found.norm_negative
    assert found.norm_gap > 2
    assert found.sibling_l2 > 1.4 * math.sqrt(2 * WIDTH) * 0.9
    assert found.explained.label is not None
    # A variance of 36 · 2/9 along one of twelve directions of variance 1.
    assert found.explained.label == pytest.approx(8 / 20, abs=0.04)
    assert found.first_direction > 0.4


def test_a_theorem_that_decides_the_place_is_told_from_a_label_that_does() -> None:
    states = planted()
    place = {name: noise(states)[i] * 20 for i, name in enumerate(states.theorems)}
    rows = noise(states) + np.stack([place[name] for name in states.theorems])
    found = seen(rows.astype(np.float32), states)
    assert found.explained.theorem is not None
    assert found.explained.theorem > 0.95
    assert found.explained.label == pytest.approx(0.0, abs=0.03)
    assert found.stranger_l2 is not None
    assert found.sibling_l2 < 0.2 * found.stranger_l2


def test_depths_have_figures_of_their_own() -> None:
    states = planted(deepest=DEEPEST + 2)
    rows = noise(states)
    depths = np.array(states.depths)
    positive = np.array(states.on_path)
    rows[(depths == 2) & positive, 1] += 9.0
    rows[depths == 5, 2] += 30.0
    found = {one.depth: one for one in seen(rows, states).by_depth}
    assert [*found] == list(range(1, DEEPEST + 1))
    assert found[DEEPEST].positives == 3 * found[1].positives == 180
    assert found[2].centroid_l2 == pytest.approx(9.0, abs=0.6)
    assert found[1].centroid_l2 is not None
    assert found[1].centroid_l2 < 1.2
    assert found[2].sibling_l2 is not None
    assert found[1].sibling_l2 is not None
    assert found[2].sibling_l2 > found[1].sibling_l2 + 3
    assert found[5].apart == pytest.approx(30.0, abs=1)
    assert found[1].spread == pytest.approx(math.sqrt(WIDTH), rel=0.1)


def test_siblings_in_one_place_are_counted() -> None:
    states = planted(siblings=1)
    rows = noise(states)
    for positive, sibling in states.pairs[::4]:
        rows[sibling] = rows[positive]
    assert seen(rows, states).same_as_sibling == pytest.approx(0.25)


@pytest.mark.parametrize("width", [4, 300], ids=["fewer dimensions than states", "more"])
def test_the_spectrum_is_that_of_the_covariance(width: int) -> None:
    rows = noise(planted(10), width) * np.linspace(1, 5, width, dtype=np.float32) + 3
    spectrum = variance_spectrum(rows.astype(np.float32))
    known = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    common = min(len(spectrum), len(known))
    assert spectrum[:common] == pytest.approx(known[:common] / known.sum(), abs=1e-6)
    assert spectrum.sum() == pytest.approx(1)


def test_effective_rank_counts_equal_directions() -> None:
    assert effective_rank(np.array([1.0, 0.0, 0.0])) == pytest.approx(1)
    assert effective_rank(np.full(5, 0.2)) == pytest.approx(5)
    assert effective_rank(np.zeros(3)) == 0


def test_where_there_is_nothing_to_compare_there_is_no_figure() -> None:
    states = planted(theorems=1, deepest=1)
    found = seen(noise(states), states)
    assert (found.stranger_l2, found.probe, found.explained.theorem) == (None, None, None)
    assert found.by_depth[0].apart is None
    rows = np.ones((3, 4))
    assert explained(rows, "abb") is None
    flat = seen(np.ones((len(states), 4), dtype=np.float32), states)
    assert (flat.effective_rank, flat.directions_90, flat.centroid_l2) == (0, 0, 0)
