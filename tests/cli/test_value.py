"""A value model in `search` and `eval`, with real Lean: used, not used, compared, refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner, Result

from burnqed.cli.main import app
from burnqed.core.errors import InputError
from burnqed.policy.models.load import load
from burnqed.trajectories.store import iter_rows
from burnqed.value.calibration import (
    CALIBRATION,
    Exam,
    Scored,
    ScoredSiblings,
    calibrate,
    write_calibration,
)
from burnqed.value.encoder import LocalEncoder
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.saved import write_head
from burnqed.value.words import WordsEncoder
from tests.lanes import some
from tests.policy.tiny import tiny_llama

pytestmark = pytest.mark.lean

STATEMENTS = {
    "swap": "∀ p q : Prop, p ∧ q → q ∧ p",
    "hard": "∀ n : Nat, n < 3 → n * n = n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of theorems, a model, and a head on it that is trusted, and one that is not."""
    here = tmp_path_factory.mktemp("value")
    theorems = [{"name": n, "statement": s, "file_path": ""} for n, s in STATEMENTS.items()]
    (here / "set.json").write_text(json.dumps({"theorems": theorems}))
    tiny_llama(here / "model")
    name = LocalEncoder(load(here / "model")).name
    torch.manual_seed(0)
    head = EnergyHead(HeadConfig(name.width))
    siblings = [ScoredSiblings("t", 1, Scored(0.0, -1.0), (Scored(1.0, -2.0),))]
    found = calibrate(siblings, [Exam(siblings, siblings)], ["portfolio"])
    told = {"train_loss": 1.0, "test_energy_gap": 0.1, "test_rank1": 0.5, "steps": 9, "seconds": 2.0}
    (here / "result.json").write_text(json.dumps(told))
    for verdict in ("better", "no better"):
        directory = here / verdict.replace(" ", "-")
        write_head(directory, head, name, str((here / "model").resolve()))
        write_calibration(directory, replace(found, verdict=verdict))
    return here


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def search(place: Path, out: Path, *options: str | Path) -> tuple[Result, dict[str, Any]]:
    done = run(
        "search", place / "set.json", "--out", out, "--nodes", "3", "--workers", "1",
        "--json", *options, *(() if "--model" in options else ("--policy", "portfolio")),
    )  # fmt: skip
    return done, json.loads((out / "manifest.json").read_text())


def test_a_trusted_head_gives_every_node_an_energy(place: Path, tmp_path: Path) -> None:
    done, manifest = search(place, tmp_path / "run", "--value", place / "better")
    assert done.exit_code == 0
    assert manifest["value_used"] is True
    assert manifest["value_alpha"] + manifest["value_beta"] == 1
    rows = list(iter_rows(tmp_path / "run" / "trajectories"))
    assert rows
    assert all(row.energy is not None for row in rows)


def test_a_head_on_words_guides_without_a_model(place: Path, tmp_path: Path) -> None:
    head = EnergyHead(HeadConfig(WordsEncoder.name.width, conditioned=False, linear=True))
    write_head(tmp_path / "words", head, WordsEncoder.name)
    shutil.copy(place / "better" / CALIBRATION, tmp_path / "words" / CALIBRATION)
    done, manifest = search(place, tmp_path / "run", "--value", tmp_path / "words")
    assert (done.exit_code, manifest["value_used"]) == (0, True)
    rows = list(iter_rows(tmp_path / "run" / "trajectories"))
    assert len({row.energy for row in rows}) > 1
    assert all(row.energy is not None for row in rows)
    with pytest.raises(InputError, match="reads words"):
        search(place, tmp_path / "other", "--value", tmp_path / "words", "--encoder", place / "model")


def test_one_that_ranks_no_better_is_not_used_and_the_user_is_told(place: Path, tmp_path: Path) -> None:
    done, manifest = search(place, tmp_path / "run", "--value", place / "no-better")
    assert done.exit_code == 0
    assert "uses log-probability alone" in done.stderr
    assert manifest["value_used"] is False
    assert all(row.energy is None for row in iter_rows(tmp_path / "run" / "trajectories"))
    assert manifest["temperature"] == 0
    done, manifest = search(
        place, tmp_path / "anyway", "--value", place / "no-better", "--value-anyway"
    )
    assert "it is used anyway" in done.stderr
    assert manifest["value_used"] is True


