"""An attribution from its inputs to its report, with real Lean and a nano model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from burnqed.core.errors import InputError
from burnqed.core.files import publish_json
from burnqed.core.runs import read_manifest
from burnqed.evaluation.attribution import ARMS, RULE, attributed
from burnqed.evaluation.results import read_result
from burnqed.iteration.arms import Config, attribute, read_settings
from burnqed.prover.trainers import train_joint, train_policy, train_value
from burnqed.value.saved import read_head
from tests.cli.in_process import burn_qed
from tests.training.samples import Watcher, pairs, write_jsonl
from tests.training.searches import write_searches

pytestmark = [pytest.mark.lean, pytest.mark.timeout(900)]

STATEMENTS = {"easy": "∀ n : Nat, n + 0 = n", "false": "∀ p : Prop, p"}
SETTINGS = """
[run]
workers = 1

[value]
val_share = 0.3

[value.training]
folds = 2
steps = 4

[joint.training]
steps = 4
batch = 2
positives = 2
accumulate = 1
rank = 4
eval_every = 2
save_every = 1
least_distance = 0.0
most_loss = 100.0

[eval]
budgets = [1, 2]
candidates = 8

[eval.settings]
tactic_tokens = 8
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A nano policy, what it learns from, theorems, and settings."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    here = tmp_path_factory.mktemp("arms")
    theorems = [{"name": n, "statement": s, "file_path": ""} for n, s in STATEMENTS.items()]
    publish_json(here / "few.json", {"theorems": theorems})
    (here / "settings.toml").write_text(SETTINGS)
    write_jsonl(here / "pairs.jsonl", pairs(30))
    write_searches(here / "run", range(24))
    small: dict[str, Any] = {"steps": 2, "batch": 4, "max_length": 128, "tactic_tokens": 32}
    train_policy(here / "pairs.jsonl", here / "nano", base="nano", matched=0, **small)
    yield here
    torch.set_num_threads(before)


def words(place: Path, out: Path, *more: str) -> list[str]:
    given = {"model": "nano", "data": "pairs.jsonl", "runs": "run", "config": "settings.toml"}
    options = [word for name, file in given.items() for word in (f"--{name}", str(place / file))]
    return ["attribute", str(place / "few.json"), *options, "--out", str(out), *more]


def times(out: Path) -> dict[str, int]:
    """When each result was written, and each head and policy."""
    found = [*out.rglob("result.json"), *out.rglob("*.safetensors")]
    return {str(path.relative_to(out)): path.stat().st_mtime_ns for path in found}


