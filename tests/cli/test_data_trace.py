"""`burn-qed data trace` from the command line: tables, JSON, exit codes, going on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from burnqed.cli.main import app
from burnqed.core.errors import InputError

pytestmark = pytest.mark.lean


def run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["data", "trace", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def test_a_folder_becomes_pairs_and_a_second_run_goes_on(tmp_path: Path) -> None:
    source, out, pairs = tmp_path / "src", tmp_path / "out", tmp_path / "pairs.jsonl"
    source.mkdir()
    (source / "A.lean").write_text(
        "theorem a (p : Prop) (h : p) : p ∧ p := by\n  constructor <;> exact h\n"
    )
    (source / "B.lean").write_text("theorem b : 1 = 2 := by rfl\n")
    code, told = run(source, "--out", out, "--workers", "1", "--pairs", pairs, "--json")
    assert code == 0
    report = json.loads(told)
    assert report == json.loads((out / "report.json").read_text())
    assert report["files"] == {"found": 2, "traced": 1, "skipped": {"does not elaborate": 1}}
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert [(row["tactic"], row["depth"], row["after"]) for row in rows][1:] == [
        ("exact h", 1, "no goals"),
        ("exact h", 2, "no goals"),
    ]
    assert {row["source"] for row in rows} == {"out"}  # as `data prepare` and `inspect` call it
    with pytest.raises(InputError, match="holds a run already"):
        run(source, "--out", out, "--workers", "1")
    (source / "B.lean").write_text("theorem b : 1 = 1 := by rfl\n")
    code, told = run(source, "--out", out, "--workers", "1", "--resume")
    assert code == 0
    assert "2 of 2" in told


def test_bad_input_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no"):
        run(tmp_path / "nowhere", "--out", tmp_path / "out")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"no \.lean file"):
        run(empty, "--out", tmp_path / "out")
