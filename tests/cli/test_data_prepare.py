"""`burn-qed data prepare` and `inspect`: from files to a trained policy's data, and what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnqed.cli.main import main
from burnqed.training.pairs import read_source
from tests.data.rows import proof_of, read_rows, row, write_index, write_rows


def data(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 0) -> tuple[str, str]:
    """What `burn-qed data …` prints, on both sides."""
    before, sys.argv = sys.argv, ["burn-qed", "data", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = before
    out = capsys.readouterr()
    assert (ended.value.code or 0) == code, out
    return out.out, out.err


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "pairs.jsonl", [r for i in range(40) for r in proof_of(f"t{i}", 4)])


def test_what_is_prepared_is_what_training_reads(
    tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = write_index(tmp_path / "held.json", {"t3": "1 = 1"})
    out = tmp_path / "out"
    told, _ = data(capsys, "prepare", pairs, "--without", index, "--out", out, "--json")
    report = json.loads(told)
    assert report["rows"]["dropped"]["without_name"] == 4
    assert report["settings"]["without"][0]["set"] == "held"
    source = read_source(out / "tactic_pairs" / "train.jsonl", lambda _problem: None)
    assert len(source.pairs) == report["rows"]["train"]
    assert "t3" not in {pair.theorem for pair in source.pairs}
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*")}
    table, _ = data(capsys, "prepare", pairs, "--without", index, "--out", out)
    assert "prepared before" in table
    assert "without_name" in table
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*")} == before
    _, error = data(capsys, "prepare", pairs, "--out", out, "--seed", "1", code=2)
    assert "seed was 0, now 1" in error
    assert "--out" in error


def test_bad_rows_are_an_exit_code_and_lines_of_their_own(
    tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pairs.open("a", encoding="utf-8") as file:
        file.write('{"state": "⊢ p"}\n')
    for _ in range(2):  # also when it was done before
        _, error = data(capsys, "prepare", pairs, "--out", tmp_path / "out", code=2)
        assert f"{pairs}, line 161 lacks `tactic`" in error
    out, error = data(capsys, "inspect", pairs)
    assert "161 rows, 1 of them malformed" in out
    assert "line 161" in error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--without", "nothing-such"], "no benchmark and no file"),
        (["--tokenizer", "nothing-such"], "no tokenizer"),
        (["--prompt", "plain"], "no prompt format"),
        (["--splits", "1/2"], "no shares"),
        (["--max-length", "100", "--tactic-tokens", "100"], "no room"),
        (["--state-chars", "5"], "state_chars 160 dropped"),
    ],
)
def test_wrong_options_are_named_and_leave_nothing(
    tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    _, error = data(capsys, "prepare", pairs, "--out", tmp_path / "out", *options, code=2)
    assert said in error
    assert os.listdir(tmp_path) == [pairs.name]  # noqa: PTH208


def test_wrong_inputs_are_named(
    tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("prepare", "inspect"):
        _, error = data(capsys, command, "nowhere.jsonl", "--out", tmp_path / "out", code=2)
        assert "there is no source and no file nowhere.jsonl" in error
    _, error = data(capsys, "prepare", pairs, pairs, "--out", tmp_path / "out", code=2)
    assert "given twice" in error
    _, error = data(capsys, "prepare", pairs, "--out", pairs, code=2)
    assert "is a file" in error


def test_an_inspection_is_a_table_and_a_report(
    tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_rows(tmp_path / "b.jsonl", [*proof_of("t7", 4), row("new", tactic="exact [h]")])
    index = write_index(tmp_path / "held.json", {"t7": "1 = 1", "absent": "2 = 2"})
    asked = ("inspect", f"one={pairs}", f"two={other}", "--against", index)
    table, _ = data(capsys, *asked, "--out", tmp_path / "seen")
    assert "of the 2 theorems of held, here are: 1 by name, 0 by what they state" in table
    assert "one, two" in table
    told, _ = data(capsys, *asked, "--json", "--out", tmp_path / "mine.json")
    report = json.loads(told)
    assert report["overlaps"][0]["pair"] == 4
    for path in (tmp_path / "seen" / "report.json", tmp_path / "mine.json"):
        assert json.loads(path.read_text(encoding="utf-8")) == report


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, pairs: Path, number: signal.Signals) -> None:
    """Steps that go on for ever stand for a long file."""
    code = (
        "from itertools import count; from burnqed.data.steps import Step\n"
        "from burnqed.data.sources import open as sources; from burnqed.cli.main import main\n"
        "endless = lambda self, notes: (Step('s', f't{i}', f'⊢ {i}', 'rfl', 0) for i in count())\n"
        "sources.Opened.steps = endless\n"
        "main()"
    )
    command = [
        sys.executable,
        "-c",
        code,
        "data",
        "prepare",
        str(pairs),
        "--out",
        str(tmp_path / "out"),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    begun = tmp_path / ".out.preparing" / ".work" / "rows"
    deadline = time.monotonic() + 30
    while not (begun.exists() and begun.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    try:
        _, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, error
    assert os.listdir(tmp_path) == [pairs.name]  # noqa: PTH208


def test_files_of_two_kinds_together(
    tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(proof_of("t0", 3)), tmp_path / "more.parquet")
    told, _ = data(
        capsys, "prepare", tmp_path / "more.parquet", pairs, "--out", tmp_path / "out",
        "--splits", "100/0/0", "--json",
    )  # fmt: skip
    report = json.loads(told)
    assert report["overlaps"] == [{"first": "more", "later": "pairs", "pairs": 3}]
    assert len(read_rows(tmp_path / "out" / "tactic_pairs" / "train.jsonl")) == 160
