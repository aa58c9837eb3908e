"""Any row and any record come back as they were."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.search.tree import Result
from burnqed.trajectories.schema import (
    ERROR_LENGTH,
    Label,
    Origin,
    StepRow,
    TheoremOutcome,
    TheoremRecord,
    records_from_json,
    records_to_json,
)
from burnqed.trajectories.store import iter_rows, open_writer, read_records
from burnqed.trajectories.tables import NAMES, SCHEMA
from tests.trajectories.samples import record, rows

int32 = st.integers(-(2**31), 2**31 - 1)
numbers = st.floats(allow_nan=False)


def one_of_type(literal: Any) -> Any:
    return st.sampled_from(get_args(literal))


step_rows = st.builds(
    StepRow,
    node=int32,
    parent=st.none() | int32,
    children=st.lists(int32, max_size=4).map(tuple),
    depth=int32,
    logprob=numbers,
    energy=st.none() | numbers,
    score=numbers,
    outcome=one_of_type(Result),
    label=one_of_type(Label),
    remaining_steps=st.none() | int32,
    origin=one_of_type(Origin),
    temperature=numbers,
    iteration=int32,
    seconds=numbers,
    child_energies=st.none() | st.lists(numbers, max_size=4).map(tuple),
    child_scores=st.none() | st.lists(numbers, max_size=4).map(tuple),
    spent=st.none() | int32,
)
theorem_records = st.builds(
    TheoremRecord,
    outcome=one_of_type(TheoremOutcome),
    seconds=numbers,
    lean_seconds=numbers,
    judge_seconds=numbers,
)
theorems = st.lists(st.tuples(theorem_records, st.lists(step_rows, max_size=5)), max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(theorems, max_size=3))
def test_any_rows_come_back(saves: list[list[tuple[TheoremRecord, list[StepRow]]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        with open_writer(directory) as writer:
            for save in saves:
                for found, steps in save:
                    writer.add(found, steps)
                writer.save()
        entries = [entry for save in saves for entry in save]
        assert read_records(directory) == [found for found, _ in entries]
        assert list(iter_rows(directory)) == [row for _, steps in entries for row in steps]
        assert len(list(directory.glob("part-*"))) == sum(bool(save) for save in saves)


@given(st.lists(theorem_records))
def test_any_records_survive_json(records: list[TheoremRecord]) -> None:
    assert records_from_json(records_to_json(records)) == records


def test_the_columns_are_the_fields() -> None:
    assert tuple(SCHEMA.names) == NAMES
    assert SCHEMA.metadata == {b"burnqed.version": b"7"}


def test_axioms_of_an_older_record_are_those_that_were_seen() -> None:
    """It called them all, where nobody could know that."""
    (entry,) = json.loads(records_to_json([record(0, 8)]))
    del entry["axioms_seen"]
    (read,) = records_from_json(json.dumps([entry]))
    assert (read.axioms, read.axioms_seen) == (None, ("propext",))


def test_errors_are_cut() -> None:
    (row,) = rows(1, 1)
    fields = {field: getattr(row, field) for field in NAMES}
    assert StepRow(**{**fields, "error": "e" * 10_000}).error == "e" * ERROR_LENGTH


def test_an_outcome_nobody_knows_is_refused() -> None:
    text = records_to_json([record(1, 8)]).replace("exhausted", "perhaps")
    with pytest.raises(ValueError, match="unknown outcome: 'perhaps'"):
        records_from_json(text)
