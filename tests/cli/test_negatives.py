"""`burn-qed negatives` as a user runs it: after a search, stopped, resumed, on the wrong set."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from burnqed.cli.main import app
from burnqed.core.errors import InputError
from burnqed.trajectories.store import iter_rows, read_records

pytestmark = pytest.mark.lean

STATEMENTS = {
    "add": "∀ a b : Nat, a + b = b + a",
    "swap": "∀ p q : Prop, p ∧ q → q ∧ p",
    "false": "∀ n : Nat, n = n + 1",
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def told(*arguments: str | Path) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    content: dict[str, Any] = json.loads(done.stdout)
    return content


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set, and a run that searched it."""
    here = tmp_path_factory.mktemp("negatives")
    theorems = [{"name": n, "statement": s, "file_path": ""} for n, s in STATEMENTS.items()]
    (here / "set.json").write_text(json.dumps({"theorems": theorems}))
    (here / "other.json").write_text(json.dumps({"theorems": theorems[2:]}))
    few = ("--nodes", "2", "--policy", "portfolio", "--json")
    run("search", here / "set.json", "--out", here / "run", *few)
    assert {r.theorem for r in read_records(here / "run" / "trajectories") if r.proof} == {
        "add",
        "swap",
    }
    return here


def test_what_was_proved_is_looked_at_and_nothing_twice(place: Path, tmp_path: Path) -> None:
    given = (
        "negatives", place / "set.json", "--data", place / "run", "--out", tmp_path / "beside",
        "--min-steps", "1", "--siblings", "2", "--nodes", "2", "--workers", "2",
        "--policy", "portfolio",
    )  # fmt: skip
    first = told(*given)
    trajectories = tmp_path / "beside" / "trajectories"
    assert {record.theorem for record in read_records(trajectories)} == {"add", "swap"}
    rows = list(iter_rows(trajectories))
    assert {row.origin for row in rows} <= {"probe", "walk"}
    assert {row.run for row in rows} == {"beside"}
    assert first["positives"] > 0
    with pytest.raises(InputError, match="holds a run already"):
        run(*given)
    assert told(*given, "--resume") == first
    assert list(iter_rows(trajectories)) == rows
    shutil.copytree(place / "run", tmp_path / "there" / "run")
    (tmp_path / "beside").rename(tmp_path / "there" / "beside")
    moved = {
        place / "run": tmp_path / "there" / "run",
        tmp_path / "beside": tmp_path / "there" / "beside",
    }
    assert told(*(moved.get(Path(word), word) for word in given), "--resume") == first


def test_a_set_without_proofs_is_refused(place: Path, tmp_path: Path) -> None:
    for index, steps in (("other.json", "1"), ("set.json", "9")):
        with pytest.raises(InputError, match="no theorem of"):
            run(
                "negatives", place / index, "--data", place / "run", "--out", tmp_path / "beside",
                "--min-steps", steps,
            )  # fmt: skip
    with pytest.raises(InputError, match="trajectories"):
        run("negatives", place / "set.json", "--data", tmp_path, "--out", tmp_path / "beside")
    assert not (tmp_path / "beside").exists()
