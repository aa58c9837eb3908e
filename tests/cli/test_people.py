"""People's proofs as something to search, to look beside, and to train a value model on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnqed.trajectories.store import iter_rows, read_records
from tests.cli.in_process import burn_qed
from tests.data.rows import write_rows

pytestmark = [pytest.mark.lean, pytest.mark.timeout(900)]


def theorem(i: int) -> str:
    a, b, c = (f"{name}{i}" for name in "abc")
    return f"""theorem t{i} ({a} {b} {c} : Prop) (h : {b}) : {a} ∨ {b} ∨ {c} := by
  right
  left
  exact h
"""


def test_a_search_follows_recorded_proofs(tmp_path: Path) -> None:
    known = "a b c : Prop\nh : b\n⊢ "
    steps = [
        (f"{known}a ∨ b ∨ c", "right"),
        (f"case h\n{known}b ∨ c", "left"),
        (f"case h.h\n{known}b", "exact h"),
    ]
    rows = [
        {"theorem": "t", "depth": depth, "state": state, "tactic": tactic}
        for depth, (state, tactic) in enumerate(steps)
    ]
    path = write_rows(tmp_path / "steps.jsonl", rows)
    burn_qed("data", "index", "--source", path, "--out", tmp_path / "set.json")
    asked = ("search", tmp_path / "set.json", "--policy", "portfolio", "--workers", "1")
    run = tmp_path / "run"
    burn_qed(*asked, "--nodes", "5", "--follow", path, "--out", run)
    rows_of_it = list(iter_rows(run / "trajectories", pytest.fail))
    # The statement was read off the first state, so its hypotheses are introduced first.
    assert [row.tactic for row in rows_of_it] == ["intro a b c h", "right", "left", "exact h"]
    assert [r.outcome for r in read_records(run / "trajectories")] == ["proved"]
    # Another search cannot go on with this one.
    refused = burn_qed(*asked, "--nodes", "5", "--out", run, "--resume", code=2).stderr
    assert "follow was" in refused
    nothing = write_rows(tmp_path / "other.jsonl", [{**row, "theorem": "u"} for row in rows])
    refused = burn_qed(*asked, "--follow", nothing, "--out", tmp_path / "x", code=2).stderr
    assert "has no proof of a theorem of the set" in refused


@pytest.mark.torch
@pytest.mark.soak
def test_a_pool_becomes_a_search_set_and_groups_that_a_value_model_learns_from(tmp_path: Path) -> None:
    (tmp_path / "People.lean").write_text("\n".join(map(theorem, range(14))), encoding="utf-8")
    text = "[lean]\nworkers = 2\n[prepare]\npool_depth = 2\n[sources.people]\ninput = 'People.lean'\n"
    (tmp_path / "r.toml").write_text(text, encoding="utf-8")
    built = tmp_path / "built"
    burn_qed("data", "build", tmp_path / "r.toml", "--out", built)
    pool, theorems = built / "data" / "contrastive_pool.jsonl", built / "theorems.json"
    asked = ("--policy", "portfolio", "--workers", "2")
    run, beside = tmp_path / "run", tmp_path / "beside"
    told = burn_qed("search", theorems, "--follow", pool, *asked, "--out", run, "--json").stdout
    every = len(json.loads(theorems.read_text(encoding="utf-8"))["theorems"])
    assert json.loads(told)["proved"] == every >= 10
    rows = list(iter_rows(run / "trajectories", pytest.fail))
    assert {row.tactic for row in rows} == {"right", "left", "exact h"}
    assert all(row.on_proof_path for row in rows)
    effort = ("--siblings", "1", "--candidates", "8", "--nodes", "3", "--walks", "0", "--json")
    told = burn_qed("negatives", theorems, "--data", run, *asked, *effort, "--out", beside).stdout
    assert json.loads(told)["groups"] >= 6
    assert not [r for r in read_records(beside / "trajectories") if r.outcome == "error"]
    trained = burn_qed(
        "train", "value", "--data", run, "--data", beside, "--model", "words", "--device", "cpu",
        "--steps", "20", "--val-share", "0.4", "--out", tmp_path / "value", "--json",
    ).stdout  # fmt: skip
    assert json.loads(trained)["steps"] == 20