@pytest.fixture(scope="module")
def done(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An attribution that was stopped in its first training, and has gone on."""
    out = tmp_path_factory.mktemp("attribution") / "out"
    stopped = attribute(
        str(place / "few.json"), place / "nano", [place / "pairs.jsonl"], [place / "run"], out,
        config=place / "settings.toml", watcher=Watcher(stop_after=8),
    )  # fmt: skip
    assert stopped is None
    assert not (out / "attribution.json").exists()
    assert "holds a run already" in burn_qed(*words(place, out), code=2).stderr
    told = json.loads(burn_qed(*words(place, out, "--resume", "--json")).stdout)
    assert {**json.loads((out / "attribution.json").read_text()), "page": told["page"]} == told
    assert told["page"] == str(out / "report.html")
    return out


@pytest.mark.soak
def test_arms_are_what_they_are_called(done: Path) -> None:
    out = done
    both = read_head(out / "joint")
    first, second = (read_head(out / name) for name in ("value-0", "value-1"))
    assert first.encoder.model != both.encoder.model == second.encoder.model
    assert second.identity != both.identity
    folders = {
        "none-0": "iteration-0/without-value", "A": "iteration-0/with-value",
        "none-1": "iteration-1/without-value", "B": "refitted", "C": "iteration-1/with-value",
    }  # fmt: skip
    results = {arm: read_result(out / "eval" / "few" / folder) for arm, folder in folders.items()}
    used = {arm: result.ebm_path for arm, result in results.items()}
    named = {"A": "value-0/best", "B": "value-1/best", "C": "joint/best/value"}
    assert used == {arm: str(out / named[arm]) if arm in named else None for arm in ARMS}
    for arm, result in results.items():
        settings = result.settings
        assert settings.get("value_used", False) is (arm in named)
        assert (settings["temperature"], settings["candidates"]) == (0, 8)
        assert result.budgets == (1, 2)
        by_name = {t.name: t for t in result.largest.per_theorem}
        assert by_name["easy"].proved, "a rule proves it in one step"
        assert by_name["false"].outcome == "exhausted"

    # The report says what the evaluations say.
    told = json.loads((out / "attribution.json").read_text())
    page = (out / "report.html").read_text(encoding="utf-8")
    again = attributed({"few": results}, told["measured"])
    assert told["recommendation"]["arm"] == again.recommendation.arm == ""
    assert told["scores"]["few"]["C"]["2"]["solved"] == 1
    assert told["measured"]["joint"]["steps"] == 4
    assert {told["measured"][arm]["verdict"] for arm in "ABC"} <= {"better", "no better", "undecided"}
    for text in ("No head", *ARMS.values(), "embeddings", "live gradients", "in total"):
        assert text in page
    assert RULE.split(".")[0] in page


@pytest.mark.soak
def test_a_second_time_nothing_is_done_again(place: Path, done: Path) -> None:
    out, before = done, times(done)
    said = burn_qed(*words(place, out, "--resume"))
    assert "recommended: no head" in said.stdout
    changed = {name for name, when in times(out).items() if when != before[name]}
    assert not {name for name in changed if name.startswith("eval") or name.endswith("safetensors")}
    assert read_manifest(out)["command"] == "attribute"


@pytest.mark.soak
def test_trainings_that_are_there_serve_another_attribution(
    place: Path, done: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    given = ("--value", str(done / "value-0"), "--joint", str(done / "joint"))
    burn_qed(*words(place, out, *given, "--set", "eval.budgets=[1]"))
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == ["eval", "value-1"]
    third = words(place, tmp_path / "third", *given, "--set", "value.val_share=0.5")
    assert "val-share 0.3, and [value] val_share is 0.5" in burn_qed(*third, code=2).stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--set", "joint.training.stepps=3"), "[joint.training]: unknown setting stepps"),
        (("--set", "eval.settings.encoder=x"), "[eval.settings]: unknown setting encoder"),
        (("--set", "eval.budgets=[]"), "budgets is empty"),
        (("few.json",), "two sets have the same name"),
        (("--joint", "nano"), "nano is not a directory of `burn-qed train joint`"),
        (("--value", "run"), "run is not a directory of `burn-qed train value`"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_made(
    place: Path, tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    out = tmp_path / "out"
    given = [str(place / one) if (place / one).exists() else one for one in options]
    assert problem in burn_qed(*words(place, out, *given), code=2).stderr
    assert not out.exists()


@pytest.fixture(scope="module")
def other(place: Path) -> Path:
    """Another policy, with a head on it and a joint training that went on from it; and one on words."""
    here, runs = place / "other", place / "run"
    small: dict[str, Any] = {"steps": 1, "max_length": 128, "tactic_tokens": 32}
    train_policy(place / "pairs.jsonl", here / "nano", base="nano", matched=0, batch=4, seed=1, **small)
    for name, model in (("head", str(here / "nano")), ("words", "words")):
        train_value(runs, model, here / name, folds=1, steps=1, val_share=0.3)
    train_joint(
        place / "pairs.jsonl", runs, here / "joint", base=str(here / "nano"), val_share=0.3, rank=4,
        batch=2, positives=2, least_distance=0.0, steps=1,
    )  # fmt: skip
    return here


@pytest.mark.parametrize(
    ("option", "given", "began"),
    [("--value", "head", "nano"), ("--value", "words", "words"), ("--joint", "joint", "nano")],
)
def test_what_was_trained_on_another_model_is_no_arm(
    place: Path, other: Path, tmp_path: Path, option: str, given: str, began: str
) -> None:
    out = tmp_path / "out"
    said = " ".join(burn_qed(*words(place, out, option, str(other / given)), code=2).stderr.split())
    assert f"{other / given} was trained on" in said
    assert began in said.split("was trained on")[1].split("--model is")[0]
    assert f"--model is {place / 'nano'} (" in said
    assert not out.exists()


def test_another_model_does_not_go_on_with_an_attribution(
    place: Path, other: Path, tmp_path: Path
) -> None:
    out, runs = tmp_path / "out", [place / "run"]

    def stopped(model: Path, *, resume: bool = False, **given: Path) -> None:
        assert attribute(
            str(place / "few.json"), model, [place / "pairs.jsonl"], runs, out, **given,
            config=place / "settings.toml", watcher=Watcher(stop_after=1), resume=resume,
        ) is None  # fmt: skip

    given = other / "head"
    stopped(other / "nano", value=given)
    stopped(other / "nano", value=given, resume=True)
    with pytest.raises(
        InputError, match=r"identities\.model was '\w+', now '\w+'.*identities.head was"
    ):
        stopped(place / "nano", resume=True)
    with pytest.raises(InputError, match=r"identities\.joint was None, now '\w+'"):
        stopped(other / "nano", value=given, joint=other / "joint", resume=True)


def test_there_are_settings_without_a_file(tmp_path: Path) -> None:
    assert read_settings(None) == Config()
    with pytest.raises(InputError, match="there is no set"):
        attribute((), "nano", [], [], tmp_path / "out")
