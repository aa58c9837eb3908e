"""What can still be read of a part that was cut short or damaged.

Parquet keeps its index at the end, so a cut file has none. The frames between the groups say where
each group is and whether it is as it was written; the headers of its pages say where its columns are;
from those the index is made anew. Rows come back by whole theorems, unchanged, or not at all.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq

from burnqed.trajectories.part import FRAME, FRAME_MAGIC, MAGIC, encode, frame_checksum
from burnqed.trajectories.schema import StepRow
from burnqed.trajectories.tables import to_table
from burnqed.trajectories.thrift import I16, I64, LIST, STRUCT, Struct, read_struct, write_struct

_DICTIONARY_PAGE = 2


@dataclass(slots=True)
class _Chunk:
    """One column of one group, as its page headers tell it."""

    dictionary_at: int | None = None
    data_at: int = 0
    rows: int = 0
    values: int = 0
    compressed: int = 0
    uncompressed: int = 0


def recover(data: bytes) -> pq.ParquetFile | None:
    """A `ParquetFile` over the whole groups that are left of a part; None when there are none."""
    found = [(count, _chunks(data, begin, end, count)) for begin, end, count in _groups(data)]
    if not found:
        return None
    footer, template = copy.deepcopy(_template(len(found[0][1])))
    groups = [_row_group(template, number, *group) for number, group in enumerate(found)]
    footer[3] = (I64, sum(count for count, _ in found))
    footer[4] = (LIST, (STRUCT, groups))
    index = write_struct(footer)
    whole = b"".join([data, index, struct.pack("<I", len(index)), MAGIC])
    return pq.ParquetFile(pa.BufferReader(whole))


def _groups(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Begin, end and number of rows of each group whose frame has the right checksum."""
    at = data.find(FRAME_MAGIC)
    while at >= 0 and at + FRAME.size <= len(data):
        _, rows, length, checksum = FRAME.unpack_from(data, at)
        begin = at - length
        if begin >= len(MAGIC) and frame_checksum(memoryview(data)[begin:at], rows) == checksum:
            yield begin, at, rows
        at = data.find(FRAME_MAGIC, at + 1)


def _chunks(data: bytes, begin: int, end: int, rows: int) -> list[_Chunk]:
    """The columns of a group: each ends with the page that completes its rows."""
    chunks: list[_Chunk] = []
    at = begin
    while at < end:
        if not chunks or chunks[-1].rows == rows:
            chunks.append(_Chunk())
        at = _add_page(chunks[-1], data, at)
    return chunks


def _add_page(chunk: _Chunk, data: bytes, at: int) -> int:
    """Count the page at `at` to its column; the result is where the next one begins."""
    header, payload = read_struct(data, at)
    kind, uncompressed, compressed = (int(header[field][1]) for field in (1, 2, 3))
    if kind == _DICTIONARY_PAGE:
        chunk.dictionary_at = at
    else:
        page: Struct = header[8][1]  # DataPageHeaderV2: values, nulls, rows
        chunk.data_at = chunk.data_at or at
        chunk.values += page[1][1]
        chunk.rows += page[3][1]
    chunk.compressed += payload - at + compressed
    chunk.uncompressed += payload - at + uncompressed
    return payload + compressed


def _row_group(template: Struct, number: int, rows: int, chunks: list[_Chunk]) -> Struct:
    """The index entry of a group: the template's names and types, these places and sizes."""
    group = copy.deepcopy(template)
    for column, chunk in zip(group[1][1][1], chunks, strict=True):
        meta: Struct = column[3][1]
        meta[5] = (I64, chunk.values)
        meta[6] = (I64, chunk.uncompressed)
        meta[7] = (I64, chunk.compressed)
        meta[9] = (I64, chunk.data_at)
        for optional in (11, 12, 13, 16):  # dictionary, statistics, encodings, sizes of the template
            meta.pop(optional, None)
        if chunk.dictionary_at is not None:
            meta[11] = (I64, chunk.dictionary_at)
    group[2] = (I64, sum(chunk.uncompressed for chunk in chunks))
    group[3] = (I64, rows)
    group[5] = (I64, chunks[0].dictionary_at or chunks[0].data_at)
    group[6] = (I64, sum(chunk.compressed for chunk in chunks))
    group[7] = (I16, number)
    return group


@cache
def _template(columns: int) -> tuple[Struct, Struct]:
    """The footer of a part with one row, and the entry of its only group.

    Older parts have fewer columns, which are the first of these.
    """
    row = StepRow(
        run="", theorem="", node=0, parent=None, children=(), depth=0, state="", root_goal="",
        tactic="", logprob=0.0, energy=None, score=0.0, outcome="lost", error="", label="unknown",
        on_proof_path=False, remaining_steps=None, origin="search", temperature=0.0, iteration=0,
        seconds=0.0,
    )  # fmt: skip
    table = to_table([row]).select(range(columns))
    data = encode([table], [], table.schema)
    (length,) = struct.unpack("<I", data[-8:-4])
    footer, _ = read_struct(data, len(data) - 8 - length)
    footer.pop(32767)  # the seal is of that file
    return footer, footer[4][1][1][0]
