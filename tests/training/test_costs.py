"""What tactics cost, learnt from the times of runs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from burnqed.data.index import parse_index
from burnqed.policy.ranked.shapes import shape_row
from burnqed.training.costs import learn_costs
from tests.training.lessons import Tried, run

TRIED: Tried = {"simp [a]": "rejected", "grind": "timeout", "rfl": "lost"}
MANY: dict[str, tuple[str, Tried]] = {f"t{i}": ("⊢ 1 = 1", TRIED) for i in range(300)}
SECONDS = {"simp [a]": 0.1, "grind": 0.9}


def never(text: str) -> None:
    pytest.fail(text)


def test_the_mean_of_a_shape_as_a_multiple_of_the_average(tmp_path: Path) -> None:
    """Also of theorems that were not proved; tactics that are alike but for names share it."""
    found = learn_costs([run(tmp_path, MANY, seconds=SECONDS)], (), never)
    assert (found.tactics, round(found.seconds)) == (600, 300)
    cost = {tactic: found.table[shape_row(tactic)] for tactic in ("simp [b]", "grind", "rfl")}
    assert cost["simp [b]"] == pytest.approx(math.log(0.2), abs=0.05)
    assert cost["grind"] == pytest.approx(math.log(1.8), abs=0.05)
    assert cost["rfl"] == 0.0, "nothing is known"


def test_what_was_seldom_tried_is_little_known(tmp_path: Path) -> None:
    few = {"t": ("⊢ 1 = 1", TRIED)}
    found = learn_costs([run(tmp_path, few, seconds=SECONDS)], (), never)
    assert 0 < found.table[shape_row("grind")] < math.log(1.8) / 3


def test_nothing_is_learnt_of_what_is_held_out(tmp_path: Path) -> None:
    both: dict[str, tuple[str, Tried]] = {**MANY, "held": ("⊢ 1 = 2", {"omega": "closed"})}
    entries = [{"name": "held", "statement": "1 = 2", "file_path": "F"}]
    index = parse_index("held", "held", {"theorems": entries})
    made = run(tmp_path, both, seconds={**SECONDS, "omega": 90.0})
    assert learn_costs([made], (), never).tactics == 601
    found = learn_costs([made], (index,), never)
    assert found.tactics == 600
    assert found.table[shape_row("omega")] == 0.0


def test_without_times_nothing_is_known(tmp_path: Path) -> None:
    found = learn_costs([run(tmp_path, MANY)], (), never)
    assert found.tactics == 0
    assert not found.table.any()
