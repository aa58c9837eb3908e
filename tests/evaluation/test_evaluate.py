"""From records to a result: every theorem counts, whatever became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from burnqed.core.types import Proposition, Theorem
from burnqed.data.index import TheoremIndex, parse_index, statement_sha
from burnqed.evaluation.evaluate import NOT_REACHED, AttemptRecords, Identity, evaluate
from burnqed.evaluation.metrics import wilson
from burnqed.evaluation.prove import Attempt
from burnqed.evaluation.reading import Clock
from burnqed.evaluation.results import IterationResult
from burnqed.evaluation.run import record_of
from burnqed.trajectories.schema import TheoremRecord

NAMES = ("easy", "hard", "never", "wrong", "dead")
BUDGETS = (10, 30, 100)


def index_of(names: tuple[str, ...] = NAMES) -> TheoremIndex:
    entries = [{"name": name, "statement": f"{name} = 1", "group": name[0]} for name in names]
    return parse_index("made up", "made-up", {"theorems": entries, "revision": "r1"})


def record(name: str, **changes: Any) -> TheoremRecord:
    plain = record_of(Attempt(Theorem(name, Proposition(f"{name} = 1")), "exhausted", "nodes"), 0)
    return replace(plain, **changes)


def attempt(records: Mapping[str, TheoremRecord], ends: Mapping[str, list[float]]) -> AttemptRecords:
    return AttemptRecords.of(list(records.values()), Clock(ends, 2))


FIRST = attempt(
    {
        "easy": record("easy", outcome="proved", reason="", nodes=4, seconds=2.0, proof="by easy"),
        "hard": record("hard", nodes=100, seconds=50.0),
        "never": record("never", nodes=100, seconds=60.0),
        "wrong": record("wrong", outcome="error", reason="statement", detail="no such thing"),
        "dead": record(
            "dead", outcome="error", reason="LeanDied", nodes=40, lost_at=20, lost_kind="LeanDied"
        ),
    },
    {"hard": [float(i) / 2 for i in range(1, 101)]},
)
SECOND = attempt(
    {
        "easy": record("easy", outcome="proved", reason="", nodes=2, seconds=1.0, proof="by luck"),
        "hard": record("hard", outcome="proved", reason="", nodes=31, seconds=20.0, proof="by work"),
        "never": record("never", nodes=60, reason="candidates", seconds=30.0),
        "wrong": record("wrong", outcome="error", reason="statement", detail="no such thing"),
        "dead": record("dead", nodes=100, seconds=10.0),
    },
    {},
)


def result_of(*attempts: AttemptRecords, index: TheoremIndex | None = None) -> IterationResult:
    return evaluate(index or index_of(), attempts, BUDGETS, Identity(settings={"seed": 0}))


@pytest.mark.parametrize(
    "attempts", [(FIRST,), (SECOND,), (FIRST, SECOND), (AttemptRecords.of([], Clock({}, 0)),)]
)
def test_the_outcomes_add_up_to_the_whole_set(attempts: tuple[AttemptRecords, ...]) -> None:
    for b in result_of(*attempts).budget_results:
        assert b.total == len(NAMES) == len(b.per_theorem)
        assert b.solved + sum(b.exhausted.values()) + sum(b.errors.values()) == b.total
        assert b.solved == sum(t.proved for t in b.per_theorem)
        assert b.rate == b.solved / b.total
        assert b.interval == wilson(b.solved, b.total)
        assert {t.name for t in b.per_theorem} == set(NAMES)


def test_one_attempt() -> None:
    result = result_of(FIRST)
    assert [b.solved for b in result.budget_results] == [1, 1, 1]
    assert [b.errors for b in result.budget_results] == [
        {"statement": 1}, {"LeanDied": 1, "statement": 1}, {"LeanDied": 1, "statement": 1}
    ]  # fmt: skip
    assert [b.exhausted for b in result.budget_results] == [{"nodes": 3}, {"nodes": 2}, {"nodes": 2}]
    hard = next(t for t in result.at(30).per_theorem if t.name == "hard")
    assert (hard.nodes_used, hard.time_secs) == (30, 15.0)
    assert result.at(10).avg_nodes == (4 + 10 + 10 + 0 + 10) / 5
    assert result.cumulative == {"easy"}
    assert result.cost.clock_stops == 2
    assert result.benchmark.theorems == 5
    assert result.benchmark.revision == "r1"


def test_several_attempts_prove_what_one_of_them_proves() -> None:
    result = result_of(FIRST, SECOND)
    assert [b.solved for b in result.budget_results] == [1, 1, 2]
    easy, hard, never, wrong, dead = result.largest.per_theorem
    assert (easy.nodes_used, easy.proof, easy.successes, easy.budget_at_proof) == (2, "by luck", 2, 10)
    assert (hard.nodes_used, hard.proof, hard.successes, hard.budget_at_proof) == (
        31,
        "by work",
        1,
        100,
    )
    assert (never.outcome, never.successes, never.budget_at_proof) == ("exhausted", 0, None)
    assert (wrong.outcome, wrong.reason, wrong.detail) == ("error", "statement", "no such thing")
    assert (dead.outcome, dead.reason) == ("error", "LeanDied"), "one attempt says nothing of it"
    assert result.largest.pass_at == {1: pytest.approx(0.3), 2: pytest.approx(0.4)}
    assert result.at(30).pass_at == {1: pytest.approx(0.2), 2: pytest.approx(0.2)}
    assert hard.group == "h"


def test_what_was_not_reached_is_counted_and_said() -> None:
    partly = AttemptRecords.of(
        [FIRST.records[key] for key in FIRST.records if key[0] != "hard"], FIRST.clock
    )
    result = result_of(partly)
    assert result.largest.errors == {"LeanDied": 1, NOT_REACHED: 1, "statement": 1}


def test_a_record_of_another_statement_is_not_the_theorems() -> None:
    other = parse_index("x", "x", {"theorems": [{"name": "easy", "statement": "2 = 2"}]})
    result = result_of(FIRST, index=other)
    assert result.largest.errors == {NOT_REACHED: 1}
    assert statement_sha(other.theorems[0].statement) not in {
        r.statement_sha for r in FIRST.records.values()
    }


def test_an_empty_set_has_a_result() -> None:
    result = result_of(AttemptRecords.of([], Clock({}, 0)), index=index_of(()))
    assert [(b.solved, b.total, b.rate) for b in result.budget_results] == [(0, 0, 0.0)] * 3