@pytest.mark.parametrize("policy", some(["local", "portfolio"], 2))
def test_with_and_without_are_compared(place: Path, tmp_path: Path, policy: str) -> None:
    options: tuple[str | Path, ...] = (
        "--budgets", "1,3", "--value", place / "no-better", "--ablate", "--workers", "1",
        "--policy", policy,
        *(("--model", place / "model", "--tactic-tokens", "8") if policy == "local" else ()),
    )  # fmt: skip
    out = tmp_path / "run"
    done = run("eval", place / "set.json", *options, "--out", out, "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told == json.loads((out / "ablation.json").read_text())
    assert [row["label"] for row in told["rows"]] == ["without value", "with value"]
    without, given = (
        json.loads((out / arm / "manifest.json").read_text()) for arm in ("without-value", "with-value")
    )
    assert given.pop("places")["value"] == str((place / "no-better").resolve())
    assert "value" not in without.pop("places", {})
    only = {key for key in given if key not in without}
    assert {key: given[key] for key in given if key not in only} == without
    assert only
    assert all(key.startswith("value") for key in only)
    result = json.loads((out / "with-value" / "result.json").read_text())
    assert result["ebm_path"] == str((place / "no-better").resolve())
    assert result["training_metrics"]["final_rank_accuracy"] == 0.5
    again = run("eval", place / "set.json", *options, "--out", out, "--resume", "--json")
    assert json.loads(again.stdout) == told


def test_a_head_of_another_encoder_is_refused(place: Path, tmp_path: Path) -> None:
    tiny_llama(tmp_path / "other", seed=1)
    with pytest.raises(InputError, match="model"):
        search(place, tmp_path / "run", "--value", place / "better", "--encoder", tmp_path / "other")
    with pytest.raises(InputError, match="needs a value model"):
        search(place, tmp_path / "run", "--encoder", tmp_path / "other")
    with pytest.raises(InputError, match="--ablate"):
        run("eval", place / "set.json", "--ablate", "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_weights_are_set_by_hand(place: Path, tmp_path: Path) -> None:
    by_hand = ("--value", place / "better", "--alpha", "0.25", "--beta", "2")
    _, manifest = search(place, tmp_path / "run", *by_hand)
    assert (manifest["value_alpha"], manifest["value_beta"]) == (0.25, 2)
    rows = list(iter_rows(tmp_path / "run" / "trajectories"))
    root = next(row for row in rows if row.node == 0)
    assert root.energy is not None
    assert root.score == pytest.approx(-2 * root.energy)
    unexpanded = {c for row in rows for c in row.children} - {row.node for row in rows}
    assert unexpanded, "this search should leave something"
    for row in rows:
        assert row.child_energies is not None
        assert len(row.child_energies) == len(row.children)
    with pytest.raises(InputError, match="other settings"):
        search(place, tmp_path / "run", *by_hand[:-1], "3", "--resume")


@pytest.mark.parametrize("options", [("--alpha", "0.5"), ("--beta", "0.5")])
def test_a_weight_without_a_value_model_is_refused(
    place: Path, tmp_path: Path, options: tuple[str, str]
) -> None:
    with pytest.raises(InputError, match=f"{options[0]} needs a value model"):
        search(place, tmp_path / "run", *options)


def test_weights_of_nothing_are_refused(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing is left to order states by"):
        run(
            "search", place / "set.json", "--out", tmp_path / "run", "--policy", "portfolio",
            "--value", place / "better", "--alpha", "0", "--beta", "0",
        )  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_a_search_is_explained(place: Path) -> None:
    options = (
        "--policy", "portfolio", "--nodes", "2", "--candidates", "3", "--value", place / "better",
        "--beta", "0.5",
    )  # fmt: skip
    statement = "∀ n : Nat, 2 ∣ n * (n + 1)"
    done = run("prove", statement, *options, "--explain", "--json")
    told = json.loads(done.stdout)["explanation"]
    assert told["scoring"]["beta"] == 0.5
    (searched,) = told["searches"]
    first, second = searched["choices"]
    assert (first["order"], first["node"], second["order"]) == (1, 0, 2)
    best = next(one for one in first["led"] if one["node"] is not None)
    assert best["node"] == second["node"]
    assert best["energy"] == second["energy"] is not None
    scoring = told["scoring"]
    path = best["path_logprob"] / best["path_length"] ** scoring["length_power"]
    assert best["score"] == pytest.approx(scoring["alpha"] * path - 0.5 * best["energy"])
    said = run("prove", statement, *options, "--explain").stderr
    assert said.startswith(
        f"score = {scoring['alpha']:g} × log-probability of the path / steps^0.5 - 0.5"
    )
    assert f"energy {second['energy']:.3f}" in said
    assert "explanation" not in json.loads(run("prove", statement, *options, "--json").stdout)
