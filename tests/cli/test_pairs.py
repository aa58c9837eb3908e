"""From runs to a file of pairs, on the command line: what is said, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.in_process import burn_qed
from tests.training.samples import write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", range(6))


def test_pairs_of_runs(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    said = json.loads(burn_qed("pairs", run, run, "--out", out, "--json").stdout)
    report = json.loads((tmp_path / "pairs.json").read_text())
    assert said == {"out": str(out), **report}
    assert len(out.read_text().splitlines()) == said["pairs"] == 6
    table = burn_qed("pairs", run, "--out", out, "--without", "qed-core").stdout
    assert "theorems proved" in table
    assert f"{out}: 6 pairs" in table


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("nowhere",), "nowhere has no trajectories"),
        (("run", "--without", "nothing"), "there is no benchmark and no file nothing"),
        (("run", "--out", "pairs.txt"), "pairs.txt is not a name for JSON lines"),
        (("run", "--easy-share", "1.5"), "--easy-share"),
        ((), "RUN"),
    ],
)
def test_bad_input_is_named(run: Path, tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    done = burn_qed("pairs", "--out", "pairs.jsonl", *options, code=2, cwd=tmp_path)
    assert told in done.stderr
    assert not list(tmp_path.glob("pairs*"))
