"""A ranker from end to end: searches with rules and lemmas, a training, an evaluation with it."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import BurnQedError, InputError
from burnqed.evaluation.results import read_result
from burnqed.lean.process import LaunchSpec
from burnqed.lean.toolchain import Toolchain
from burnqed.policy.ranked.weights import load, save, untrained
from burnqed.prover.leans import Lean
from burnqed.prover.policies import Choice, choice
from burnqed.training.order import learn_order
from burnqed.trajectories.store import iter_rows, read_records
from tests.cli.in_process import burn_qed

LEMMAS = [
    "Nat.lt_le_asymm", "Nat.eq_zero_of_le_zero", "Nat.one_lt_succ_succ", "Nat.eq_zero_or_eq_succ_pred",
    "Nat.le_of_pred_lt", "Nat.add_one_inj", "Nat.sub_self", "Nat.add_comm", "Option.mem_unique",
    "Option.isSome_eq_false_iff", "List.cons_inj_right", "List.not_mem_nil",
]  # fmt: skip
HELD_OUT = LEMMAS[:2]
SMALL = ("--candidates", "8", "--workers", "2")


def index(path: Path, names: list[str]) -> Path:
    entries = [{"name": name, "constant": name, "leak_rule": "self"} for name in names]
    path.write_text(json.dumps({"name": path.stem, "theorems": entries}), encoding="utf-8")
    return path


@pytest.fixture(scope="module", autouse=True)
def fewer() -> Iterator[None]:
    """A dozen theorems are enough here; a training worth the name needs more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("burnqed.training.ranker._FEWEST", 8)
        yield


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory, lean_launch: LaunchSpec) -> Path:
    """A search by what nobody has taught yet."""
    folder = tmp_path_factory.mktemp("ranker")
    theorems = index(folder / "train.json", LEMMAS)
    index(folder / "held.json", HELD_OUT)
    options = ("--policy", "ranked", "--nodes", "1", *SMALL)
    burn_qed("search", theorems, *options, "--out", folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def trained(searched: Path) -> Path:
    folder = searched.parent
    done = burn_qed(
        "train", "ranker", "--data", searched, "--without", folder / "held.json", "--json",
        "--lemma-epochs", "2", "--epochs", "3", "--workers", "1", "--out", folder / "ranker",
    )  # fmt: skip
    assert json.loads(done.stdout) == json.loads((folder / "ranker" / "result.json").read_text())
    return folder / "ranker"


@pytest.mark.lean
def test_a_search_with_lemmas_proves_library_theorems(searched: Path) -> None:
    records = read_records(searched / "trajectories")
    proved = {one.theorem for one in records if one.outcome == "proved"}
    assert len(proved) >= 10
    assert any("[" in step.tactic for one in records for step in one.path), "by lemmas, some of them"
    for row in iter_rows(searched / "trajectories"):
        assert f"[{row.theorem}" not in row.tactic
        assert f" {row.theorem}," not in row.tactic, "and never the theorem itself"
    manifest = json.loads((searched / "manifest.json").read_text())
    assert (manifest["policy"], manifest["places"]["model"]) == ("ranked", None)
    assert manifest["model_identity"] == untrained().identity


@pytest.mark.lean
def test_a_ranker_is_trained_without_what_is_held_out(trained: Path) -> None:
    result = json.loads((trained / "result.json").read_text())
    assert result["data"]["held_out"] == 2
    assert result["data"]["theorems"] >= 8
    assert load(trained / "best").identity == result["identity"]
    assert sorted(one.name for one in trained.iterdir()) == ["best", "result.json"]


@pytest.mark.lean
def test_an_evaluation_sees_what_a_model_is(trained: Path, tmp_path: Path) -> None:
    model, held = trained / "best", trained.with_name("held.json")
    out = tmp_path / "eval"
    burn_qed("eval", held, "--model", model, "--budgets", "1", *SMALL, "--out", out)
    assert read_result(out).at(1).solved >= 1
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["policy"] == "ranked"
    assert manifest["model_identity"] == load(model).identity
    assert manifest["places"]["model"] == str(model.resolve())


@pytest.mark.lean
def test_a_training_says_in_a_table_what_it_came_to(searched: Path, tmp_path: Path) -> None:
    options = ("--lemma-epochs", "1", "--epochs", "1", "--val-share", "0.3", "--workers", "1")
    done = burn_qed("train", "ranker", "--data", searched, *options, "--out", tmp_path / "deep" / "out")
    told = dict(re.findall(r"│ ([a-z0-9 ]+?) +│ (\S+)", done.stdout))
    result = json.loads((tmp_path / "deep" / "out" / "result.json").read_text())
    assert (told["identity"], told["held out"]) == (result["identity"], "0")
    assert (told["epochs"], told["proof steps"]) == ("1", str(result["data"]["proof_steps"]))
    assert {"best val loss", "baseline val loss", "lemma val recall 16"} <= told.keys()
    again = burn_qed("train", "ranker", "--data", searched, "--out", tmp_path / "deep" / "out", code=2)
    assert "is there already, and not empty" in again.stderr


@pytest.mark.lean
def test_too_few_theorems_are_exit_code_one(searched: Path, tmp_path: Path) -> None:
    few = index(tmp_path / "few.json", LEMMAS[2:])
    done = burn_qed(
        "train", "ranker", "--data", searched, "--without", few, "--workers", "1",
        "--out", tmp_path / "out", code=1,
    )  # fmt: skip
    assert "only 2 proved theorems to learn from" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.lean
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(
    searched: Path, tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sent when the order is about to be learnt, which ends with the epoch that is begun."""

    def interrupted(*arguments: Any) -> Any:
        os.kill(os.getpid(), number)
        return learn_order(*arguments)

    monkeypatch.setattr("burnqed.training.ranker.learn_order", interrupted)
    done = burn_qed(
        "train", "ranker", "--data", searched, "--epochs", "1000000", "--lemma-epochs", "1",
        "--workers", "1", "--out", tmp_path / "out", code=128 + number,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------- what is wrong


def test_what_a_directory_is_says_which_policy_is_meant(tmp_path: Path) -> None:
    save(tmp_path / "ranker", untrained(), {})
    model = str(tmp_path / "ranker")
    assert choice(None, model) == choice("ranked", model) == Choice("ranked", model)
    assert choice("ranked") == Choice("ranked")
    assert choice(None, str(tmp_path)) == Choice("local", str(tmp_path))
    assert choice("ranked").candidates == 32
    assert choice("ranked").temperature(None) == choice("ranked").temperature(None, valued=True) == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("device", "cpu"), ("dtype", "float32"), ("prompt", "colons"), ("prompt_tokens", 9),
        ("tactic_tokens", 9), ("logprobs", False), ("url", "http://localhost:1"),
    ],
)  # fmt: skip
def test_a_ranker_has_nothing_to_be_set(option: str, value: object) -> None:
    with pytest.raises(InputError, match="do not apply to a ranker") as refusal:
        choice("ranked", **{option: value})  # type: ignore[arg-type]
    assert "leave out" in refusal.value.hint


@pytest.mark.lean
def test_options_that_do_not_go_together(tmp_path: Path, lean_launch: LaunchSpec) -> None:
    theorems = index(tmp_path / "set.json", LEMMAS[:1])
    asked = ("search", theorems, "--out", tmp_path / "run")
    save(tmp_path / "ranker", untrained(), {})
    (tmp_path / "empty").mkdir()
    for options, told in (
        (("--policy", "portfolio", "--model", tmp_path / "ranker"), "the portfolio has no model"),
        (("--policy", "ranked", "--device", "cpu"), "do not apply to a ranker"),
        (
            ("--policy", "ranked", "--model", tmp_path / "empty"),
            f"{tmp_path / 'empty'} holds no ranker",
        ),
        (("--policy", "ranked", "--model", tmp_path / "absent"), "holds no ranker"),
    ):
        done = burn_qed(*asked, *options, code=2)
        assert told in done.stderr.replace("\n", " ")
        assert "fix: " in done.stderr
        assert not (tmp_path / "run").exists()


def test_a_training_is_refused_before_lean_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").write_text("")
    for out, told in ((full, "is there already, and not empty"), (tmp_path / "file", "is a file")):
        done = burn_qed("train", "ranker", "--data", tmp_path, "--out", out, code=2)
        assert told in done.stderr
    done = burn_qed("train", "ranker", "--data", tmp_path / "no", "--out", tmp_path / "out", code=2)
    assert "no holds no run" in done.stderr.replace("\n", " ")
    held = ("--without", "no-such-set")
    burn_qed("train", "ranker", "--data", tmp_path, *held, "--out", tmp_path / "out", code=2)
    burn_qed("train", "ranker", "--out", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()


def test_help_teaches() -> None:
    assert "burn-qed train ranker --data" in burn_qed("train", "ranker", "--help").stdout


def test_the_library_that_comes_along_is_not_read(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for it, and nothing is written. That of a project is its own."""
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path))
    nowhere = LaunchSpec(("/nowhere",), {})
    assert len(Lean(toolchain, nowhere, ("Init",)).library(1).names) > 20_000
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BurnQedError, match="/nowhere"):
        Lean(toolchain, nowhere, ("Init",), tmp_path).library(1)
