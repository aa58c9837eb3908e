"""`burn-qed train policy` and `burn-qed export` as a user runs them: killed, stopped, resumed."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from burnqed.cli.main import app
from burnqed.cli.watch import Watch
from burnqed.core.errors import InputError
from burnqed.training.log import read_log
from burnqed.training.sft import StepMetrics
from tests.cli.trainings import ENVIRONMENT, PATIENCE, interrupted
from tests.policy.tiny import tiny_llama
from tests.training.samples import pairs, write_jsonl

pytestmark = pytest.mark.timeout(900)
BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
SMALL = (
    "--method", "full", "--dtype", "fp32", "--prompt", "colons", "--max-length", "256",
    "--tactic-tokens", "32", "--val-share", "0.2", "--lr", "3e-3", "--save-every", "5",
    "--eval-every", "10",
)  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("train")
    tiny_llama(here / "model")
    write_jsonl(here / "pairs.jsonl", pairs(160))
    return here


def command(inputs: Path, out: Path, *options: str) -> list[str]:
    given = ("--data", str(inputs / "pairs.jsonl"), "--base", str(inputs / "model"))
    return [BURN_QED, "train", "policy", *given, "--out", str(out), *SMALL, *options]


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    """What runs in this process computes as the others do."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELERATE_USE_CPU", "true")
        yield


def burn_qed(*arguments: str) -> Any:
    """In this process, which has torch loaded; what it prints as JSON."""
    done = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done
    return json.loads(done.stdout)


def train(inputs: Path, out: Path, *options: str) -> Any:
    return burn_qed(*command(inputs, out, *options)[1:])


def steps(out: Path) -> list[Any]:
    return [
        (entry["kind"], entry["step"], entry.get("loss", entry.get("val_loss")))
        for entry in read_log(out / "log.jsonl")
    ]


def test_killed_and_stopped_it_ends_as_if_undisturbed(tmp_path: Path, inputs: Path) -> None:
    options = ("--batch", "4", "--accumulate", "2", "--steps", "120")
    whole = train(inputs, tmp_path / "whole", *options)
    out = tmp_path / "disturbed"
    assert interrupted(command(inputs, out, *options), out, signal.SIGKILL) == -signal.SIGKILL
    assert not (out / "result.json").exists()
    assert (
        interrupted(command(inputs, out, "--resume", *options), out, signal.SIGTERM)
        == 128 + signal.SIGTERM
    )
    assert not (out / "result.json").exists()
    again = train(inputs, out, "--resume", *options)
    assert again["val_loss"] == whole["val_loss"]
    assert again["best_val_loss"] == whole["best_val_loss"]
    assert steps(out) == steps(tmp_path / "whole")
    assert train(inputs, out, "--resume", *options) == again


