"""`burn-qed embed`: all states of a run, each once, stopped and taken up again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from burnqed.trajectories.store import iter_rows
from tests.cli.in_process import Done, burn_qed
from tests.policy.tiny import tiny_llama
from tests.trajectories.samples import write

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("embed") / "model")


def embed(*arguments: str | Path, code: int = 0) -> Done:
    return burn_qed("embed", *arguments, code=code)


def test_every_state_is_embedded_once(tmp_path: Path, model: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "embeddings"
    write(run / "trajectories", range(1, 6))
    rows = list(iter_rows(run / "trajectories"))
    states = {row.state for row in rows} | {row.root_goal for row in rows}
    command = [BURN_QED, "embed", *map(str, (run, "--model", model, "--out", out, "--json"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done
    said = json.loads(done.stdout)
    assert (said["states"], said["computed"], said["kept"]) == (len(states),) * 3
    assert said["width"] == 32
    again = json.loads(embed(run, "--model", model, "--out", out, "--json").stdout)
    assert (again["computed"], again["kept"]) == (0, len(states))
    other = json.loads(embed(run, "--model", model, "--out", out, "--pooling", "last", "--json").stdout)
    assert other["computed"] == len(states)
    assert other["directory"] != said["directory"]


def test_what_is_wrong_is_told(tmp_path: Path, model: Path) -> None:
    out = ("--out", tmp_path / "out")
    assert "has no trajectories" in embed(tmp_path, "--model", model, *out, code=2).stderr
    write(tmp_path / "trajectories", range(1, 2))
    assert (
        "unknown pooling max"
        in embed(tmp_path, "--model", model, "--pooling", "max", *out, code=2).stderr
    )
    assert "absent" in embed(tmp_path, "--model", tmp_path / "absent", *out, code=2).stderr
    assert not (tmp_path / "out").exists()
