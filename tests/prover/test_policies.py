"""Where tactics come from: options that do not go together, and a taught model from end to end."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.lean.process import LaunchSpec
from burnqed.policy.mix import MIXTURE, read_shares
from burnqed.policy.prompt import PromptSettings, write_settings
from burnqed.prover.policies import Choice, _served_settings, choice
from burnqed.trajectories.store import iter_rows
from tests.cli.in_process import burn_qed
from tests.lanes import some
from tests.policy.tiny import tiny_llama
from tests.training import lessons
from tests.training.lessons import Tried

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
STATES = [f"a b : Nat\n⊢ a + {i} + b = b + (a + {i})" for i in range(40)]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    out = subprocess.run(
        [BURN_QED, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )
    assert out.returncode == 0, out
    assert "Traceback" not in out.stderr
    return out


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"policy": None}, Choice("portfolio")),
        ({"policy": None, "model": "m"}, Choice("local", "m")),
        ({"policy": "mix", "model": "m", "prompt": "colons"}, Choice("mix", "m", prompt="colons")),
        (
            {"policy": "openai", "url": "u", "logprobs": False},
            Choice("openai", url="u", logprobs=False),
        ),
    ],
)
def test_what_options_mean(given: dict[str, Any], meant: Choice) -> None:
    assert choice(**given) == meant


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"policy": "oracle"}, "unknown policy oracle"),
        ({"policy": "local"}, "needs a model"),
        ({"policy": "mix"}, "needs a model"),
        ({"policy": "sglang"}, "needs a server"),
        ({"policy": "openai", "model": "m"}, "needs a server"),
        ({"policy": "portfolio", "model": "m"}, "has no model"),
        ({"policy": "local", "model": "m", "url": "u"}, "does not use a server"),
        ({"policy": "sglang", "url": "u", "logprobs": False}, "only for --policy openai"),
        ({"policy": "local", "model": "m", "prompt": "chat"}, "no prompt format chat"),
        ({"policy": "local", "model": ""}, "needs a model"),
        ({"policy": "portfolio", "device": "cpu"}, "has no model"),
        ({"policy": "openai", "url": "u", "device": "cpu"}, "do not apply to a model on a server"),
    ],
)
def test_what_does_not_go_together(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told) as raised:
        choice(**given)
    assert raised.value.hint


def test_a_dialect_is_the_models_own_unless_another_is_asked_for() -> None:
    own = PromptSettings(dialect="core")
    assert choice("local", "m").settings(own) == own
    assert choice("local", "m", dialect="mathlib").settings(own).dialect == "mathlib"
    assert choice("local", "m").settings(PromptSettings()).dialect == ""


def test_how_many_and_how_warm_depends_on_the_policy() -> None:
    assert choice("portfolio").candidates == choice("mix", "m").candidates == 32
    assert choice("local", "m").candidates == 8
    assert choice("local", "m").temperature(None) == 0
    assert choice("openai", url="u").temperature(None) == 1
    assert choice("local", "m").temperature(0.5) == choice("openai", url="u").temperature(0.5) == 0.5
    with pytest.raises(InputError, match="can only sample"):
        choice("sglang", url="u").temperature(0.0)


# --------------------------------------------------------------------- a model that was taught


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that learnt from pairs to answer sums with one tactic and nothing else."""
    directory = tmp_path_factory.mktemp("taught")
    pairs = directory / "pairs.jsonl"
    rows = [
        {"state": state, "tactic": "omega", "theorem": f"t{i}", "depth": 0}
        for i, state in enumerate(STATES)
    ]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    base = tiny_llama(directory / "base")
    burn_qed(
        "train", "policy", "--data", pairs, "--base", base, "--out", directory / "run",
        "--method", "full",
        "--steps", "60", "--batch", "8", "--accumulate", "1", "--lr", "0.01", "--prompt", "colons",
    )  # fmt: skip
    return directory / "run" / "best"


def test_a_taught_model_says_what_it_learnt(taught: Path) -> None:
    asked = burn_qed("model", taught, "--ask", STATES[0].replace("\n", "\\n"), "--json")
    said = json.loads(asked.stdout)
    assert said["prompt"] == "colons"
    assert said["candidates"][0][0] == "omega"
    assert -0.5 < said["candidates"][0][1] <= 0


