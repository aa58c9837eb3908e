"""The script that makes the README's picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.lean
def test_a_real_search_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "tree.svg"
    statement = "∀ n : Nat, n % 2 = 0 → n * n % 4 = 0"
    command = [sys.executable, str(ROOT / "bench" / "tree.py"), "--statement", statement]
    done = subprocess.run(
        [*command, "--out", str(picture)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    drawn = picture.read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert f"{statement}: proved." in drawn
