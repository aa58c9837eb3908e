"""Rows as Arrow tables, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

import pyarrow as pa

from burnqed.search.tree import Result
from burnqed.trajectories.schema import VERSION, Label, Origin, StepRow

VERSION_KEY = b"burnqed.version"

# All candidates of a node repeat its state, and all rows of a theorem its goal: a dictionary holds such
# a text once, on disk and in memory.
_REPEATED = pa.dictionary(pa.int32(), pa.string())
_TYPES: dict[str, pa.DataType] = {
    "run": _REPEATED,
    "theorem": _REPEATED,
    "node": pa.int32(),
    "parent": pa.int32(),
    "children": pa.list_(pa.int32()),
    "depth": pa.int32(),
    "state": _REPEATED,
    "root_goal": _REPEATED,
    "tactic": pa.string(),
    "logprob": pa.float64(),
    "energy": pa.float64(),
    "score": pa.float64(),
    "outcome": _REPEATED,
    "error": pa.string(),
    "label": _REPEATED,
    "on_proof_path": pa.bool_(),
    "remaining_steps": pa.int32(),
    "origin": _REPEATED,
    "temperature": pa.float64(),
    "iteration": pa.int32(),
    "seconds": pa.float64(),
    "lean_seconds": pa.float64(),
    "heartbeats": pa.int64(),
    "facts": _REPEATED,
    "child_energies": pa.list_(pa.float64()),
    "child_scores": pa.list_(pa.float64()),
    "spent": pa.int32(),
}
_NULLABLE = {
    "parent", "energy", "remaining_steps", "lean_seconds", "heartbeats", "facts", "child_energies",
    "child_scores", "spent",
}  # fmt: skip
_LISTS = [place for place, kind in enumerate(_TYPES.values()) if pa.types.is_list(kind)]
_ALLOWED = {"outcome": Result, "label": Label, "origin": Origin}
NAMES = tuple(field.name for field in dataclasses.fields(StepRow))

SCHEMA = pa.schema(
    [pa.field(name, _TYPES[name], nullable=name in _NULLABLE) for name in NAMES],
    metadata={VERSION_KEY: str(VERSION).encode()},
)
TEXTS = [name for name in NAMES if _TYPES[name] in (_REPEATED, pa.string())]


def to_table(rows: Sequence[StepRow]) -> pa.Table:
    """The rows as one table. Raises `ValueError` for a row that does not fit the schema.

    A lone surrogate, which JSON can hold and UTF-8 cannot, becomes a question mark: a strange character
    is not a reason to lose a search.
    """
    columns = []
    for name in NAMES:
        values = [getattr(row, name) for row in rows]
        try:
            columns.append(_column(name, values))
        except UnicodeEncodeError:
            columns.append(_column(name, [text.encode("utf-8", "replace").decode() for text in values]))
        except (pa.ArrowException, OverflowError, TypeError) as error:
            raise ValueError(f"column {name}: {error}") from error
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _column(name: str, values: list[Any]) -> pa.Array:
    array = pa.array(values, type=_TYPES[name])
    if array.null_count and name not in _NULLABLE:
        raise ValueError(f"column {name}: a value is missing")
    if name in _ALLOWED:
        strange = set(array.dictionary.to_pylist()) - set(get_args(_ALLOWED[name]))
        if strange:
            raise ValueError(f"column {name}: unknown value: {', '.join(sorted(strange))}")
    return array


def with_columns(batch: pa.RecordBatch | pa.Table, names: Sequence[str] = NAMES) -> Any:
    """The batch or table with all of these columns. Those that an older file lacks are null."""
    for name in names:
        if name not in batch.schema.names:
            batch = batch.append_column(SCHEMA.field(name), pa.nulls(batch.num_rows, _TYPES[name]))
    return batch


def join(tables: Sequence[pa.Table]) -> pa.Table:
    """Several tables as one, with each text once in its dictionary."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def to_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[StepRow]:
    """The rows of batches that have every column."""
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in NAMES]
        for place in _LISTS:
            columns[place] = [one if one is None else tuple(one) for one in columns[place]]
        yield from (StepRow(*values) for values in zip(*columns, strict=True))
