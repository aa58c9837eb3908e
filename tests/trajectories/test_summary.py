"""The numbers of a set add up."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from burnqed.trajectories.schema import TheoremRecord
from burnqed.trajectories.store import iter_steps, read_records
from burnqed.trajectories.summary import STEP_COLUMNS, count_steps, summarize
from tests.trajectories.samples import record, steps_of, write
from tests.trajectories.test_schema import theorem_records


def test_a_set_by_hand() -> None:
    proved = record(0, 16)
    spent = dataclasses.replace(record(1, 80), candidates_min=1, candidates_max=12, candidates_total=70)
    failed = dataclasses.replace(
        record(2, 0), outcome="error", reason="StatementError", detail="unknown name",
        seconds=0.5, lean_seconds=0.75, judge_seconds=0.0,
        candidates_min=0, candidates_max=0, candidates_total=0,
    )  # fmt: skip
    summary = summarize([proved, spent, failed, dataclasses.replace(spent, reason="depth")])
    assert (summary.theorems, summary.proved) == (4, 1)
    assert summary.exhausted == {"depth": 1, "nodes": 1}
    assert summary.errors == {"StatementError": 1}
    assert (summary.nodes, summary.nodes_mean, summary.nodes_median) == (22, 5.5, 6.0)
    assert (summary.candidates_min, summary.candidates_max) == (1, 12)
    assert summary.candidates_mean == (16 + 70 + 70) / 22
    assert (summary.seconds, summary.lean_seconds) == (6.5, 5.25)
    assert (summary.other_seconds, summary.judge_seconds) == (1.5, 1.5)
    assert [line.outcome for line in summary.lines] == ["proved", "exhausted", "error", "exhausted"]


def test_nothing_at_all() -> None:
    summary = summarize([])
    assert (summary.theorems, summary.nodes_mean, summary.candidates_mean) == (0, 0.0, 0.0)


@given(st.lists(theorem_records))
def test_outcomes_add_up(records: list[TheoremRecord]) -> None:
    summary = summarize(records)
    assert summary.proved + sum(summary.exhausted.values()) + sum(summary.errors.values()) == len(
        records
    )


def test_rows_are_counted(tmp_path: Path) -> None:
    write(tmp_path, range(10))
    counts = count_steps(iter_steps(tmp_path, STEP_COLUMNS))
    summary = summarize(read_records(tmp_path), counts)
    total = sum(steps_of(number) for number in range(10))
    assert summary.steps == counts.rows == total
    assert sum(counts.by_outcome.values()) == sum(counts.by_origin.values()) == total
    assert counts.by_label == {"unknown": total}
    assert json.loads(summary.to_json())["step_counts"]["by_label"] == {"unknown": total}
