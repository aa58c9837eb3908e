"""The bytes of one part: a Parquet file that any tool can read, and that we can check and repair.

    PAR1  group frame  group frame  …  footer  length  PAR1

A group is a Parquet row group with all rows of some theorems. Parquet finds groups by the footer, so
the gap after each is ours: a frame with the group's length and checksum, by which `recover` finds
it when the footer is gone. The footer holds the theorems' records and ends in a seal, in the place
that Parquet leaves for extensions: checksums of everything before the footer, and of the footer.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from burnqed.core.errors import CorruptError, InputError
from burnqed.trajectories.schema import VERSION, TheoremRecord, records_from_json, records_to_json
from burnqed.trajectories.tables import SCHEMA, TEXTS, VERSION_KEY

THEOREMS_KEY = b"burnqed.theorems"
MAGIC = b"PAR1"
# Magic, rows, bytes, checksum of those two and of the group before it.
FRAME = struct.Struct("<8sIQI")
FRAME_MAGIC = b"bqgroup\x01"
# The footer's last field: number 32767, binary, eight bytes; then thrift's end of a struct.
_SEAL = struct.Struct("<5sIIB")
_SEAL_HEAD = b"\x08\xfe\xff\x03\x08"
_TAIL = struct.Struct("<I4s")
_CHUNK = 1 << 20

_WRITING: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": TEXTS,
    "dictionary_pagesize_limit": 1 << 26,
    "data_page_version": "2.0",  # pages say how many rows they have, which `recover` needs
    "write_page_checksum": True,  # for other tools; the seal and the frames cover more
    "write_statistics": False,
}


def encode(
    groups: Sequence[pa.Table], records: Sequence[TheoremRecord], schema: pa.Schema | None = None
) -> bytes:
    """A whole part: tables with all rows of some theorems each, and the theorems' records."""
    out = io.BytesIO()
    sink = pa.PythonFile(out, mode="w")  # counts what passes: frames too must go through it
    with pq.ParquetWriter(sink, SCHEMA if schema is None else schema, **_WRITING) as writer:
        for table in groups:
            begin = out.tell()
            writer.write_table(table, row_group_size=table.num_rows)
            with out.getbuffer() as written:
                frame = _frame(written[begin:], table.num_rows)
            sink.write(frame)
        writer.add_key_value_metadata({THEOREMS_KEY: records_to_json(records)})
    return _seal(out.getvalue())


def _frame(group: memoryview, rows: int) -> bytes:
    with group:
        return FRAME.pack(FRAME_MAGIC, rows, len(group), frame_checksum(group, rows))


def frame_checksum(group: memoryview, rows: int) -> int:
    return crc32(struct.pack("<IQ", rows, len(group)), crc32(group))


def _seal(data: bytes) -> bytes:
    length, _ = _TAIL.unpack(data[-_TAIL.size :])
    body = data[-_TAIL.size - length : -_TAIL.size - 1]
    before = crc32(memoryview(data)[: -_TAIL.size - length])
    seal = _SEAL.pack(_SEAL_HEAD, before, crc32(body, before), 0)
    tail = _TAIL.pack(len(body) + len(seal), MAGIC)
    return b"".join([memoryview(data)[: -_TAIL.size - length], body, seal, tail])


@dataclass(frozen=True, slots=True)
class Footer:
    """A footer whose seal is whole: where it begins, and the checksum of what is before it."""

    metadata: pq.FileMetaData
    begins: int
    before: int

    def records(self) -> list[TheoremRecord]:
        return records_from_json(self.metadata.metadata[THEOREMS_KEY])


def read_footer(file: BinaryIO) -> Footer:
    """Raises `CorruptError` when the file has no footer, or not the one that was written."""
    size = file.seek(0, io.SEEK_END)
    if size < len(MAGIC) + _TAIL.size:
        raise CorruptError(f"it ends after {size} bytes")
    file.seek(size - _TAIL.size)
    length, magic = _TAIL.unpack(file.read(_TAIL.size))
    begins = size - _TAIL.size - length
    if magic != MAGIC or begins < len(MAGIC) or length <= _SEAL.size:
        raise CorruptError("its end is missing")
    file.seek(begins)
    footer = file.read(length)
    head, before, own, end = _SEAL.unpack(footer[-_SEAL.size :])
    if (head, end) != (_SEAL_HEAD, 0) or own != crc32(footer[: -_SEAL.size], before):
        raise CorruptError("its footer does not have the right checksum")
    metadata = pq.read_metadata(pa.BufferReader(MAGIC + footer + _TAIL.pack(length, MAGIC)))
    _refuse_newer_versions(metadata.metadata)
    return Footer(metadata, begins, before)


def _refuse_newer_versions(metadata: dict[bytes, bytes]) -> None:
    version = int(metadata.get(VERSION_KEY, b"0"))
    if not 1 <= version <= VERSION:
        raise InputError(
            f"it has trajectory format {version}, and this burn-qed reads up to {VERSION}",
            hint="upgrade: pip install --upgrade burn-qed",
        )


def check_whole(file: BinaryIO) -> Footer:
    """The footer. Raises `CorruptError` unless every byte is as it was written."""
    footer = read_footer(file)
    file.seek(0)
    checksum, left = 0, footer.begins
    while left and (read := file.read(min(left, _CHUNK))):
        checksum, left = crc32(read, checksum), left - len(read)
    if left or checksum != footer.before:
        raise CorruptError("its rows do not have the right checksum")
    return footer


def open_whole(data: bytes) -> pq.ParquetFile:
    """The part as a `ParquetFile`. Raises `CorruptError` unless every byte is as it was written."""
    footer = check_whole(io.BytesIO(data))
    return pq.ParquetFile(pa.BufferReader(data), metadata=footer.metadata)