@pytest.mark.lean
@pytest.mark.parametrize("policy", some(["mix", "local"], 2))
def test_a_taught_model_proves_theorems(
    taught: Path, tmp_path: Path, lean_launch: LaunchSpec, policy: str
) -> None:
    index = tmp_path / "sums.json"
    entries = [
        {"name": f"sum_{i}", "statement": f"∀ a b : Nat, a + {i} + b = b + (a + {i})", "file_path": "S"}
        for i in range(3)
    ]
    index.write_text(json.dumps({"theorems": entries}), encoding="utf-8")
    options = ("--policy", policy, "--model", taught, "--nodes", "2", "--workers", "1")
    out = run("search", index, "--out", tmp_path / "run", *options, "--json")
    assert json.loads(out.stdout)["proved"] == 3
    rows = list(iter_rows(tmp_path / "run" / "trajectories"))
    assert any(row.tactic == "omega" and row.on_proof_path for row in rows)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["policy"], manifest["places"]["model"]) == (policy, str(taught.resolve()))
    assert len(manifest["model_identity"]) == 64
    refused = burn_qed("search", index, "--out", tmp_path / "run", "--resume", code=2)
    assert "policy was" in refused.stderr, "another policy is another run"
    if policy == "mix":
        return
    # Run, model and set carried elsewhere: the same run, which is done.
    there = tmp_path / "there"
    shutil.copytree(taught.parent, there / "model")
    index.rename(there / "sums.json")
    (tmp_path / "run").rename(there / "run")
    moved = ("--policy", policy, "--model", there / "model", *options[4:], "--json", "--resume")
    again = burn_qed("search", there / "sums.json", "--out", there / "run", *moved)
    assert again.stdout == out.stdout


def test_a_mixture_follows_its_model_where_that_was_right(taught: Path, tmp_path: Path) -> None:
    """The model says `omega` to everything. That is right at equations, and of no use at a ∧."""
    sums: dict[str, tuple[str, Tried]] = {
        f"sum{i}": (state, {"omega": "closed", "simp": "rejected"})
        for i, state in enumerate(STATES[:20])
    }
    pairs: dict[str, tuple[str, Tried]] = {
        f"pair{i}": (f"p q : Prop\nh : p\nk : q\n⊢ p ∧ q ∧ {i} = {i}", {"constructor": "closed"})
        for i in range(20)
    }
    data = lessons.run(tmp_path / "run", {**sums, **pairs})
    (data / "manifest.json").write_text('{"command": "search", "modules": ["Init"]}', encoding="utf-8")
    model = Path(shutil.copytree(taught, tmp_path / "model"))
    options = ("--model", model, "--toolchain", "embedded", "--json")
    learnt = json.loads(burn_qed("train", "mixture", "--data", data, *options).stdout)
    assert learnt["goals"] == {"eq": 20, "and": 20}
    shares = read_shares(model)
    assert shares.kinds["eq"] > shares.usual > shares.kinds["and"]
    assert learnt["kinds"] == shares.kinds
    (model / MIXTURE).write_text('{"usual": 2}', encoding="utf-8")
    with pytest.raises(InputError, match="cannot read"):
        read_shares(model)


def test_a_mixture_does_not_learn_from_a_handful(taught: Path, tmp_path: Path) -> None:
    data = lessons.run(tmp_path / "run", {"sum": (STATES[0], {"omega": "closed"})})
    options = ("--model", taught, "--toolchain", "embedded")
    refused = burn_qed("train", "mixture", "--data", data, *options, code=2)
    assert "1 states of proofs are too few" in refused.stderr
    assert not (taught / MIXTURE).exists()


def test_a_served_directory_says_how_it_is_asked(tmp_path: Path) -> None:
    told: list[str] = []
    write_settings(tmp_path, PromptSettings("proofstep", 448, 64))
    own = _served_settings(choice("openai", str(tmp_path), url="u"), told.append)
    assert own == PromptSettings("proofstep", 448, 64)
    assert told == []
    given = choice("openai", str(tmp_path), url="u", prompt="colons", tactic_tokens=32)
    assert _served_settings(given, told.append) == PromptSettings("colons", 448, 32)
    assert _served_settings(choice("openai", "some-model", url="u"), told.append) == PromptSettings()
    assert "--prompt" in told[0]


def test_a_server_that_is_not_there_leaves_no_run_behind(tmp_path: Path) -> None:
    index = tmp_path / "one.json"
    entry = {"name": "a", "statement": "1 = 1", "file_path": "A"}
    index.write_text(json.dumps({"theorems": [entry]}), encoding="utf-8")
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        options = ("--policy", "sglang", "--url", url, "--prompt", "colons")
        out = burn_qed("search", index, "--out", tmp_path / "run", *options, code=3)
    assert url in out.stderr
    assert not (tmp_path / "run").exists()


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    out = burn_qed("prove", "1 = 1", "--model", tmp_path / "absent", code=2)
    assert "absent" in out.stderr
