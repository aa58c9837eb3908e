"""The public names: what they are, that they cost nothing to import, and what they do in Lean."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import burnqed
from burnqed.core.errors import ConfigError, InputError, StatementError

PUBLIC = """
    Advanced BurnQedError Closed Config Failed Lean NotFound Proved Prover Refuted Rejected TimedOut
    attribute check compare evaluate prove prove_async run train_joint train_policy train_ranker
    train_value
"""
EASY, HARD = "∀ n : Nat, n + 0 = n", "∀ n : Nat, ∃ p, n < p ∧ 2 ≤ p ∧ ∀ d, d ∣ p → d = 1 ∨ d = p"
SMALL: dict[str, Any] = {"policy": "portfolio", "nodes": 4, "candidates": 8, "workers": 1}


def test_these_are_the_public_names() -> None:
    assert burnqed.__all__ == PUBLIC.split()
    assert set(PUBLIC.split()) <= set(dir(burnqed))
    assert all(hasattr(burnqed, name) for name in burnqed.__all__)
    with pytest.raises(AttributeError, match="no attribute 'solve'"):
        _ = burnqed.solve  # type: ignore[attr-defined]


def test_importing_it_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import burnqed; print(*set(sys.modules) - before)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(out.stdout.split())
    assert {name for name in loaded if name.startswith("burnqed")} == {"burnqed"}
    assert not {name.split(".")[0] for name in loaded} & {"torch", "numpy", "rich", "msgspec", "typer"}


def test_mistakes_are_told_before_lean_is_set_up() -> None:
    with pytest.raises(ConfigError, match="unknown setting nods"):
        burnqed.prove("1 = 1", nods=3)
    with pytest.raises(InputError, match="not both"):
        burnqed.prove("1 = 1", burnqed.Config(), nodes=3)
    with pytest.raises(InputError, match="nothing to prove"):
        burnqed.prove(" ")
    refused = burnqed.prove("#eval 1\ntheorem a : 1 = 1 := by sorry")
    assert isinstance(refused, burnqed.Failed)
    assert "line 1" in refused.detail
    with pytest.raises(InputError, match="not open"):
        burnqed.Prover().prove("1 = 1")
    with pytest.raises(InputError, match="not open"):
        burnqed.Lean().start("1 = 1")
    with pytest.raises(ConfigError, match="unknown setting nodes"):
        burnqed.Lean(nodes=3)
    assert issubclass(InputError, burnqed.BurnQedError)


def test_trainings_and_runs_take_settings_by_their_names(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(ConfigError, match="unknown setting epoch") as caught:
        burnqed.train_policy("pairs.jsonl", out, epoch=3)
    assert caught.value.hint == "did you mean epochs?"
    with pytest.raises(ConfigError, match="workers is 0"):
        burnqed.train_ranker(["a", "b"], out, workers=0)
    with pytest.raises(ConfigError, match="unknown pooling most"):
        burnqed.train_value("run", "words", out, pooling="most")
    with pytest.raises(InputError, match="both say when to end"):
        burnqed.train_value("run", "words", out, epochs=3, steps=4)
    with pytest.raises(InputError, match="holds no run"):
        burnqed.run(out)
    with pytest.raises(ConfigError, match="unknown policy oracle"):
        burnqed.run(out, "smoke", settings={"search.policy": "oracle"})
    assert not out.exists()


# ------------------------------------------------------------------------------ with real Lean


@pytest.fixture(scope="module")
def prover(toolchain: object) -> Iterator[burnqed.Prover]:
    with burnqed.Prover(**SMALL) as prover:
        yield prover


def test_a_statement_is_proved_and_the_judge_has_the_last_word(prover: burnqed.Prover) -> None:
    found = prover.prove(EASY)
    assert isinstance(found, burnqed.Proved)
    assert found
    assert found.proof is not None
    assert EASY in found.proof
    assert found.tactics
    assert found.tree is not None
    assert found.tree.proved
    assert found.statistics.nodes >= 1
    assert [verdict.accepted for verdict in found.verdicts] == [True]


def test_what_is_not_proved_is_told_apart(prover: burnqed.Prover) -> None:
    found = prover.prove_many([HARD, "∀ n : Nat, n < 5", "1 + true = 2", EASY])
    kinds = (burnqed.NotFound, burnqed.Refuted, burnqed.Failed, burnqed.Proved)
    assert tuple(type(one) for one in found) == kinds
    assert [bool(one) for one in found] == [False, False, False, True]
    spent, false, wrong, _ = found
    assert isinstance(spent, burnqed.NotFound)
    assert spent.limit in ("nodes", "candidates")
    assert isinstance(false, burnqed.Refuted)
    assert set(false.counterexample) == {"n"}
    assert isinstance(wrong, burnqed.Failed)
    assert wrong.reason == "statement"


def test_the_holes_of_a_text_are_proved_in_their_places(prover: burnqed.Prover) -> None:
    text = "theorem a : 1 + 1 = 2 := by sorry\n\ntheorem b (n : Nat) : n < 5 := by sorry\n"
    part = prover.prove(text)
    assert isinstance(part, burnqed.Refuted)
    assert [hole.outcome for hole in part.holes] == ["found", "false"]
    assert part.draft is not None
    assert part.draft.count("sorry") == 1
    whole = prover.prove(text.split("\n")[0])
    assert isinstance(whole, burnqed.Proved)
    assert whole.proof is not None
    assert "sorry" not in whole.proof
    danger = prover.prove("#eval 1\ntheorem a : 1 = 1 := by sorry")
    assert isinstance(danger, burnqed.Failed)
    with pytest.raises(InputError, match="imports Std"):
        prover.prove("import Std\ntheorem a : 1 = 1 := by sorry")
    with pytest.raises(InputError, match="a single statement"):
        prover.prove_many(EASY)


def test_an_open_prover_also_checks(prover: burnqed.Prover) -> None:
    checked = prover.check("theorem a : 1 + 1 = 2 := rfl\ntheorem b : 1 = 2 := rfl\n")
    assert [verdict.accepted for verdict in checked] == [True, False]
    assert not checked
    task = "theorem a : 1 + 1 = 2 := by sorry\n"
    assert prover.check("theorem a : 1 + 1 = 2 := rfl\n", task)
    with pytest.raises(StatementError, match=r"the reference, line 1: .#eval"):
        prover.check("theorem a : 1 + 1 = 2 := rfl\n", "#eval 1\n" + task)
    with pytest.raises(InputError, match="imports Std"):
        prover.check("import Std\ntheorem a : 1 = 1 := rfl\n")


async def test_it_works_inside_a_running_event_loop(prover: burnqed.Prover) -> None:
    assert prover.prove(EASY)
    with pytest.raises(InputError, match="opened with `with`"):
        await prover.prove_async(EASY)


@pytest.mark.lean
async def test_it_can_be_awaited(tmp_path: Path) -> None:
    file = tmp_path / "a.lean"
    file.write_text("theorem a : 1 + 1 = 2 := by sorry\n", encoding="utf-8")
    found = await burnqed.prove_async(file, **SMALL)
    assert isinstance(found, burnqed.Proved)
    assert found.proof is not None
    assert found.proof.startswith("theorem a : 1 + 1 = 2 := by\n")


@pytest.mark.lean
async def test_the_judge_looks_at_texts_also_inside_a_loop() -> None:
    said = burnqed.check("theorem a : 1 = 1 := rfl\ntheorem b : 1 = 2 := by decide")
    assert not said
    assert [verdict.accepted for verdict in said] == [True, False]
    task = "theorem a : 1 = 1 := sorry"
    assert burnqed.check("theorem a : 1 = 1 := rfl", against=task)
    assert not burnqed.check("theorem a : 2 = 2 := rfl", against=task)


@pytest.mark.lean
def test_a_proof_is_stepped_through() -> None:
    with burnqed.Lean() as lean:
        first = lean.start("∀ p q : Prop, p ∧ q → q")
        moved = lean.apply(first, "intro p q h")
        assert isinstance(moved, burnqed.Advanced)
        (goal,) = moved.state.goals
        assert [h.name for h in goal.hypotheses] == ["p", "q", "h"]
        assert goal.target == "q"
        assert isinstance(lean.apply(moved.state, "exact h.1"), burnqed.Rejected)
        assert isinstance(lean.apply(moved.state, "exact h.2"), burnqed.Closed)
        assert isinstance(lean.apply(moved.state, "sorry"), burnqed.Rejected)
        assert lean.judge("∀ p q : Prop, p ∧ q → q", ["intro p q h", "exact h.2"]).accepted
        assert not lean.judge("∀ p q : Prop, p ∧ q → q", ["intro p q h", "exact h.1"]).accepted
        with pytest.raises(StatementError):
            lean.start("nowhere = 1")


@pytest.mark.lean
def test_a_set_is_evaluated_and_kept_where_one_says(tmp_path: Path) -> None:
    given = {"easy": EASY, "hard": HARD}
    asked: dict[str, Any] = {"policy": "portfolio", "candidates": 8, "budgets": [1, 2], "workers": 1}
    result = burnqed.evaluate(given, tmp_path / "run", **asked)
    assert [(t.name, t.proved) for t in result.largest.per_theorem] == [("easy", True), ("hard", False)]
    again = burnqed.evaluate(given, tmp_path / "run", resume=True, **asked)
    assert again.largest.per_theorem == result.largest.per_theorem
    comparison = burnqed.compare({"first": result, "again": again})
    assert comparison.pairs[0].budgets[2].verdict == "no difference shown"
