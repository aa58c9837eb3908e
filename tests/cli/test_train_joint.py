"""`burn-qed train joint` as a user runs it: killed, stopped, ended early, and what is left."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from burnqed.cli.main import app
from burnqed.core.errors import ConfigError, InputError, NotEnough
from burnqed.core.watching import Quiet
from burnqed.prover.config import GuidedConfig
from burnqed.prover.policies import Prepared, choice, load_model
from burnqed.prover.values import guide
from burnqed.training.log import read_log
from burnqed.value.encoder import LocalEncoder
from burnqed.value.scorer import Scorer
from tests.cli.trainings import interrupted
from tests.policy.tiny import tiny_llama
from tests.training.samples import pairs, write_jsonl
from tests.training.searches import write_searches

pytestmark = pytest.mark.timeout(900)
BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
SMALL = (
    "--prompt", "colons", "--max-length", "128", "--tactic-tokens", "32", "--dtype", "fp32",
    "--batch", "4", "--positives", "4", "--accumulate", "1", "--val-share", "0.3", "--rank", "4",
    "--eval-every", "10", "--save-every", "5", "--lr", "3e-3", "--head-lr", "3e-3",
)  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("joint")
    tiny_llama(here / "model")
    write_searches(here / "run", range(50))
    write_jsonl(here / "pairs.jsonl", pairs(80))
    return here


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    """What runs in this process computes as the others do."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def command(inputs: Path, out: Path, *options: str) -> list[str]:
    given = ("--data", inputs / "pairs.jsonl", "--runs", inputs / "run", "--base", inputs / "model")
    return [BURN_QED, "train", "joint", *map(str, given), "--out", str(out), *SMALL, *options]


def invoke(inputs: Path, out: Path, *options: str) -> Any:
    return CliRunner().invoke(app, command(inputs, out, *options)[1:], catch_exceptions=False)


def weights(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*.safetensors"))
    }


def test_killed_it_goes_on_to_the_same_weights(tmp_path: Path, inputs: Path) -> None:
    options = ("--steps", "60", "--json")
    whole = invoke(inputs, tmp_path / "whole", *options)
    assert whole.exit_code == 0, whole
    out = tmp_path / "killed"
    assert interrupted(command(inputs, out, *options), out, signal.SIGKILL) == -signal.SIGKILL
    assert not (out / "result.json").exists()
    again = invoke(inputs, out, "--resume", *options)
    assert again.exit_code == 0, again
    assert {**json.loads(again.stdout), "seconds": 0} == {**json.loads(whole.stdout), "seconds": 0}
    assert len(weights(out)) == 4, "both models, in the checkpoint and as the best"
    assert weights(out) == weights(tmp_path / "whole")
    steps = [entry["step"] for entry in read_log(out / "log.jsonl") if entry["kind"] == "train"]
    assert steps == list(range(1, 61))


def test_what_is_left_is_one_model_for_policy_and_value(tmp_path: Path, inputs: Path) -> None:
    out = tmp_path / "out"
    done = invoke(inputs, out, "--steps", "20")
    assert done.exit_code == 0, done
    assert "verdict" in done.stdout
    assert "largest batch:" in done.stderr
    moved = out.rename(tmp_path / "moved")
    model = choice("local", str(moved))
    prepared = Prepared(model, {}, loaded=load_model(model, Quiet().warn))
    found = guide(GuidedConfig(value=moved, value_anyway=True), prepared, lambda _problem: None)
    assert isinstance(found.value, Scorer)
    encoder = found.value._encoder
    assert isinstance(encoder, LocalEncoder)
    assert prepared.loaded is not None
    assert encoder._loaded.model is prepared.loaded.model, "it is in memory once"
    assert found.training is not None
    assert found.training.training_steps == 20
    # Without the policy in memory, it is the one beside the head.
    other = Prepared(choice("portfolio"), {})
    again = guide(GuidedConfig(value=moved, value_anyway=True), other, lambda _problem: None)
    assert isinstance(again.value, Scorer)


def test_one_that_is_ended_early_is_a_bad_end(tmp_path: Path, inputs: Path) -> None:
    done = invoke(inputs, tmp_path / "out", "--steps", "20", "--least-distance", "50")
    assert done.exit_code == 3, done
    assert "ended at step 10: positives and negatives came closer" in done.stderr
    assert "step 0 is kept" in done.stderr
    assert json.loads((tmp_path / "out" / "result.json").read_text())["stopped"] == "collapse"


def test_what_is_wrong_is_told(tmp_path: Path, inputs: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(ConfigError, match="unknown scale much"):
        invoke(inputs, out, "--scale", "much")
    with pytest.raises(InputError, match="the model has no layer 7"):
        invoke(inputs, out, "--layer", "7")
    with pytest.raises(InputError, match="random weights need more than an adapter"):
        invoke(inputs, out, "--base", "nano", "--method", "lora")
    with pytest.raises(InputError, match="has no trajectories"):
        invoke(inputs, out, "--runs", str(tmp_path))
    short = write_searches(tmp_path / "short", range(4), steps=1)
    given = [*command(inputs, out)[1:]]
    given[given.index(str(inputs / "run"))] = str(short)
    with pytest.raises(NotEnough, match="nothing to learn from") as refused:
        CliRunner().invoke(app, given, catch_exceptions=False)
    assert "give both with --runs" in refused.value.hint
    assert not out.exists() or not (out / "manifest.json").exists()
