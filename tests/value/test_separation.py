"""How far apart two kinds of states are: known distances, and a probe that learns none by heart."""

from __future__ import annotations

import numpy as np
import pytest

from burnqed.value.separation import separation

WIDTH = 16


def states(
    count: int, apart: float, *, by_theorem: bool = False, width: int = WIDTH
) -> tuple[np.ndarray, list[bool], list[str]]:
    """Noise, moved along one direction for positives; or a place of its own for each theorem."""
    noise = np.random.default_rng(0)
    rows = noise.standard_normal((count, width)).astype(np.float32)
    on_path = [i % 2 == 0 for i in range(count)]
    theorems = [f"t{i // 4}" for i in range(count)]
    rows[::2, 0] += apart
    if by_theorem:  # each theorem says its label in a direction that no other has
        on_path = [i // 4 % 2 == 0 for i in range(count)]
        for i in range(count):
            rows[i] = 0.01 * rows[i]
            rows[i, i // 4 % width] += 5.0
    return rows, on_path, theorems


def test_the_distance_of_the_means_is_what_was_planted() -> None:
    rows, on_path, theorems = states(4000, 3.0)
    found = separation(rows, on_path, theorems)
    assert (found.positives, found.negatives) == (2000, 2000)
    assert found.centroid_l2 == pytest.approx(3.0, abs=0.3)
    moved = separation(10 * rows + 7, on_path, theorems)
    assert moved.centroid_l2 == pytest.approx(10 * found.centroid_l2, rel=1e-4)
    assert moved.probe == found.probe, "the probe has no scale"


@pytest.mark.parametrize(
    ("apart", "low", "high"), [(0.0, 0.45, 0.55), (3.0, 0.9, 0.96), (9.0, 0.99, 1)]
)
def test_the_probe_divides_what_a_line_can(apart: float, low: float, high: float) -> None:
    """Half of the distance is 1.5 deviations: the best line is right in 93%."""
    found = separation(*states(2000, apart))
    assert found.probe is not None
    assert low <= found.probe <= high


def test_labels_of_single_theorems_teach_the_probe_nothing_of_others() -> None:
    found = separation(*states(64, 0.0, by_theorem=True))
    assert found.probe is not None
    assert found.probe < 0.75, "by heart it would be 1"


def test_more_dimensions_than_states_are_no_trouble() -> None:
    found = separation(*states(400, 12.0, width=800))
    assert found.probe is not None
    assert found.probe > 0.7, "the more states the better; chance is 0.5"


def test_kinds_of_very_different_sizes_weigh_the_same() -> None:
    rows, on_path, theorems = states(2000, 0.0)
    few = [positive and i % 40 == 0 for i, positive in enumerate(on_path)]
    found = separation(rows, few, theorems)
    assert found.probe is not None
    assert abs(found.probe - 0.5) < 0.1, "saying `negative` always is not a success"


def test_too_few_theorems_say_nothing() -> None:
    rows, on_path, _ = states(20, 5.0)
    assert separation(rows, on_path, ["t"] * 20).probe is None
    with pytest.raises(ValueError, match="both kinds"):
        separation(rows, [True] * 20, ["t"] * 20)


def test_a_dimension_that_never_changes_is_no_trouble() -> None:
    rows, on_path, theorems = states(400, 9.0)
    rows[:, 5] = 3.0
    found = separation(rows, on_path, theorems)
    assert found.probe is not None
    assert found.probe > 0.98
