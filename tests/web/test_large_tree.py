"""A tree of 5,000 states stays smooth: what `bench/web.py` measures, within bounds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "web.py"
LONGEST_MS = 200  # of a task
PAINTED_MS = 5000  # from the address to the painted tree, on a busy machine with two cores


@pytest.mark.soak
@pytest.mark.usefixtures("chromium")
def test_five_thousand_states_are_smooth() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH), "--json"], capture_output=True, text=True, timeout=280, check=True
    )
    figures = json.loads(done.stdout)["milliseconds"]
    painted = figures.pop("from the address to the painted tree")
    assert painted < PAINTED_MS
    assert len(figures) == 8
    assert {what: took for what, took in figures.items() if took > LONGEST_MS} == {}
