"""What a hint says is so: a command that it names works, and the cause that it names is the cause."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from burnqed.trajectories.store import open_writer
from tests.cli.in_process import burn_qed
from tests.trajectories.samples import name, record, rows

NAMES = [name(number) for number in range(4)]


def begun(run: Path, command: str, **more: Any) -> Path:
    run.mkdir(parents=True, exist_ok=True)
    (run / "manifest.json").write_text(json.dumps({"command": command, **more}))
    return run


def searched(run: Path, command: str = "search", steps: int = 16) -> Path:
    """A run with the proofs of four theorems, of a step for each eight rows."""
    with open_writer(run / "trajectories") as writer:
        for number in range(4):
            writer.add(record(number, steps), rows(number, steps))
    return begun(run, command)


def named(told: str) -> list[str]:
    """The command that a hint gives."""
    (line,) = re.findall("`(burn-qed .*?)`", told)
    return shlex.split(line)[1:]


def test_a_summary_of_a_whole_run_names_its_status_and_its_searches(tmp_path: Path) -> None:
    run = begun(tmp_path / "a run", "run")
    places = [searched(run / "trajectories" / f"iter_{n}" / "search_1") for n in range(2)]
    told = burn_qed("summary", run, code=2).stderr
    assert named(told) == ["status", str(run)]
    for place in places:
        assert str(place) in told
        burn_qed("summary", place)


def test_a_summary_of_an_evaluation_names_its_attempts(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", "eval")
    attempts = [searched(run / f"attempt-{n}") for n in range(1, 7)]
    for attempt in attempts:
        (attempt / "manifest.json").unlink()
    told = burn_qed("summary", run, code=2).stderr
    assert f"these in it have some: {attempts[0]}, {attempts[1]}, " in told
    assert "and 2 more" in told


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("search", "it has not saved a theorem yet: continue it with --resume"),
        ("eval", "it has not saved a theorem yet: continue it with --resume"),
        ("train policy", "it is a training: its result.json"),
        ("", "`burn-qed search` makes them"),
    ],
)
def test_a_summary_of_what_has_none_yet(tmp_path: Path, command: str, hint: str) -> None:
    assert hint in burn_qed("summary", begun(tmp_path / "run", command), code=2).stderr


def test_a_summary_of_a_file_or_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "it is a file" in burn_qed("summary", tmp_path / "file", code=2).stderr
    assert "the folder does not exist" in burn_qed("summary", tmp_path / "absent", code=2).stderr


@pytest.mark.parametrize("asking", ["report", "compare", "status"])
@pytest.mark.parametrize("command", ["search", "negatives"])
def test_a_search_is_summed_up(tmp_path: Path, asking: str, command: str) -> None:
    run = searched(tmp_path / "it's a run", command)
    given = (run, run) if asking == "compare" else (run,)
    told = burn_qed(asking, *given, code=2).stderr
    assert "stopped" not in told
    assert "begins one" not in told
    assert named(told) == ["summary", str(run)]
    assert "searched" in burn_qed(*named(told)).stdout


def test_a_report_of_an_evaluation_that_is_not_finished_or_is_two(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", "eval")
    assert "finish it with the same command and --resume" in burn_qed("report", run, code=2).stderr
    for arm in ("with-value", "without-value"):
        begun(tmp_path / "two" / arm, "eval")
    told = burn_qed("report", tmp_path / "two", code=2).stderr
    assert f"{tmp_path / 'two' / 'without-value'} and {tmp_path / 'two' / 'with-value'}" in told


def test_a_report_of_a_training(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", "train value")
    (run / "result.json").write_text(json.dumps({"verdict": "better"}))
    told = burn_qed("report", run, code=2).stderr
    assert "it is a training" in told


# -------------------------------------------------------------------------------------- negatives


def index(path: Path, names: list[str]) -> Path:
    theorems = [{"name": one, "statement": "1 = 1"} for one in names]
    path.write_text(json.dumps({"name": "made-up", "theorems": theorems}))
    return path


@pytest.mark.parametrize(
    ("names", "steps", "asked", "told", "hint"),
    [
        (NAMES, 8, 2, "the longest of 4 proofs has 1", "give --min-steps 1"),
        (NAMES, 24, 5, "the longest of 4 proofs has 3", "give --min-steps 3"),
        (NAMES[:1], 8, 2, "the longest of 1 proof has 1", "give --min-steps 1"),
        (
            ["other"],
            16,
            2,
            "no theorem of made-up was searched",
            "SET must be the set that the runs searched",
        ),
        (NAMES, 0, 2, "no theorem of made-up was proved", "more --nodes"),
    ],
)
def test_why_there_is_no_proof_to_look_beside(
    tmp_path: Path, names: list[str], steps: int, asked: int, told: str, hint: str
) -> None:
    run = searched(tmp_path / "run", steps=steps)
    given = (index(tmp_path / "set.json", names), "--data", run, "--min-steps", str(asked))
    said = burn_qed("negatives", *given, "--out", tmp_path / "out", code=1).stderr
    assert told in said
    assert hint in said
    assert "SET" not in said or names == ["other"], "the set is not to blame"


# ------------------------------------------------------------------------------------ empty sets


@pytest.mark.parametrize(
    "command",
    [
        ("eval", "EMPTY", "--out", "OUT"),
        ("search", "EMPTY", "--out", "OUT"),
        ("negatives", "EMPTY", "--data", "RUN", "--out", "OUT"),
        ("data", "verify", "EMPTY"),
        ("data", "index", "--theorems", "EMPTY", "--out", "OUT.json"),
        ("pairs", "RUN", "--without", "EMPTY", "--out", "OUT.jsonl"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("content", ['{"theorems": []}', "[]"])
def test_a_set_without_a_theorem_is_refused(
    tmp_path: Path, command: tuple[str, ...], content: str
) -> None:
    (tmp_path / "EMPTY").with_suffix(".json").write_text(content)
    searched(tmp_path / "RUN")
    given = [word.replace("EMPTY", "EMPTY.json") for word in command]
    told = burn_qed(*given, code=2, cwd=tmp_path).stderr
    assert "error: EMPTY.json contains no theorem" in told
    assert not [*tmp_path.glob("OUT*")]
