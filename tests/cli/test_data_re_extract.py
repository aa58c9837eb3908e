"""`burn-qed data re-extract`: another way to print becomes this Lean's, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_data_prepare import data
from tests.data.rows import Plain, read_rows, write_rows

pytestmark = pytest.mark.lean

AND = "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
LEFT, RIGHT = "case left\np q : Prop\nh : p ∧ q\n⊢ q", "case right\np q : Prop\nh : p ∧ q\n⊢ p"


def both(theorem: str, *, other: bool = False) -> list[Plain]:
    """A proof whose goals, where asked, print as another Lean printed them, the second one first."""
    left, right = LEFT, RIGHT
    if other:
        left, right = (goal.replace("p ∧ q", "And p q") for goal in (left, right))
    return [
        {"theorem": theorem, "depth": 0, "state": AND, "tactic": "constructor",
         "after": f"{left}\n\n{right}"},
        {"theorem": theorem, "depth": 1, "state": right, "tactic": "exact h.1", "after": left},
        {"theorem": theorem, "depth": 2, "state": left, "tactic": "exact h.2", "after": "no goals",
         "premises": ["And.right"]},
    ]  # fmt: skip


def test_states_are_written_anew_and_what_does_not_replay_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = [
        {"theorem": "gone", "depth": 0, "state": "a b : Nat\n⊢ a + b = b + a",
         "tactic": "exact Nat.add_comutes a b"},
    ]  # fmt: skip
    late = [{**row, "theorem": "late"} for row in both("late")[1:]]
    unclear = [{"theorem": "unclear", "depth": 0, "state": "x✝¹ : Nat\n⊢ 1 = 1", "tactic": "rfl"}]
    rows = [*both("same"), *gone, *both("other", other=True), *late, *unclear]
    path = write_rows(tmp_path / "old.jsonl", rows)
    out = tmp_path / "new"
    asked = ("re-extract", path, "--workers", "1", "--out", out)
    told, _ = data(capsys, *asked, "--json")
    report = json.loads(told)
    assert report["theorems"] == {
        "in": 5,
        "dropped": {
            "its first state has names that nobody can write": 1,
            "lemma rename": 1,
            "steps are missing": 1,
        },
        "out": 2,
        "printed_otherwise": 1,
    }
    assert report["reasons"]["lemma rename"][0]["theorem"] == "gone"
    fresh = read_rows(out / "steps.jsonl")
    assert [row["theorem"] for row in fresh] == ["same"] * 3 + ["other"] * 3
    keys = ("state", "tactic", "depth")
    first, second = ([{k: row[k] for k in keys} for row in part] for part in (fresh[:3], fresh[3:]))
    assert first == second == [{k: row[k] for k in keys} for row in both("same")]
    assert [row["after"] for row in fresh[3:]] == [f"{LEFT}\n\n{RIGHT}", "no goals", "no goals"]
    assert fresh[5]["premises"] == ["And.right"]
    assert "premises" not in fresh[4]


def test_a_second_run_goes_on_and_replays_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_rows(tmp_path / "old.jsonl", [row for i in range(3) for row in both(f"t{i}")])
    out = tmp_path / "new"
    asked = ("re-extract", path, "--workers", "1", "--out", out)
    data(capsys, *asked)
    ledger, steps = (out / "proofs.jsonl").read_bytes(), (out / "steps.jsonl").read_bytes()
    lines = ledger.splitlines(keepends=True)
    (out / "proofs.jsonl").write_bytes(b"".join(lines[:1]) + lines[1][:40])  # as a kill leaves it
    (out / "steps.jsonl").unlink()
    _, error = data(capsys, *asked, code=2)
    assert "holds a run already" in error
    data(capsys, *asked, "--resume")
    assert (out / "proofs.jsonl").read_bytes() == ledger
    assert (out / "steps.jsonl").read_bytes() == steps


def test_an_empty_set_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"theorem": "t", "depth": 0, "state": "⊢ 1 = 2", "tactic": "rfl"}]
    path = write_rows(tmp_path / "old.jsonl", rows)
    _, error = data(capsys, "re-extract", path, "--workers", "1", "--out", tmp_path / "o", code=2)
    assert "nothing of" in error
