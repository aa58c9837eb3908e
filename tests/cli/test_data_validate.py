"""`burn-qed data validate` and `migrate`: tables, reports, exit codes, stopped and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_data_prepare import data
from tests.data.rows import Plain, read_rows, write_index, write_rows

pytestmark = pytest.mark.lean


def steps(theorem: str, *pairs: tuple[str, str]) -> list[Plain]:
    return [
        {"theorem": theorem, "state": state, "tactic": tactic, "depth": depth}
        for depth, (state, tactic) in enumerate(pairs)
    ]


ADD = "a b : Nat\n⊢ a + b = b + a"


def test_a_verdict_with_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = [s for i in range(4) for s in steps(f"t{i}", (ADD, "rw [Nat.add_comm]"))]
    said = "theorem stated (a b : Nat) : a + b = b + a"
    between = ADD.replace("⊢", "h : a + b = b + a\n⊢")
    good += steps("stated", (ADD, "have h := Nat.add_comm a b"), (between, "exact h"))
    path = write_rows(tmp_path / "d.jsonl", [*good, *steps("old", (ADD, "exact Nat.add_comutes a b"))])
    index = write_index(tmp_path / "set.json", {"stated": said})
    out = tmp_path / "seen"
    asked = ("validate", path, "--theorems", index, "--workers", "1", "--out", out)
    told, _ = data(capsys, *asked)
    assert "use: it replays and prints as recorded" in told
    assert "83.3% replay" in told
    assert "lemma rename" in told
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert (report["tried"], report["replay"], report["equal"]) == (6, 5, 5)
    assert len(read_rows(out / "proofs.jsonl")) == 6
    _, error = data(capsys, *asked, code=2)
    assert "holds a run already" in error
    before = (out / "proofs.jsonl").read_bytes()
    again, _ = data(capsys, *asked, "--resume", "--json")
    assert json.loads(again) == report
    assert (out / "proofs.jsonl").read_bytes() == before
    printed = [
        {**row, "state": str(row["state"]).replace("a + b", "HAdd.hAdd a b")} for row in good[:4]
    ]
    path = write_rows(tmp_path / "printed.jsonl", printed)
    index = write_index(
        tmp_path / "all.json", {f"t{i}": said.replace("stated", f"t{i}") for i in range(4)}
    )
    told, _ = data(
        capsys, "validate", path, "--theorems", index, "--workers", "1", "--out", tmp_path / "p", code=1
    )
    assert "re-extract" in told
    assert "pretty-printer drift" in told


def test_whole_proofs_are_judged_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "theorem t (a b : Nat) : a + b = b + a"
    rows: list[Plain] = [
        {"theorem": f"t{i}", "statement": said.replace("t (", f"t{i} ("), "proof": text}
        for i, text in enumerate(["by omega", "Nat.add_comm a b", "by exact Nat.add_comutes a b", ""])
    ]
    path = write_rows(tmp_path / "proofs.jsonl", rows)
    out = tmp_path / "seen"
    asked = ("validate", path, "--workers", "1", "--out", out)
    told, _ = data(capsys, *asked, code=1)
    assert "migrate: too little of it is accepted" in told
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert (report["tried"], report["accepted"], report["without_a_proof"]) == (3, 2, 1)
    assert report["causes"] == {"lemma rename": 1}
    before = (out / "proofs.jsonl").read_bytes()
    again, _ = data(capsys, *asked, "--resume", "--json", code=1)
    assert json.loads(again) == report
    assert (out / "proofs.jsonl").read_bytes() == before


def test_proofs_are_moved_and_it_is_said_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[Plain] = [
        {"theorem": "old", "statement": "theorem old (a : Nat) : a + 1 = 1 + a", "proof": "by mine a"},
        {"theorem": "false", "statement": "theorem false : 1 = 2", "proof": "rfl", "context": None},
    ]
    path = write_rows(tmp_path / "old.jsonl", rows)
    table = tmp_path / "mine.json"
    rule = {"name": "mine", "match": r"mine (\w+)", "replace": r"exact Nat.add_comm \1 1"}
    table.write_text(json.dumps({"syntax": [rule]}))
    out = tmp_path / "moved"
    asked = ("migrate", path, "--renames", table, "--workers", "1", "--out", out)
    told, _ = data(capsys, *asked, code=1)
    assert "50.0%, the target is 95%" in told
    assert "mine" in told
    assert [row["proof"] for row in read_rows(out / "proofs.jsonl")] == ["by exact Nat.add_comm a 1"]
    again, _ = data(capsys, *asked, "--resume", "--target", "0.5", "--json")
    report = json.loads(again)
    assert (report["fixed"], report["failed"], report["causes"]) == (1, 1, {"other": 1})
    assert report["rules"] == [{"rule": "syntax", "what": "mine", "proofs": 1}]
    _, error = data(capsys, "migrate", path, "--resume", "--out", out, code=2)
    assert "rules was" in error


def test_wrong_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_rows(tmp_path / "d.jsonl", steps("t", ("⊢ p", "rfl")))
    _, error = data(capsys, "migrate", path, "--out", tmp_path / "x", code=2)
    assert "steps has no proofs" in error
    _, error = data(capsys, "validate", tmp_path / "absent", "--out", tmp_path / "x", code=2)
    assert "there is no source and no file" in error
    path.write_text('{"state": "⊢ p", "tactic": "rfl", "theorem": "t", "depth": 4}\n')
    _, error = data(capsys, "validate", path, "--out", tmp_path / "x", code=2)
    assert "none of 1 theorems has all its steps" in error


def test_stopped_and_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = "exact (fun (n : Nat) => Nat.add_comm a b) (2 ^ 5)"
    path = write_rows(
        tmp_path / "d.jsonl", [s for i in range(100) for s in steps(f"t{i}", (ADD, slow))]
    )
    out = tmp_path / "out"
    asked = ["data", "validate", str(path), "--workers", "1", "--out", str(out)]
    code = "from burnqed.cli.main import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *asked], stderr=subprocess.PIPE, text=True)
    results = out / "proofs.jsonl"
    deadline = time.monotonic() + 60
    while not (results.exists() and results.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    try:
        _, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, error
    assert "--resume" in error
    done = len(read_rows(results))
    assert 0 < done < 100
    told, _ = data(capsys, *asked[1:], "--resume", "--json")
    assert json.loads(told)["verdict"] == "use"
    assert len(read_rows(results)) == 100
