"""`burn-qed embeddings report`: a page and figures of a run, again without computing, and drift."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import NotEnough
from burnqed.core.watching import Quiet
from burnqed.iteration.execute import execute
from burnqed.iteration.outcome import Done
from burnqed.iteration.specs import Look
from burnqed.iteration.watching import Log
from burnqed.prover.config import LookConfig
from burnqed.prover.embeddings import look_at
from burnqed.report.looks import read_maps
from burnqed.training.pairs import is_validation
from tests.cli.in_process import Done as Ended
from tests.cli.in_process import burn_qed
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


def report(place: Path, *arguments: str | Path, code: int = 0) -> Ended:
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
    drawn = read_maps(out)
    assert drawn is not None
    assert {"t-SNE", "PCA"} <= {one.kind for one in drawn.maps}
    assert len(drawn.states) == 20
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


def test_only_theorems_that_a_training_set_aside(place: Path, tmp_path: Path) -> None:
    def theorems(share: float) -> set[str]:
        config = LookConfig(val_share=share, prompt="colons")
        look = look_at([place / "run"], [("m", str(place / "model"))], config, tmp_path, Quiet())
        assert look is not None
        assert look.figures["val_share"] == share
        return set(look.sample.theorems)

    half, most, every = theorems(0.5), theorems(0.8), theorems(0.0)
    assert half < most < every
    assert half == {name for name in every if is_validation(name, 0.5)}
    none = LookConfig(val_share=0.001, prompt="colons")
    with pytest.raises(NotEnough, match=r"with --val-share 0\.001 sets aside, none has"):
        look_at([place / "run"], [("m", str(place / "model"))], none, tmp_path, Quiet())


def test_a_stage_of_a_run_writes_the_figures(place: Path, tmp_path: Path) -> None:
    """Against a training that changed nothing there is one encoder, and no error."""

    def measured(against: Path | None) -> dict[str, Any]:
        spec = Look(
            runs=(place / "run",), model=str(place / "model"), config=LookConfig(prompt="colons"),
            against=None if against is None else str(against), embeddings=tmp_path / "kept",
            out=tmp_path / "look",
        )  # fmt: skip
        handlers = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
        try:
            assert execute(spec, Log(), resume=False) == Done()
        finally:
            for number, handler in handlers:
                signal.signal(number, handler)
        found: dict[str, Any] = json.loads((tmp_path / "look" / "embeddings.json").read_text())
        return found

    alone = measured(None)
    shutil.copytree(place / "model", tmp_path / "same")
    same = measured(tmp_path / "same")
    assert (len(same["encoders"]), same["drift"]) == (1, None)
    assert same["encoders"][0]["centroid_l2"] == alone["encoders"][0]["centroid_l2"]
    both = measured(place / "wide")
    assert [one["encoder"]["width"] for one in both["encoders"]] == [32, 64]
    assert len([*(tmp_path / "kept").iterdir()]) == 2, "nothing is embedded twice"


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
