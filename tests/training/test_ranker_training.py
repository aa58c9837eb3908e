"""Training a ranker from searches: what it is told to be worth, and whole or not there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnqed.core.errors import InfrastructureError, NotEnough
from burnqed.data.index import parse_index
from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.retrieval import Retriever
from burnqed.policy.ranked.shapes import shape_row
from burnqed.policy.ranked.weights import load, untrained
from burnqed.training.decisions import Decision
from burnqed.training.pairs import is_validation
from burnqed.training.plans import ORDER, RETRIEVAL
from burnqed.training.ranker import Job, _choice, train_ranker
from tests.training.lessons import Tried, run
from tests.training.samples import Watcher

# Nothing but a lemma called by its name helps; each state shares a word with the one that it needs.
COUNT = 60
LIBRARY = Library(
    tuple(f"Lib.l{i}" for i in range(COUNT)),
    ("M",) * COUNT,
    tuple(f"∀ (n : Nat), Word{i} n = n" for i in range(COUNT)),
)
HELPS = "exact Lib.l{} .."


def taught(directory: Path, count: int = COUNT) -> Path:
    proved = {}
    for i in range(count):
        helps = f"first | {HELPS.format(i)} | {HELPS.format((i + 1) % COUNT)}"
        tried: Tried = {"simp": "rejected", "omega": "rejected", "grind": "timeout", helps: "closed"}
        proved[f"t{i}"] = (f"n : Nat\n⊢ Word{i} n = n", tried)
    return run(directory, proved, seconds={"simp": 0.01, "omega": 0.02, "grind": 0.27})


def job(*runs: Path, seed: int = 0, **more: Any) -> Job:
    efforts = replace(RETRIEVAL, epochs=2, seed=seed), replace(ORDER, epochs=20, lr=0.05, seed=seed)
    return Job(runs, retrieval=efforts[0], order=efforts[1], **more)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return taught(tmp_path_factory.mktemp("ranker") / "run")


@pytest.fixture(scope="module")
def trained(searched: Path) -> tuple[Path, dict[str, Any]]:
    out = searched.with_name("out")
    result = train_ranker(job(searched), LIBRARY, out, Watcher())
    assert result is not None
    return out, result


def test_a_training_says_what_it_is_worth(trained: tuple[Path, dict[str, Any]]) -> None:
    out, result = trained
    val = sum(is_validation(f"t{i}", 0.1) for i in range(COUNT))
    assert val > 0
    assert result["data"]["theorems"] == result["data"]["lemmas"] == result["data"]["decided"] == COUNT
    assert (result["train_examples"], result["val_examples"]) == (COUNT - val, val)
    assert result["data"]["timed_tactics"] == 3 * COUNT
    assert (result["base"], result["library"], result["lemma_val_examples"]) == ("ranker", COUNT, val)
    assert 0 < result["epochs"] <= 20, "the epoch that was best"
    assert result["best_val_loss"] < result["baseline_val_loss"]
    assert result["val_top1"] == 1.0 > result["baseline_val_top1"]
    for before in ("lemma_val", "lemma_baseline"):
        assert [result[f"{before}_recall_{cut}"] for cut in (1, 4, 16)] == [1.0] * 3
    assert result["seconds"] > 0
    assert json.loads((out / "result.json").read_text()) == result


def test_what_is_written_is_what_was_trained(trained: tuple[Path, dict[str, Any]]) -> None:
    out, result = trained
    weights = load(out / "best")
    assert weights.identity == result["identity"] != untrained().identity
    helpful, simp = (weights.bias[shape_row(t)] for t in ("first | exact a ..", "simp"))
    assert helpful > simp
    card = json.loads((out / "best" / "config.json").read_text())
    assert (card["seed"], card["without"]) == (0, [])


def test_the_same_seed_is_the_same_ranker(searched: Path, tmp_path: Path, trained: Any) -> None:
    again = train_ranker(job(searched), LIBRARY, tmp_path / "a", Watcher())
    other = train_ranker(job(searched, seed=1), LIBRARY, tmp_path / "b", Watcher())
    assert again is not None
    assert other is not None
    assert again["identity"] == trained[1]["identity"] != other["identity"]
    assert {**again, "seconds": 0} == {**trained[1], "seconds": 0}


def test_held_out_theorems_have_no_part_in_it(searched: Path, tmp_path: Path) -> None:
    entries = [{"name": f"t{i}", "statement": "1 = 1"} for i in range(30)]
    held = parse_index("held", "held", {"theorems": entries})
    result = train_ranker(job(searched, without=(held,)), LIBRARY, tmp_path / "out", Watcher())
    assert result is not None
    assert (result["data"]["theorems"], result["data"]["held_out"]) == (30, 30)
    card = json.loads((tmp_path / "out" / "best" / "config.json").read_text())
    assert card["without"] == ["held"]


def test_without_validation_there_is_nothing_to_compare(searched: Path, tmp_path: Path) -> None:
    result = train_ranker(job(searched, val_share=0.0), LIBRARY, tmp_path / "out", Watcher())
    assert result is not None
    assert (result["val_examples"], result["epochs"]) == (0, 20)
    assert "best_val_loss" not in result


def test_stopped_it_leaves_nothing(searched: Path, tmp_path: Path) -> None:
    """In each of its parts: lemmas, looking at decisions, the order."""
    for asked in (1, 5, 12, 40, 70, 88):
        watch = Watcher(stop_after=asked)
        assert train_ranker(job(searched), LIBRARY, tmp_path / "out", watch) is None, asked
        assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_leaves_nothing(searched: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write"):
        train_ranker(job(searched), LIBRARY, tmp_path / "file" / "out", Watcher())


def test_too_little_to_learn_from(tmp_path: Path) -> None:
    few = taught(tmp_path / "few", 19)
    with pytest.raises(NotEnough, match="only 19 proved theorems") as refusal:
        train_ranker(job(few), LIBRARY, tmp_path / "out", Watcher())
    assert "20 are the least" in refusal.value.hint
    closed: Tried = {"simp": "closed"}
    alone = run(tmp_path / "alone", {f"t{i}": (f"⊢ Word{i}", closed) for i in range(30)})
    with pytest.raises(NotEnough, match="no decision had both"):
        train_ranker(job(alone), LIBRARY, tmp_path / "out", Watcher())
    assert not (tmp_path / "out").exists()


def test_proofs_without_lemmas_teach_an_order(tmp_path: Path) -> None:
    """Then nothing is known about lemmas, and retrieval is as it was."""
    tried: Tried = {"omega": "rejected", "rfl": "closed"}
    made = run(tmp_path / "run", {f"t{i}": (f"n : Nat\n⊢ n + {i} = n", tried) for i in range(30)})
    result = train_ranker(job(made), LIBRARY, tmp_path / "out", Watcher())
    assert result is not None
    assert result["data"]["lemmas"] == 0
    weights = load(tmp_path / "out" / "best")
    assert not weights.offering.any()
    assert weights.bias[shape_row("rfl")] > weights.bias[shape_row("omega")]


# ---------------------------------------------------------------------------- decisions in numbers


def test_a_decision_is_seen_as_the_ranker_will_see_it() -> None:
    """Lists of other lemmas and what `exact?` found are known by their shapes; the rest is not."""
    retriever = Retriever(LIBRARY, untrained())
    tried = ("omega", "exact Lib.l3 n", "grind [Lib.l7, Lib.l8, Lib.l9, Lib.l10]", "no tactic of ours")
    state = "n : Nat\n⊢ Word3 n = n"
    seen = _choice(Decision("t", state, tried, frozenset({tried[1]})), retriever)
    assert seen is not None
    assert list(seen.shapes) == [shape_row(t) for t in ("omega", "exact?", tried[2])]
    assert list(seen.worked) == [False, True, False]
    assert list(seen.strengths[:2]) == [0, 0], "when exact? is proposed, its lemma is not known"
    assert seen.strengths[2] < 0
    assert np.isfinite(seen.weights).all()


@pytest.mark.parametrize(
    ("state", "worked"),
    [
        ("⊢ Word3 n = n", {"omega", "simp"}),
        ("⊢ Word3 n = n", {"no tactic of ours"}),
        ("no goals", {"omega"}),
    ],
)
def test_where_there_is_nothing_to_choose(state: str, worked: set[str]) -> None:
    decision = Decision("t", state, ("omega", "simp", "no tactic of ours"), frozenset(worked))
    assert _choice(decision, Retriever(LIBRARY, untrained())) is None


def test_a_theorem_is_no_lemma_for_itself() -> None:
    state, retriever = "n : Nat\n⊢ Word3 n = n", Retriever(LIBRARY, untrained())
    tried = ("omega", "grind [Lib.l3, Lib.l1, Lib.l2, Lib.l4]")
    strengths = []
    for theorem in ("t", "Lib.l3"):
        seen = _choice(Decision(theorem, state, tried, frozenset({"omega"})), retriever)
        assert seen is not None
        strengths.append(seen.strengths[1])
    assert strengths[0] > -0.1 > -1 > strengths[1]
