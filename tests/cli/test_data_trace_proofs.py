"""Whole proofs as texts become steps; what does not compile is listed by its kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnqed.data.sources.open import read_steps
from tests.cli.test_data_prepare import data
from tests.data.rows import Plain, read_rows, write_rows

pytestmark = pytest.mark.lean


def proof(theorem: str, statement: str, text: str, **more: str) -> Plain:
    return {"theorem": theorem, "statement": statement, "proof": text, **more}


AND = "(p q : Prop) (h : p ∧ q) : q ∧ p"
PROOFS = [
    proof("first", f"theorem t {AND}", "by\n  constructor\n  · exact h.2\n  · exact h.1"),
    proof("second", "theorem t (n : Nat) : n + 0 = n", "by simp -- done",
          context="import Init\nopen Nat"),
    proof("again", f"theorem t {AND}", "by exact h.symm"),
    proof("helped", "theorem helped (n : Nat) : n = n", "by exact helper n",
          context="theorem helper (n : Nat) : n = n := by rfl"),
    proof("term", "theorem term (n : Nat) : n = n", "rfl"),
    proof("renamed", "theorem renamed (a b : Nat) : a + b = b + a", "by exact Nat.add_comutes a b"),
    proof("undeclared", "theorem undeclared (h : gone = 1) : gone = 1", "by exact h"),
    proof("mathlib", "theorem mathlib (n : Nat) : n = n", "by rfl", context="import Mathlib"),
    proof("cheat", "theorem cheat : 1 = 2", "by sorry"),
    proof("empty", "theorem empty : 1 = 2", ""),
]  # fmt: skip


def test_whole_proofs_become_steps_in_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_rows(tmp_path / "proofs.jsonl", PROOFS)
    out, pairs = tmp_path / "traced", tmp_path / "pairs.jsonl"
    asked = ("trace", path, "--out", out, "--workers", "1", "--pairs", pairs)
    told, _ = data(capsys, *asked, "--json")
    report = json.loads(told)
    assert report["proofs"] == {
        "in": 10,
        "left_out": {
            "another proof of the same statement": 1,
            "leaves something open": 1,
            "no proof": 1,
        },
        "compile": 4,
    }
    kinds = {
        kind: [e["theorem"] for e in one["examples"]]
        for kind, one in report["does_not_compile"].items()
    }
    assert kinds == {
        "imports what is not loaded": ["mathlib"],
        "lemma rename": ["renamed", "undeclared"],
    }
    rows = read_rows(pairs)
    assert [(row["theorem"], row["tactic"]) for row in rows] == [
        ("first", "constructor"), ("first", "exact h.2"), ("first", "exact h.1"), ("second", "simp"),
        ("helper", "rfl"), ("helped", "exact helper n"),
    ]  # fmt: skip
    assert [step.theorem for step in read_steps(str(out))] == [row["theorem"] for row in rows]
    # What was traced is not traced again; a proof that comes to be fine is.
    parts = {p.name: p.stat().st_mtime_ns for p in (out / "parts").glob("part-*")}
    (out / "parts" / "part-000000.parquet").unlink()
    data(capsys, *asked, "--resume")
    after = {p.name: p.stat().st_mtime_ns for p in (out / "parts").glob("part-*")}
    assert {name: after[name] for name in parts if name in after} == {
        name: at for name, at in parts.items() if name != "part-000000.parquet"
    }
    assert sorted(map(str, read_rows(pairs))) == sorted(map(str, rows))
    # The trace says what each theorem states: it can be replayed.
    seen, _ = data(capsys, "validate", out, "--workers", "1", "--out", tmp_path / "seen", "--json")
    assert json.loads(seen)["verdict"] == "use"
    assert json.loads(seen)["tried"] == 4


def test_nothing_to_trace_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_rows(tmp_path / "proofs.jsonl", PROOFS[-2:])
    _, error = data(capsys, "trace", path, "--out", tmp_path / "o", code=2)
    assert "there is no whole proof to trace: leaves something open 1, no proof 1" in error
