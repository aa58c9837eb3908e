"""`burn-qed data index --source`: what data states becomes a set that searches take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.in_process import burn_qed
from tests.data.rows import Plain, write_rows

pytestmark = pytest.mark.lean


def indexed(source: str | Path, out: Path, code: int = 0) -> tuple[dict[str, Any], str]:
    done = burn_qed("data", "index", "--source", source, "--out", out, code=code)
    content = json.loads(out.read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in content["theorems"]}, done.stdout + done.stderr


def test_whole_proofs_state_theorems_and_what_does_not_elaborate_is_an_error_row(
    tmp_path: Path,
) -> None:
    def proof(name: str, statement: str, context: str = "") -> Plain:
        return {"theorem": name, "statement": statement, "proof": "by simp", "context": context}

    rows = [
        proof("a", "theorem a (n : Nat) : n + 0 = n", "import Init\nopen Nat"),
        proof("b", "theorem b (n : Nat) : twice n = n + n", "def twice (n : Nat) := n + n"),
        proof("b", "theorem b : 1 = 1"),
        proof("a", "theorem a (n : Nat) : n + 0 = n", "import Init\nopen Nat"),
        proof("gone", "theorem gone (h : nothing = 1) : 1 = 1"),
        proof("needs", "theorem needs : 1 = 1", "import Mathlib"),
    ]
    path = write_rows(tmp_path / "proofs.jsonl", rows)
    found, told = indexed(path, tmp_path / "set.json", code=2)
    assert set(found) == {"a", "b", "b#2", "gone", "needs"}
    assert "left out: a second row of the same theorem 1" in told
    assert "nothing" in found["gone"]["error"]
    assert found["needs"]["error"] == "it imports Mathlib, which is not loaded"
    assert "gone: " in told
    assert "by simp" not in json.dumps(found)
    verified = burn_qed("data", "verify", tmp_path / "set.json", "--json", code=1)
    verdicts = {t["name"]: t["verdict"] for t in json.loads(verified.stdout)["theorems"]}
    fine = dict.fromkeys(("a", "b", "b#2"), "fine")
    assert verdicts == fine | dict.fromkeys(("gone", "needs"), "does not elaborate")


def test_steps_and_traces_state_theorems(tmp_path: Path) -> None:
    rows = [
        {"theorem": "t", "depth": 0, "state": "n : Nat\n⊢ n = n", "tactic": "cases n"},
        {"theorem": "t", "depth": 1, "state": "⊢ 0 = 0", "tactic": "rfl"},
        {"theorem": "u", "depth": 0, "state": "x✝¹ : Nat\n⊢ 1 = 1", "tactic": "rfl"},
    ]
    found, _ = indexed(write_rows(tmp_path / "s.jsonl", rows), tmp_path / "s.json", code=2)
    assert found["t"]["statement"] == "∀ (n : Nat), n = n"
    assert "nobody can write" in found["u"]["error"]
    (tmp_path / "A.lean").write_text(
        "def two := 2\ntheorem a : two = 2 := by rfl\ntheorem b : two = 2 := rfl\n", encoding="utf-8"
    )
    traced = tmp_path / "traced"
    burn_qed("data", "trace", tmp_path / "A.lean", "--workers", "1", "--out", traced)
    found, _ = indexed(traced, tmp_path / "t.json")
    assert list(found) == ["a"]
    told = burn_qed("search", tmp_path / "t.json", "--nodes", "2", "--policy", "portfolio",
                    "--workers", "1", "--out", tmp_path / "run", "--json").stdout  # fmt: skip
    assert json.loads(told)["proved"] == 1


def test_an_index_is_no_source(tmp_path: Path) -> None:
    told = burn_qed("data", "index", "--source", "qed-core", "--out", tmp_path / "x.json", code=2)
    assert "--theorems takes it" in told.stderr
