"""The loop with a ranker, as `--config from-nothing` has it, but small; killed while it learns."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnqed.iteration.directory import read_done, read_spent
from burnqed.lean.process import LaunchSpec
from tests.cli.in_process import burn_qed
from tests.cli.trainings import ENVIRONMENT

pytestmark = [pytest.mark.lean, pytest.mark.timeout(1400)]

PATIENCE = 600.0
CONFIG = """
[theorems]
set = "mine.json"
split = ""
[teacher]
nodes = [1]
candidates = 4
[policy]
base = "ranker"
[search]
policy = "ranked"
nodes = [1]
sample = 2
candidates = 4
noise_nodes = 0
[eval]
sets = ["held.json"]
budgets = [1, 2]
candidates = 4
"""
EASY = [f"∀ a b : Nat, a + {i} < b → a < b + {i}" for i in range(22)]
HARD = ["∀ n : Nat, n * n = n + n", "∀ p q : Prop, p → q"]
HELD = ["∀ a b : Nat, a + 50 < b → a < b", "∀ n m : Nat, n = m"]


def command(run: Path, config: Path) -> list[str]:
    asked = ("run", "--config", str(config), "--iterations", "1", "--out", str(run))
    return [sys.executable, "-P", "-m", "burnqed", *asked]


def test_it_learns_from_what_it_proved_and_proves_with_that(
    tmp_path: Path, lean_launch: LaunchSpec
) -> None:
    for name, texts in (("mine", [*EASY, *HARD]), ("held", HELD)):
        entries = [{"name": f"{name}_{i}", "statement": text} for i, text in enumerate(texts)]
        (tmp_path / f"{name}.json").write_text(json.dumps({"theorems": entries}))
    (tmp_path / "mine.toml").write_text(CONFIG)
    run, end = tmp_path / "run", time.monotonic() + PATIENCE
    with subprocess.Popen(command(run, tmp_path / "mine.toml"), env=ENVIRONMENT) as process:
        while (0, "policy") not in read_spent(run):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(1.0)
        process.kill()
    assert (0, "policy") not in read_done(run)
    subprocess.run(command(run, tmp_path / "mine.toml"), env=ENVIRONMENT, timeout=PATIENCE, check=True)
    assert {name for (at, name), how in read_done(run).items() if at == 0 and how == "done"} == {
        "teacher-1", "policy", "search-1-theorems", "search-1", "eval-held",
    }  # fmt: skip
    assert {key for key, took in read_spent(run).items() if took.runs > 1} == {(0, "policy")}
    told = json.loads(burn_qed("status", run, "--json").stdout)
    (first, second) = told["iterations"]
    assert [search["proved"] for search in second["searches"]] == [22, 0]
    assert second["newly_proved"] == 22
    assert second["policy"]["data"]["theorems"] == 22
    assert first["evaluated"]["held"]["without_value"]
    assert second["evaluated"]["held"]["against_baseline"].keys() == {"1", "2"}
