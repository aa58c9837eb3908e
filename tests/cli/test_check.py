"""`burn-qed check` and `burn-qed doctor` as a user sees them: words, tables, JSON, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.in_process import burn_qed

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
ROOT = Path(__file__).parent.parent.parent


def run(*arguments: str | Path, code: int) -> subprocess.CompletedProcess[str]:
    out = subprocess.run(
        [BURN_QED, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False
    )
    assert out.returncode == code, out
    assert "Traceback" not in out.stderr
    return out


@pytest.mark.lean
def test_the_example_is_accepted() -> None:
    out = run("check", ROOT / "examples" / "first.lean", "--json", code=0)
    rows = json.loads(out.stdout)["theorems"]
    assert [row["theorem"] for row in rows] == ["sum_comm", "length_doubled", "oddSum_eq"]
    assert all(row["accepted"] and row["level"] == "judged" for row in rows)


@pytest.mark.lean
def test_one_bad_theorem_is_named_and_the_others_stand(tmp_path: Path) -> None:
    file = tmp_path / "mixed.lean"
    file.write_text(
        "theorem good : 1 + 1 = 2 := rfl\n\ntheorem open_end : 1 + 1 = 3 := by\n  sorry\n\n"
        "theorem wrong : 1 + 1 = 3 := by\n  omega\n\ntheorem leans : 1 + 1 = 3 := wrong\n\n"
        "private theorem hidden : 1 + 1 = 3 := by\n  sorry\n"
    )
    out = run("check", file, "--json", code=1)
    rows = {row["theorem"]: row for row in json.loads(out.stdout)["theorems"]}
    assert rows["good"]["accepted"]
    assert "sorry" in rows["open_end"]["reason"]
    assert "does not compile" in rows["wrong"]["reason"]
    assert not rows["leans"]["accepted"]
    assert any(name.endswith("hidden") and not row["accepted"] for name, row in rows.items())
    table = run("check", file, code=1)
    assert "accepted" in table.stdout
    assert "refused" in table.stdout


@pytest.mark.lean
def test_axioms_are_not_said_to_be_none_where_nobody_knows(tmp_path: Path) -> None:
    file = tmp_path / "axioms.lean"
    file.write_text(
        "theorem mine (p : Prop) : p → p := id\n"
        "theorem em (p : Prop) : p ∨ ¬p := Classical.em p\n"
        "theorem ext (p q : Prop) (h : p ↔ q) : q = p := (propext h).symm\n"
    )
    rows = json.loads(burn_qed("check", file, "--json").stdout)["theorems"]
    told = [(row["axioms"], row["axioms_seen"]) for row in rows]
    assert told == [([], []), (None, []), (None, ["propext"])]
    table = burn_qed("check", file).stdout
    cells = {line.split("│")[1].strip(): line for line in table.splitlines() if line.startswith("│")}
    assert "none" in cells["mine"]
    assert "not known" in cells["em"]
    assert "at least propext" in table
    assert "no library proofs to inspect" in " ".join(table.split())


@pytest.mark.lean
def test_against_a_statement(tmp_path: Path) -> None:
    task = tmp_path / "task.lean"
    task.write_text("def f (n : Nat) := n + 1\n\ntheorem t (n : Nat) : f n = n + 1 := by sorry\n")
    honest = tmp_path / "honest.lean"
    honest.write_text("def f (n : Nat) := n + 1\n\ntheorem t (n : Nat) : f n = n + 1 := rfl\n")
    burn_qed("check", honest, "--against", task, code=0)
    changed = tmp_path / "changed.lean"
    changed.write_text(
        "def f (n : Nat) := 1 + n\n\ntheorem t (n : Nat) : f n = n + 1 := by\n  unfold f; omega\n"
    )
    out = burn_qed("check", changed, "--against", task, "--json", code=1)
    assert "reference" in json.loads(out.stdout)["theorems"][0]["reason"]
    weaker = tmp_path / "weaker.lean"
    weaker.write_text("def f (n : Nat) := n + 1\n\ntheorem t (n : Nat) : f n = f n := rfl\n")
    out = burn_qed("check", weaker, "--against", task, "--json", code=1)
    assert "something else" in json.loads(out.stdout)["theorems"][0]["reason"]
    missing = tmp_path / "missing.lean"
    missing.write_text("def f (n : Nat) := n + 1\n")
    out = burn_qed("check", missing, "--against", task, "--json", code=1)
    assert json.loads(out.stdout)["theorems"][0]["theorem"] == "t"


@pytest.mark.lean
def test_imports_do_not_change_what_the_reference_means(tmp_path: Path) -> None:
    task, proof = tmp_path / "task.lean", tmp_path / "proof.lean"
    task.write_text("theorem t : 1 = 1 := sorry\n")
    proof.write_text("import Std\n\ntheorem t : 1 = 1 := rfl\n")
    out = burn_qed("check", proof, "--against", task, "--json", code=1)
    assert "but the reference does not" in json.loads(out.stdout)["theorems"][0]["reason"]
    proof.write_text("import Lean\n\ntheorem t : 1 = 1 := rfl\n")
    out = burn_qed("check", proof, "--json", code=1)
    assert "machinery" in json.loads(out.stdout)["theorems"][0]["reason"]
    task.write_text("def nothing := 1\n")
    proof.write_text("theorem t : 1 = 1 := rfl\n")
    assert "states no theorem" in burn_qed("check", proof, "--against", task, code=2).stderr


@pytest.mark.lean
def test_theorems_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "order.lean"
    file.write_text("theorem z : 1 = 1 := rfl\n\ntheorem a : 1 = 1 := z\n\ntheorem m : 1 = 1 := a\n")
    rows = json.loads(burn_qed("check", file, "--json", code=0).stdout)["theorems"]
    assert [row["theorem"] for row in rows] == ["z", "a", "m"]


def test_bad_input_is_told_apart(tmp_path: Path) -> None:
    out = burn_qed("check", tmp_path / "absent.lean", code=2)
    assert "cannot read" in out.stderr
    binary = tmp_path / "binary.lean"
    binary.write_bytes(b"\xff\xfe\x00")
    burn_qed("check", binary, code=2)
    burn_qed("check", code=2)
    burn_qed("nonsense", code=2)


@pytest.mark.lean
def test_a_file_without_theorems_and_one_with_foreign_imports(tmp_path: Path) -> None:
    empty = tmp_path / "empty.lean"
    empty.write_text("-- nothing\n")
    assert "no theorem" in run("check", empty, code=2).stderr
    mathlib = tmp_path / "mathlib.lean"
    mathlib.write_text("import Mathlib\n\ntheorem a : True := trivial\n")
    assert "no module Mathlib" in run("check", mathlib, code=2).stderr
    std = tmp_path / "std.lean"
    std.write_text("import Std\n\ntheorem a : (∅ : Std.HashMap Nat Nat).size = 0 := by simp\n")
    run("check", std, code=0)


@pytest.mark.lean
def test_doctor_is_all_green() -> None:
    findings = json.loads(run("doctor", "--json", code=0).stdout)
    assert all(finding["ok"] is not False for finding in findings)
    assert any(finding["what"] == "A proof, judged" for finding in findings)


@pytest.mark.torch
def test_doctor_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path))
    out = burn_qed("doctor", code=3)
    assert "burn-qed lean install" in out.stdout


@pytest.mark.parametrize(
    "command", [(), ("lean",), ("check",), ("doctor",), ("repl",), ("lean", "bundle")]
)
def test_help_teaches(command: tuple[str, ...]) -> None:
    assert "Usage" in burn_qed(*command, "--help", code=0).stdout
