"""`burn-qed train value` as a user runs it: a real encoder, killed, stopped, resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from burnqed.cli.main import app
from burnqed.core.errors import InputError
from burnqed.iteration.execute import execute
from burnqed.iteration.outcome import Done
from burnqed.iteration.specs import TrainValue
from burnqed.iteration.watching import Log
from burnqed.prover.config import EncoderConfig
from burnqed.training.log import read_log
from burnqed.training.settings import ValueTraining
from tests.cli.trainings import ENVIRONMENT, PATIENCE, interrupted
from tests.policy.tiny import tiny_llama
from tests.training.searches import write_searches

pytestmark = pytest.mark.timeout(900)
BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
SMALL = ("--device", "cpu", "--batch", "16", "--eval-every", "10", "--patience", "1000")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("value")
    tiny_llama(here / "model")
    write_searches(here / "run", range(50))
    return here


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    """What runs in this process computes as the others do."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def command(inputs: Path, out: Path, *options: str) -> list[str]:
    given = ("--data", str(inputs / "run"), "--model", str(inputs / "model"))
    cache = ("--embeddings", str(inputs / "embeddings"))
    few = () if "--folds" in options else ("--folds", "1")
    return [BURN_QED, "train", "value", *given, "--out", str(out), *cache, *SMALL, *few, *options]


def invoke(inputs: Path, out: Path, *options: str) -> Any:
    return CliRunner().invoke(app, command(inputs, out, *options)[1:], catch_exceptions=False)


def train(inputs: Path, out: Path, *options: str) -> dict[str, Any]:
    done = invoke(inputs, out, *options, "--json")
    assert done.exit_code == 0, done
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.soak
def test_killed_and_stopped_it_ends_as_if_undisturbed(tmp_path: Path, inputs: Path) -> None:
    options = ("--steps", "200", "--folds", "2")
    whole = train(inputs, tmp_path / "whole", *options)
    assert whole["test_rank1"] > 0.8 > whole["test_logprob_rank1"], "words can be told apart"
    out = tmp_path / "disturbed"
    assert interrupted(command(inputs, out, *options), out, signal.SIGKILL) == -signal.SIGKILL
    assert not (out / "result.json").exists()
    assert (
        interrupted(command(inputs, out, "--resume", *options), out, signal.SIGTERM)
        == 128 + signal.SIGTERM
    )
    assert not (out / "result.json").exists()
    fold = out / "folds" / "2"
    assert (
        interrupted(command(inputs, out, "--resume", *options), fold, signal.SIGKILL) == -signal.SIGKILL
    )
    assert not (out / "result.json").exists()
    again = train(inputs, out, "--resume", *options)
    assert {**again, "seconds": 0} == {**whole, "seconds": 0}
    assert read_log(out / "log.jsonl") == read_log(tmp_path / "whole" / "log.jsonl")
    for head in ("best", "folds/1/best", "folds/2/best"):
        weights = [(at / head / "model.safetensors").read_bytes() for at in (out, tmp_path / "whole")]
        assert weights[0] == weights[1]
    assert train(inputs, out, "--resume", *options) == again


def test_what_is_printed_for_people(tmp_path: Path, inputs: Path) -> None:
    out = tmp_path / "out"
    done = invoke(inputs, out, "--steps", "30", "--unconditioned", "--pooling", "last", "--k", "2",
                  "--folds", "2")  # fmt: skip
    assert done.exit_code == 0, done
    assert "heads that judged" in done.stdout
    assert "2 heads judged, each the theorems that it did not learn from" in " ".join(
        done.stdout.split()
    )
    assert "verdict" in done.stdout
    assert "test rank1 at depth 2" in done.stdout
    assert "groups by depth" in done.stdout
    config = json.loads((out / "best" / "config.json").read_text())
    assert config["encoder"]["pooling"] == "last"
    assert config["source"] == str(inputs / "model")
    assert config["head"] == {"width": 32, "conditioned": False, "dropout": 0.15, "linear": False}


def test_words_need_no_model(tmp_path: Path, inputs: Path) -> None:
    out = tmp_path / "out"
    words = ("--model", "words", "--embeddings", str(tmp_path / "words"))
    result = train(inputs, out, *words, "--steps", "60", "--slower", "--no-in-batch")
    assert result["test_rank1"] > 0.8 > result["test_logprob_rank1"]
    config = json.loads((out / "best" / "config.json").read_text())
    assert (config["encoder"]["model"], config["source"]) == ("words", "")
    assert config["head"] == {"width": 2048, "conditioned": False, "dropout": 0.15, "linear": True}
    with pytest.raises(InputError, match="no model's hidden states"):
        invoke(inputs, tmp_path / "other", *words, "--layer", "0")


def test_as_a_stage_of_a_run_each_head_has_its_lines_in_the_log(
    tmp_path: Path, inputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ValueTraining(data=(inputs / "run",), model="words", steps=5, folds=2)
    stage = TrainValue(config=asked, encoding=EncoderConfig(), out=tmp_path / "out")
    assert isinstance(execute(stage, Log(), resume=False), Done)
    assert "step 15/15: loss " in (said := capsys.readouterr().err)
    assert said.rstrip().endswith("fold 2")


def test_another_encoder_is_refused(tmp_path: Path, inputs: Path) -> None:
    train(inputs, tmp_path / "first", "--steps", "5")
    begin = ("--steps", "5", "--resume-from", str(tmp_path / "first"))
    assert train(inputs, tmp_path / "more", *begin)["steps"] == 5
    with pytest.raises(InputError, match="its dtype is float32, here bfloat16"):
        invoke(inputs, tmp_path / "other", *begin, "--dtype", "bfloat16")
    with pytest.raises(InputError, match="its pooling is mean, here last"):
        invoke(inputs, tmp_path / "other", *begin, "--pooling", "last")
    other = tiny_llama(tmp_path / "other-model", seed=1)
    with pytest.raises(InputError, match="its model is"):
        invoke(inputs, tmp_path / "other", *begin, "--model", str(other))
    assert not (tmp_path / "other").exists()


def test_a_temperature_at_its_bound_is_a_bad_end(tmp_path: Path, inputs: Path) -> None:
    done = invoke(inputs, tmp_path / "out", "--lr", "3", "--steps", "200", "--eval-every", "50")
    assert done.exit_code == 3, done
    assert json.loads((tmp_path / "out" / "result.json").read_text())["stopped"] == "temperature"
    assert "temperature went to its bound" in done.stderr
    # Killed before anybody wrote down that it ended, it is begun once more: it says that it ended.
    before = (tmp_path / "out" / "result.json").stat().st_mtime_ns
    again = ("--lr", "3", "--steps", "200", "--eval-every", "50", "--resume")
    assert invoke(inputs, tmp_path / "out", *again).exit_code == 3
    assert (tmp_path / "out" / "result.json").stat().st_mtime_ns > before


def test_what_is_wrong_is_told(tmp_path: Path, inputs: Path) -> None:
    with pytest.raises(InputError, match="unknown pooling max"):
        invoke(inputs, tmp_path / "out", "--pooling", "max")
    with pytest.raises(InputError, match="has no trajectories"):
        invoke(inputs, tmp_path / "out", "--data", str(tmp_path))
    short = write_searches(tmp_path / "short", range(4), steps=1)
    done = subprocess.run(
        [BURN_QED, "train", "value", *map(str, ("--data", short, "--model", inputs / "model")),
         "--out", str(tmp_path / "o")],
        capture_output=True, text=True, timeout=PATIENCE, check=False, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 1, done
    assert "nothing to learn from" in done.stderr
    assert "burn-qed negatives" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "o").exists()
