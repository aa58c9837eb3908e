"""What makes a run of expert iteration, on a cluster: negatives, and all stages one after the other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from burnqed.lean.process import LaunchSpec
from burnqed.trajectories.schema import TRAJECTORIES
from burnqed.trajectories.store import iter_rows, read_records
from tests.cli.in_process import burn_qed
from tests.cluster.machines import BURN_QED, machines

pytest.importorskip("ray", reason="Ray is not installed: pip install 'burn-qed[cluster]'")

pytestmark = [pytest.mark.lean, pytest.mark.soak, pytest.mark.timeout(1400)]

RULES = ("--policy", "portfolio", "--workers", "1", "--json")
NEAR = ("--nodes", "2", "--siblings", "2", "--min-steps", "1", *RULES)
STATEMENTS = [
    "∀ a b : Nat, a + b = b + a", "∀ p q : Prop, p ∧ q → q ∧ p", "∀ n : Nat, n = n + 1",
    "∀ p q r : Prop, (p → q) → (q → r) → p → r",
]  # fmt: skip
CONFIG = """
[run]
workers = 1
[theorems]
set = "mine.json"
split = ""
[teacher]
nodes = [1, 2]
candidates = 4
[policy]
base = "ranker"
[search]
policy = "ranked"
nodes = [2]
sample = 2
candidates = 4
noise_nodes = 0
[value]
first = 1
beside_nodes = 1
beside_steps = 1
siblings = 1
[eval]
sets = ["held.json"]
budgets = [1, 2]
candidates = 4
"""
EASY = [f"∀ a b : Nat, a + {i} < b → a < b + {i}" for i in range(22)]
HARD = ["∀ n : Nat, n * n = n + n", "∀ p q : Prop, p → q"]
HELD = ["∀ a b : Nat, a + 50 < b → a < b", "∀ n m : Nat, n = m"]


def a_set(path: Path, statements: list[str]) -> Path:
    named = [{"name": f"{path.stem}_{i}", "statement": text} for i, text in enumerate(statements)]
    path.write_text(json.dumps({"theorems": named}), encoding="utf-8")
    return path


def ran(*arguments: str | Path) -> Any:
    words = [BURN_QED, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def without_times(trajectories: Path) -> list[Any]:
    """Rows and records of a directory, but for times and for the order in which theorems ended."""
    rows = [(r.theorem, r.state, r.tactic, r.outcome, r.origin, r.on_proof_path)
            for r in iter_rows(trajectories)]  # fmt: skip
    records = [(r.theorem, r.outcome, r.nodes, r.steps, r.seed, r.proof)
               for r in read_records(trajectories, pytest.fail)]  # fmt: skip
    return [sorted(rows, key=str), sorted(records)]


def test_what_lies_beside_proofs_is_the_same(tmp_path: Path, lean_launch: LaunchSpec) -> None:
    theorems = a_set(tmp_path / "set.json", STATEMENTS)
    ran("search", theorems, "--out", tmp_path / "run", "--nodes", "3", *RULES)
    given = ("negatives", theorems, "--data", tmp_path / "run", *NEAR)
    here = ran(*given, "--out", tmp_path / "here")
    with machines(2) as cluster:
        there = ran(*given, "--out", tmp_path / "there", "--cluster", cluster.address)
    assert there == here
    assert here["positives"] > 0
    found = without_times(tmp_path / "there" / TRAJECTORIES)
    assert found == without_times(tmp_path / "here" / TRAJECTORIES)


def outcomes(run: Path) -> Any:
    """What a run has found, by iteration."""
    told = json.loads(burn_qed("status", run, "--json").stdout)
    searches = [
        [(one["proved"], one["theorems"]) for one in iteration.get("searches", ())]  # none at first
        for iteration in told["iterations"]
    ]
    held = [
        {name: one["without_value"] and [b["solved"] for b in one["without_value"]["budgets"].values()]
         for name, one in iteration["evaluated"].items()}
        for iteration in told["iterations"]
    ]  # fmt: skip
    return searches, held


def test_a_whole_run_is_begun_on_a_cluster_and_ended_here(
    tmp_path: Path, lean_launch: LaunchSpec
) -> None:
    """The configuration is of the run; where it searches may be another place each time."""
    a_set(tmp_path / "mine.json", [*EASY, *HARD])
    a_set(tmp_path / "held.json", HELD)
    (tmp_path / "mine.toml").write_text(CONFIG, encoding="utf-8")
    begin = ("run", "--config", tmp_path / "mine.toml", "--json")
    with machines(2) as cluster:
        address = cluster.address
        ran(*begin, "--iterations", "1", "--out", tmp_path / "there", "--cluster", address)
    logs = (tmp_path / "there" / "logs").rglob("*.log")
    asked = [path.read_text(encoding="utf-8").partition("\n")[0] for path in logs]
    there = {line.split()[2] for line in asked if f"--cluster {address}" in line}
    assert there == {"search", "eval"}
    ran("run", "--iterations", "2", "--out", tmp_path / "there", "--cluster", "local", "--json")
    ran(*begin, "--iterations", "2", "--out", tmp_path / "here")
    assert outcomes(tmp_path / "there") == outcomes(tmp_path / "here")
