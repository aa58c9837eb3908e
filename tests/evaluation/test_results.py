"""`result.json` and `summary.json`: what is written is what is read."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.evaluation.results import (
    RESULT,
    BenchmarkId,
    IterationResult,
    TrainingMetrics,
    read_result,
    summary_of,
    write_result,
    write_summary,
)
from tests.evaluation.samples import result_of


def sample() -> IterationResult:
    """One with everything in it that JSON has another word for."""
    result = result_of(
        {
            "Nat.«∀ ∣»": ("proved", 7),
            "late": ("proved", 55),
            "broken": ("error", 20),
            "hard": ("exhausted", 400),
        },
        settings={"seed": 3, "modules": ["Init", "Std"], "seconds": None},
        attempts=4,
        iteration=2,
    )
    return dataclasses.replace(
        result,
        llm_path="models/llm/iter_2",
        benchmark=BenchmarkId("qed-core", "ab" * 32, 4, "v1", ("self", "module")),
        training_metrics=TrainingMetrics(0.5, 1.25, 0.9, 1000, 60.0),
    )


@pytest.mark.parametrize("metrics", [True, False])
def test_written_and_read(tmp_path: Path, metrics: bool) -> None:
    result = sample() if metrics else dataclasses.replace(sample(), training_metrics=None)
    write_result(tmp_path / "run" / RESULT, result)
    assert read_result(tmp_path / "run" / RESULT) == result
    assert read_result(tmp_path / "run") == result, "in the directory of a run"
    assert "Nat.«∀ ∣»" in (tmp_path / "run" / RESULT).read_text(encoding="utf-8")


def test_what_can_be_asked_of_a_result() -> None:
    result = sample()
    assert result.budgets == (10, 30, 100)
    assert result.largest is result.at(100)
    assert [b.solved for b in result.budget_results] == [1, 1, 2]
    assert result.cumulative == {"Nat.«∀ ∣»", "late"}
    for b in result.budget_results:
        assert b.solved + sum(b.exhausted.values()) + sum(b.errors.values()) == b.total == 4


def test_the_sample_knows_when_it_happened() -> None:
    found = [{t.name: t for t in b.per_theorem} for b in sample().budget_results]
    assert [b["late"].outcome for b in found] == ["exhausted", "exhausted", "proved"]
    assert [b["late"].budget_at_proof for b in found] == [None, None, 100]
    assert [b["broken"].outcome for b in found] == ["exhausted", "error", "error"]
    assert [b["hard"].nodes_used for b in found] == [10, 30, 100]


def test_there_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"command": "eval"}')
    with pytest.raises(InputError, match=r"there is no .*/result\.json") as told:
        read_result(tmp_path)
    assert "--resume" in told.value.hint
    with pytest.raises(InputError, match=r"there is no .*/absent\.json") as told:
        read_result(tmp_path / "absent.json")
    assert "--resume" not in told.value.hint


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe"])
def test_not_json(tmp_path: Path, content: bytes) -> None:
    (tmp_path / RESULT).write_bytes(content)
    with pytest.raises(InputError, match="cannot read"):
        read_result(tmp_path)


def changed(**changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = dataclasses.asdict(sample())
    return {key: value for key, value in {**content, **changes}.items() if value != "left out"}


def with_budget(**changes: Any) -> dict[str, Any]:
    first, *others = changed()["budget_results"]
    return changed(budget_results=[{**first, **changes}, *others])


def with_theorem(**changes: Any) -> dict[str, Any]:
    first, *others = changed()["budget_results"][0]["per_theorem"]
    return with_budget(per_theorem=[{**first, **changes}, *others])


def test_what_a_later_version_adds_is_not_minded(tmp_path: Path) -> None:
    (tmp_path / RESULT).write_text(json.dumps(changed(unheard_of=1)))
    assert read_result(tmp_path) == sample()


def test_budgets_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / RESULT).write_text(
        json.dumps(changed(budget_results=changed()["budget_results"][::-1]))
    )
    assert read_result(tmp_path) == sample()


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        "result",
        None,
        changed(format="one"),
        changed(benchmark="left out"),
        changed(benchmark="qed-core"),
        changed(cost={}),
        changed(budget_results=[{}]),
        changed(budget_results=3),
        changed(settings=None),
        changed(timestamp=None),
        changed(attempts="2"),
        with_budget(errors=None),
        with_budget(interval=[None, None]),
        with_budget(solved=99),
        with_budget(total=2),
        with_theorem(outcome="timeout"),
        with_theorem(nodes_used=None),
        with_theorem(name="hard"),
    ],
)
def test_json_that_is_no_result(tmp_path: Path, content: Any) -> None:
    (tmp_path / RESULT).write_text(json.dumps(content))
    with pytest.raises(InputError, match="is not the result of an evaluation") as told:
        read_result(tmp_path)
    assert "burn-qed eval" in told.value.hint


def test_a_newer_format(tmp_path: Path) -> None:
    (tmp_path / RESULT).write_text(json.dumps(changed(format=2, unheard_of=1)))
    with pytest.raises(InputError, match="newer burn-qed, format 2"):
        read_result(tmp_path)


def test_the_summary_of_two(tmp_path: Path) -> None:
    first = result_of({"a": ("proved", 1), "b": ("error", 1)}, budgets=(10,))
    second = sample()
    write_summary(tmp_path / "summary.json", [first, second])
    read = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert read == json.loads(json.dumps(summary_of([first, second])))
    assert read["format"] == 1
    one, two = read["iterations"]
    assert one["budgets"] == {
        "10": {"solved": 1, "total": 2, "rate": 0.5, "errors": 1, "interval": pytest.approx(
            [0.0945, 0.9055], abs=5e-5
        )}
    }  # fmt: skip
    assert one["training_metrics"] is None
    assert (two["iteration"], two["llm_path"], two["attempts"]) == (2, "models/llm/iter_2", 4)
    assert two["cumulative"] == {"solved": 2, "total": 4, "rate": 0.5}
    assert two["benchmark"]["name"] == "qed-core"
    assert two["training_metrics"]["training_steps"] == 1000
    assert "late" not in json.dumps(read), "no theorems"


def test_the_summary_of_nothing() -> None:
    assert summary_of([]) == {"format": 1, "iterations": []}
    nothing = summary_of([result_of({})])["iterations"][0]
    assert nothing["cumulative"] == {"solved": 0, "total": 0, "rate": 0.0}
