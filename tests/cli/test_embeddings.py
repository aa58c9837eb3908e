"""`burn-qed embeddings report`: a page and figures of a run, again without computing, and drift."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from burnqed.core.watching import Quiet
from burnqed.prover.config import LookConfig
from burnqed.prover.embeddings import look_at
from tests.cli.in_process import Done, burn_qed
from tests.policy.tiny import tiny_llama
from tests.training.searches import write_searches
from tests.trajectories.samples import write

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
SMALL = ("--prompt", "colons", "--mapped", "20")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("looks")
    tiny_llama(here / "model")
    tiny_llama(here / "wide", hidden=64)
    write_searches(here / "run", range(12))
    return here


def report(place: Path, *arguments: str | Path, code: int = 0) -> Done:
    return burn_qed("embeddings", "report", *arguments, *SMALL, code=code)


def test_a_report_is_a_page_figures_and_plots(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "look"
    command = [BURN_QED, "embeddings", "report", *map(str, (place / "run", "--model", place / "model"))]
    done = subprocess.run(
        [*command, "--out", str(out), *SMALL], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done
    assert done.stdout.rstrip().endswith("report.html")
    (one,) = json.loads((out / "embeddings.json").read_text())["encoders"]
    assert one["encoder"]["width"] == 32
    assert (one["theorems"], one["both_labels"]) == (12, 0)
    assert one["positives"] == 24
    assert one["sibling_l2"] > 0
    assert [depth["depth"] for depth in one["by_depth"]] == [1, 2]
    assert f"{one['centroid_l2']:.4g}" in (out / "report.html").read_text()
    assert {"siblings_0.svg", "siblings_0.png", "spectrum.svg", "tsne_0_label.png"} <= {
        path.name for path in out.iterdir()
    }
    parts = sorted(out.glob("embeddings/*/part-*"))
    assert len(parts) == 1
    again = json.loads(
        report(place, place / "run", "--model", place / "model", "--out", out, "--json").stdout
    )
    assert again["encoders"] == [one]
    assert sorted(out.glob("embeddings/*/part-*")) == parts


def test_a_second_encoder_is_compared(place: Path, tmp_path: Path) -> None:
    said = json.loads(
        report(
            place, place / "run", "--model", place / "model", "--against", place / "wide",
            "--out", tmp_path, "--json",
        ).stdout
    )  # fmt: skip
    assert [one["label"] for one in said["encoders"]] == ["model", "wide"]
    assert [one["encoder"]["width"] for one in said["encoders"]] == [32, 64]
    assert (said["drift"]["cosine"], said["drift"]["moved"]) == (None, None)
    assert 0 < said["drift"]["cka"] < 1
    assert "Drift" in (tmp_path / "report.html").read_text()


def test_no_more_states_than_asked_for(place: Path, tmp_path: Path) -> None:
    config = LookConfig(states=20, prompt="colons")
    look = look_at([place / "run"], [("m", str(place / "model"))], config, tmp_path, Quiet())
    assert look is not None
    assert 10 <= len(look.sample) <= 20


class Impatient(Quiet):
    def stop(self) -> bool:
        return True


def test_stopped_is_no_report(place: Path, tmp_path: Path) -> None:
    config = LookConfig(prompt="colons")
    assert (
        look_at([place / "run"], [("m", str(place / "model"))], config, tmp_path, Impatient()) is None
    )


def test_what_is_wrong_is_told(place: Path, tmp_path: Path) -> None:
    model, out = ("--model", place / "model"), ("--out", tmp_path / "out")
    assert "has no trajectories" in report(place, tmp_path, *model, *out, code=2).stderr
    write(tmp_path / "trajectories", range(1, 2))
    told = report(place, tmp_path, *model, *out, code=1).stderr
    assert "nothing to look at" in told
    assert "burn-qed negatives" in told
    told = report(place, place / "run", *model, "--against", place / "model", *out, code=2).stderr
    assert "the same encoder" in told
    told = report(place, place / "run", *model, "--layer", "99", *out, code=2).stderr
    assert "no layer 99" in told
    assert not (tmp_path / "out" / "report.html").exists()