def together(command: list[str]) -> tuple[list[int], list[tuple[str, str]]]:
    """Two processes as `accelerate launch` starts them: their exit codes, and what they print."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    workers = []
    for rank in range(2):
        environment = {
            **ENVIRONMENT, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        }  # fmt: skip
        workers.append(
            subprocess.Popen(
                command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        )
    said = [worker.communicate(timeout=PATIENCE) for worker in workers]
    return [worker.returncode for worker in workers], said


def test_the_last_line_has_the_last_evaluation(tmp_path: Path, inputs: Path) -> None:
    out = tmp_path / "out"
    arguments = command(inputs, out, "--steps", "7", "--match", "0")[1:]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done
    last = [line for line in done.stderr.splitlines() if line.startswith("step ")][-1]
    result = json.loads((out / "result.json").read_text())
    assert last.startswith("step 7/7: ")
    assert f"val {result['val_loss']:.3f}," in last
    assert f"{result['first_val_loss']:.3f}" not in last


def test_a_training_that_ends_early_has_a_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch(lambda told: f"val {told.val_loss}", shown=True) as watch:
        for step in (1, 2, 3):
            watch.told(StepMetrics(step, 100, 1.0, float(step), 1.0, None))
    assert capsys.readouterr().err.splitlines() == ["step 1/100: val 1.0", "step 3/100: val 3.0"]


@pytest.mark.soak
def test_what_one_process_refuses_ends_the_other_without_a_traceback(
    tmp_path: Path, inputs: Path
) -> None:
    (tmp_path / "mine").touch()
    codes, said = together(command(inputs, tmp_path))
    assert codes == [2, 2]
    assert all("is not empty" in err and "Traceback" not in err for _, err in said)


def test_two_processes_train_as_one(tmp_path: Path, inputs: Path) -> None:
    """Over gloo; 5 x 1 on two processes is 10 x 1 on one, down to a last step that is not full."""
    one = train(inputs, tmp_path / "one", "--batch", "10", "--accumulate", "1", "--epochs", "1")
    options = ("--batch", "5", "--accumulate", "1", "--epochs", "1", "--match", "4", "--json")
    codes, said = together(command(inputs, tmp_path / "two", *options))
    assert codes == [0, 0], said
    two = json.loads(said[0][0])
    assert said[1][0] == ""
    assert two == json.loads((tmp_path / "two" / "result.json").read_text())
    assert two["val_matched_pairs"] == 4
    assert one["train_examples"] % 10 != 0
    assert two["steps"] == one["steps"]
    assert two["val_loss"] == pytest.approx(one["val_loss"], abs=1e-4)
    for ours, theirs in zip(steps(tmp_path / "one"), steps(tmp_path / "two"), strict=True):
        assert ours == (theirs[0], theirs[1], pytest.approx(theirs[2], abs=1e-4))


def test_a_model_from_nothing_is_trained_and_exported(tmp_path: Path, inputs: Path) -> None:
    out = tmp_path / "nano"
    result = burn_qed(
        "train", "policy", "--data", str(inputs / "pairs.jsonl"), "--base", "nano", "--steps", "16",
        "--batch", "8", "--accumulate", "1", "--val-share", "0.2", "--out", str(out),
    )  # fmt: skip
    assert result["method"] == "full"
    assert result["val_loss"] < result["first_val_loss"]
    assert result["parameters"] == result["trained_parameters"] > 3e6
    told = burn_qed("export", str(out), "--out", str(tmp_path / "model"), "--verify")
    verified = told["verified"]
    assert verified["merge_difference"] == 0.0
    assert (tmp_path / "model" / "README.md").is_file()
    with pytest.raises(InputError, match="not empty"):
        burn_qed("export", str(out), "--out", str(tmp_path / "model"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--method", "half"), "unknown method half"),
        (("--dtype", "fp8"), "unknown dtype fp8"),
        (("--load", "int8", "--method", "lora"), "unknown load int8"),
        (("--load", "nf4"), "four bits cannot be trained"),
        (("--prompt", "shout"), "no prompt format shout"),
        (("--base", "nano", "--method", "lora"), "random weights"),
        (("--base", "nowhere"), "there is no model nowhere"),
        (("--base", "x" * 300), "there is no model xxx"),
        (("--data", "nowhere.jsonl"), "cannot read nowhere.jsonl"),
    ],
)
def test_wrong_options_are_told(
    tmp_path: Path, inputs: Path, options: tuple[str, ...], said: str
) -> None:
    told = CliRunner().invoke(app, command(inputs, tmp_path / "out", *options)[1:]).exception
    assert isinstance(told, InputError)
    assert said in told.message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("size", ["0GB", "0.0KB", "5", "big"])
def test_files_of_no_size_are_refused(tmp_path: Path, inputs: Path, size: str) -> None:
    given = ("export", str(inputs / "model"), "--out", str(tmp_path / "out"), "--shard", size)
    told = CliRunner().invoke(app, given).exception
    assert isinstance(told, InputError)
    assert f"no size: {size}" in told.message
