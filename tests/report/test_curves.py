"""Curves, against counting."""

from __future__ import annotations

import pytest

from burnqed.evaluation.metrics import wilson
from burnqed.report.curves import Curve, by_nodes, by_seconds
from tests.report.samples import exhausted, failed, proved, realistic, result_of


def at(curve: Curve, x: float) -> int:
    """How many are proved within x, read off the steps."""
    return [solved for start, solved in zip(curve.x, curve.solved, strict=True) if start <= x][-1]


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_counts(seed: int) -> None:
    result = realistic(seed, count=60)
    theorems = result.largest.per_theorem
    nodes, seconds = by_nodes(result), by_seconds(result)
    for x in range(101):
        assert at(nodes, x) == sum(t.proved and t.nodes_used <= x for t in theorems)
        assert at(seconds, x / 3) == sum(t.proved and t.time_secs <= x / 3 for t in theorems)
    for t in theorems:  # exactly at a step
        assert at(seconds, t.time_secs) == sum(
            o.proved and o.time_secs <= t.time_secs for o in theorems
        )


def test_at_a_budget_it_is_what_the_budget_solved() -> None:
    result = realistic(3)
    assert [at(by_nodes(result), b.budget) for b in result.budget_results] == [
        b.solved for b in result.budget_results
    ]


@pytest.mark.parametrize("curve_of", [by_nodes, by_seconds])
def test_steps_go_up_from_zero(curve_of: object) -> None:
    assert callable(curve_of)
    curve: Curve = curve_of(realistic(1))
    assert curve.x[0] == 0
    assert list(curve.x) == sorted(set(curve.x))
    assert list(curve.solved) == sorted(curve.solved)
    assert len(curve.x) == len(curve.solved) == len(curve.rates) == len(curve.band)


def test_errors_are_in_the_denominator() -> None:
    curve = by_nodes(result_of([proved("a", 1), exhausted("b"), failed("c"), failed("d")]))
    assert curve.total == 4
    assert curve.rates[-1] == 0.25
    assert curve.band[-1] == wilson(1, 4)
    assert all(low <= rate <= high for rate, (low, high) in zip(curve.rates, curve.band, strict=True))


def test_where_it_ends() -> None:
    result = result_of([proved("a", 2, 1.5), exhausted("b", 30, 40.0), failed("c")], budgets=(10, 300))
    assert by_nodes(result).end == 300
    assert by_seconds(result).end == 40.0


def test_nothing_proved_and_nothing_at_all() -> None:
    unproved = result_of([exhausted("a")])
    assert by_nodes(unproved) == Curve((0.0, 100.0), (0, 0), 1)
    nothing = result_of([])
    assert by_nodes(nothing).rates == [0.0, 0.0]
    assert by_seconds(nothing) == Curve((0.0,), (0,), 0)


def test_a_proof_without_a_node_counts_from_the_start() -> None:
    assert at(by_nodes(result_of([proved("a", 0, 0.0)])), 0) == 1
