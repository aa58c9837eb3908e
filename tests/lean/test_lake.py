"""A lake project of ten files with a real Lean and Lake: built, indexed, traced, searched, proved.

These tests need a native Lean with `lake`, on PATH or in ~/.elan. Elsewhere they are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COINS = Path(__file__).parents[2] / "examples" / "coins"
SECONDS = 1500.0

pytestmark = [pytest.mark.lean, pytest.mark.soak, pytest.mark.timeout(SECONDS)]


@pytest.fixture(scope="module")
def lake() -> Path:
    elan = Path(os.environ.get("ELAN_HOME", Path.home() / ".elan")) / "bin"
    found = shutil.which("lake") or shutil.which("lake", path=str(elan))
    if found is None:
        pytest.skip("no native Lean with `lake` on PATH or in ~/.elan")
    return Path(found)


def built(lake: Path, project: Path) -> str:
    """What `lake build` says, which must succeed."""
    done = subprocess.run(
        [lake, "build"], cwd=project, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def coins(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, built. Tests that change it work on a copy."""
    project = tmp_path_factory.mktemp("lake") / "coins"
    shutil.copytree(COINS, project, ignore=shutil.ignore_patterns(".lake"))
    assert built(lake, project).count("declaration uses") == 8
    return project


@pytest.fixture(scope="module")
def modules(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of it that take part in Lean's module system, built."""
    project = tmp_path_factory.mktemp("modules") / "coins"
    shutil.copytree(COINS, project, ignore=shutil.ignore_patterns(".lake"))
    for name in ("Sums", "Squares"):
        file = project / "Coins" / f"{name}.lean"
        text = file.read_text().replace("import ", "public import ")
        file.write_text(
            "module\n\n" + text.replace("namespace Sums", "@[expose] public section\n\nnamespace Sums")
        )
    lakefile = project / "lakefile.toml"
    text = lakefile.read_text()
    # Some versions of Lean must be told that files may begin with `module`, and others may not.
    lakefile.write_text(text.replace("[leanOptions]", "[leanOptions]\nexperimental.module = true"))
    again = subprocess.run(
        [lake, "build"], cwd=project, capture_output=True, timeout=SECONDS, check=False
    )
    if again.returncode:
        lakefile.write_text(text)
        built(lake, project)
    return project


def run(*words: object, code: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "BURN_QED_TOOLCHAIN"}
    done = subprocess.run(
        [sys.executable, "-m", "burnqed", *map(str, words)], env=environment, cwd=cwd,
        capture_output=True, text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def verdicts(project: Path, name: str, text: str, code: int) -> dict[str, Any]:
    """What `check` says of a file in the project."""
    (project / name).write_text(text)
    try:
        told: dict[str, Any] = json.loads(run("check", project / name, "--json", code=code).stdout)
    finally:
        (project / name).unlink()
    return told


def test_its_theorems_are_a_set(coins: Path, tmp_path: Path) -> None:
    run("data", "index", "--project", coins, "--out", tmp_path / "coins.json")
    index = json.loads((tmp_path / "coins.json").read_text())
    assert index["imports"] == ["Coins"]
    names = {entry["name"]: entry for entry in index["theorems"]}
    assert {"Purse.total_cons", "Sums.odds_le_odds_succ", "Register.balance_and_owed"} <= names.keys()
    assert not any("upTo_mono_one" in name for name in names)  # it is private
    assert {entry["module"].partition(".")[0] for entry in names.values()} == {"Coins"}
    assert all(entry["constant"] and entry["leak_rule"] == "module" for entry in names.values())


def test_its_set_is_searched_under_leak_rules(coins: Path, tmp_path: Path) -> None:
    index = tmp_path / "coins.json"
    drawn = ("--leak-rule", "self", "--sample", 12, "--seed", 1)
    run("data", "index", "--project", coins, *drawn, "--out", index)
    options = ("--project", coins, "--budgets", "2,4", "--out", tmp_path / "run")
    *_, most = json.loads(run("eval", index, *options, "--json").stdout)["budget_results"]
    assert (most["total"], most["errors"]) == (12, {})
    assert most["solved"] >= 6
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["modules"] == ["Init", "Coins"]
    assert "project coins " in manifest["toolchain"]


def test_each_file_is_traced_as_a_module(coins: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace"
    told = json.loads(run("data", "trace", coins, "--judge", "--out", out, "--json").stdout)
    assert told["files"] == {"found": 10, "traced": 10, "skipped": {}}
    tactics = told["theorems"]["with_tactics"] - told["theorems"]["not_recorded"]["left open"]
    assert told["theorems"]["recorded"] >= 0.95 * tactics
    assert told["judged"]["accepted"] == told["theorems"]["recorded"]
    parts = sorted((out / "parts").glob("*.parquet"))
    run("data", "trace", coins, "--judge", "--out", out, "--json", "--resume")
    assert sorted((out / "parts").glob("*.parquet")) == parts  # nothing was traced twice
    checked = tmp_path / "validated"
    run("data", "validate", f"trace={out}", "--project", coins, "--out", checked)
    report = json.loads((checked / "report.json").read_text())
    assert (report["verdict"], report["replay_rate"]) == ("use", 1.0)


def test_its_sorrys_are_proved_in_place(lake: Path, coins: Path, tmp_path: Path) -> None:
    project = tmp_path / "coins"
    shutil.copytree(coins, project)
    for file in sorted(project.glob("Coins/*.lean")):
        if "sorry" in file.read_text():
            built(lake, project)  # what it imports may have been filled before
            run("prove", file, "--write", "--nodes", 100)
    said = built(lake, project)
    assert "declaration uses" not in said
    for file in project.rglob("*.lean"):
        assert "sorry" not in file.read_text()


def test_files_of_the_module_system(modules: Path, tmp_path: Path) -> None:
    """They see of what they import what that makes public. A judge must see the proofs as well."""
    out = tmp_path / "trace"
    files = [modules / "Coins" / f"{name}.lean" for name in ("Sums", "Squares", "Fold")]
    told = json.loads(run("data", "trace", *files, "--judge", "--out", out, "--json").stdout)
    assert told["files"]["traced"] == 3
    assert told["theorems"]["not_recorded"] == {"left open": 2}
    assert told["judged"]["accepted"] == told["theorems"]["recorded"]
    run("prove", modules / "Coins" / "Squares.lean")
    text = (
        "module\n\npublic import Coins.Squares\n\n"
        "theorem t (n : Nat) : Sums.odds n ≤ Sums.odds (n + 1) := Sums.odds_le_odds_succ n\n"
    )
    (verdict,) = verdicts(modules, "Module.lean", text, 1)["theorems"]
    assert "sorry" in verdict["reason"]
    # Nothing says how `twice` is defined.
    (modules / "Coins" / "Hidden.lean").write_text(
        "module\n\npublic section\n\ndef twice (n : Nat) : Nat := n + n\n"
    )
    subprocess.run(["lake", "build", "Coins.Hidden"], cwd=modules, check=True, timeout=SECONDS)
    user = modules / "Coins" / "User.lean"
    user.write_text("module\n\nimport Coins.Hidden\n\ntheorem t : twice 2 = 4 := by sorry\n")
    run("prove", user, "--nodes", 10, code=1)
    user.write_text("import Coins.Hidden\n\ntheorem t : twice 2 = 4 := by sorry\n")
    run("prove", user, "--nodes", 10)


def test_a_proof_by_a_lemma_that_is_open_is_refused(coins: Path) -> None:
    plain = "import Coins.Basic\n\ntheorem t (c : Coin) : c.value ≠ 0 := c.value_ne_zero\n"
    (verdict,) = verdicts(coins, "Plain.lean", plain, 1)["theorems"]
    assert "sorry" in verdict["reason"]
    honest = "import Coins.Basic\n\ntheorem t (c : Coin) : 0 < c.value := c.value_pos\n"
    (verdict,) = verdicts(coins, "Honest.lean", honest, 0)["theorems"]
    assert verdict["accepted"]


def test_the_projects_options_count(coins: Path) -> None:
    """`autoImplicit = false` in its lakefile: `n` is not declared."""
    told = verdicts(coins, "Auto.lean", "theorem t (x : Fin n) : x = x := rfl\n", 1)
    assert "unknown identifier `n`" in json.dumps(told, ensure_ascii=False).lower()


def test_a_statement_is_proved_with_all_of_the_project(coins: Path) -> None:
    said = run("prove", "∀ c : Coin, 0 < c.value", "--project", coins)
    assert "theorem" in said.stdout
    assert f"project {coins}" in said.stderr


def test_what_is_not_built_is_told(coins: Path, tmp_path: Path) -> None:
    project = tmp_path / "coins"
    shutil.copytree(coins, project, ignore=shutil.ignore_patterns(".lake"))
    said = run("prove", project / "Coins" / "Purse.lean", code=3).stderr
    assert "Coins.Basic" in said
    assert "lake build" in said


def test_what_has_changed_since_it_was_built_is_told(coins: Path, tmp_path: Path) -> None:
    project = tmp_path / "coins"
    shutil.copytree(coins, project)
    basic = project / "Coins" / "Basic.lean"
    basic.write_text(basic.read_text() + "\ntheorem more : 1 = 1 := rfl\n")
    said = run("prove", project / "Coins" / "Purse.lean", code=3).stderr
    assert "changed since it was built" in said
