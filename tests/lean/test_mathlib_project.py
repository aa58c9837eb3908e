"""A lake project with a stand-in for Mathlib, on a real Lean and Lake: proved, verified, cheated in.

These tests need a native Lean with `lake`, on PATH or in ~/.elan. Elsewhere they are skipped.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.lean.test_lake import SECONDS, built, lake, run, verdicts

__all__ = ["lake"]  # a fixture
PROJECT = Path(__file__).with_name("mathlib_project")
# As the sets of problems come: a header, and a statement.
SET = {
    "fine": "theorem fine (x : ℝ) (h : 0 < x) : 0 < x + 1 := by",
    "unknown": "theorem unknown (x : ℝ) : Real.nothing x = 0 := by",
    "wrong": "theorem wrong (n : ℕ) : n + 1 = n := by",
}

pytestmark = [pytest.mark.lean, pytest.mark.soak, pytest.mark.timeout(SECONDS)]


@pytest.fixture(scope="module")
def project(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("lake") / "stand_in"
    shutil.copytree(PROJECT, where, ignore=shutil.ignore_patterns(".lake"))
    assert built(lake, where).count("declaration uses") == 3
    return where


def test_its_sorrys_are_proved_by_tactics_of_those_names(lake: Path, project: Path) -> None:
    task = project / "Task.lean"
    run("prove", task, "--write", "--nodes", 20, "--workers", 1)
    assert "sorry" not in task.read_text()
    assert "nlinarith [sq_nonneg (a - b)" in task.read_text()
    assert "declaration uses" not in built(lake, project)


def test_each_statement_of_a_set_is_told_of_by_name(project: Path, tmp_path: Path) -> None:
    rows = [
        {"name": name, "header": "import Mathlib\nopen Nat\n", "formal_statement": text}
        for name, text in SET.items()
    ]
    lines, index = tmp_path / "set.jsonl", tmp_path / "set.json"
    lines.write_text("\n".join(json.dumps(row) for row in rows))
    run("data", "index", "--jsonl", lines, "--out", index)
    out = run("data", "verify", index, "--project", project, "--workers", 1, "--json", code=1)
    told = {one["name"]: one for one in json.loads(out.stdout)["theorems"]}
    assert {name: one["verdict"] for name, one in told.items()} == {
        "fine": "fine", "unknown": "does not elaborate", "wrong": "trivially false",
    }  # fmt: skip
    assert "Real.nothing" in told["unknown"]["why"]


@pytest.mark.parametrize(
    ("proof", "reason"),
    [
        ("aesop (config := k)", "plain literal"),
        ("polyrith", "asks a server"),
        ("exact Mathlib.Tactic.proof", "machinery"),
    ],
)
def test_what_mathlib_would_run_is_refused(project: Path, proof: str, reason: str) -> None:
    text = f"import Mathlib\n\ndef k : Nat := 3\n\ntheorem a (n : ℕ) : n = n := by\n  {proof}\n"
    told = verdicts(project, "Cheat.lean", text, code=1)
    assert not any(one["accepted"] for one in told["theorems"])
    assert reason in json.dumps(told, ensure_ascii=False)
