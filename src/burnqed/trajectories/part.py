"""The bytes of one part: a Parquet file that any tool can read and that burn-qed can check.

    PAR1  copy of the index  group frame  group frame  …  footer  length  PAR1

A group is a Parquet row group with all rows of some theorems. Parquet finds groups by the index in the
footer, so the bytes between groups are free for us. Before the first is a copy of the index, in case a
part loses its end. After each group is a frame with its length and checksum. The footer holds the
theorems' records and ends in a seal, where Parquet allows extensions: checksums of the footer and of
everything before it. pyarrow reads and writes all of it. Older parts have no copy.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO
from zlib import compress, crc32, decompress

import pyarrow as pa
import pyarrow.parquet as pq

from burnqed.core.errors import CorruptError, InputError
from burnqed.trajectories.schema import VERSION, TheoremRecord, records_from_json, records_to_json
from burnqed.trajectories.tables import SCHEMA, TEXTS, VERSION_KEY

THEOREMS_KEY = b"burnqed.theorems"
MAGIC = b"PAR1"
# Magic, rows, bytes, checksum of these two and of the group before it.
_FRAME = struct.Struct("<8sIQI")
_FRAME_MAGIC = b"bqgroup\x01"
# The footer's last field: number 32767, binary, eight bytes; then thrift's end of a struct.
_SEAL = struct.Struct("<5sIIB")
_SEAL_HEAD = b"\x08\xfe\xff\x03\x08"
_TAIL = struct.Struct("<I4s")
# Magic, bytes, checksum of the compressed copy that follows.
_COPY = struct.Struct("<8sII")
_COPY_MAGIC = b"bqindex\x01"
# Space reserved for the copy: a group takes 250 to 400 bytes, and the schema 1,700.
_COPY_ROOM, _COPY_GROUP = 4096, 1024
_CHUNK = 1 << 20

_WRITING: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": TEXTS,
    "dictionary_pagesize_limit": 1 << 26,
    "data_page_version": "2.0",
    "write_page_checksum": True,  # for other tools; our seal and frames cover more
    "write_statistics": False,
}


def encode(groups: Sequence[pa.Table], records: Sequence[TheoremRecord]) -> bytes:
    """Write a whole part: tables that each have all rows of some theorems, and the records."""
    out = io.BytesIO()
    sink = pa.PythonFile(out, mode="w")  # counts bytes, so our own must go through it too
    room = _COPY_ROOM + _COPY_GROUP * len(groups)
    with pq.ParquetWriter(sink, SCHEMA, **_WRITING) as writer:
        sink.write(bytes(room))
        for table in groups:
            begin = out.tell()
            writer.write_table(table, row_group_size=table.num_rows)
            with out.getbuffer() as written:
                frame = _frame(written[begin:], table.num_rows)
            sink.write(frame)
        writer.add_key_value_metadata({THEOREMS_KEY: records_to_json(records)})
    copy = _copy_of_index(out.getvalue())
    if len(copy) <= room:  # without a copy, a truncated part would be lost like any Parquet file
        out.seek(len(MAGIC))
        out.write(copy)
    return _seal(out.getvalue())


def _copy_of_index(data: bytes) -> bytes:
    """The index without the records: the footer of an empty file, with the groups added to it."""
    empty, index = io.BytesIO(), io.BytesIO()
    pq.ParquetWriter(empty, SCHEMA, **_WRITING).close()
    metadata = pq.read_metadata(pa.BufferReader(empty.getvalue()))
    metadata.append_row_groups(pq.read_metadata(pa.BufferReader(data)))
    metadata.write_metadata_file(index)
    packed = compress(index.getvalue())
    return _COPY.pack(_COPY_MAGIC, len(packed), crc32(packed)) + packed


def _frame(group: memoryview, rows: int) -> bytes:
    with group:
        return _FRAME.pack(_FRAME_MAGIC, rows, len(group), _checksum(group, rows))


def _checksum(group: memoryview, rows: int) -> int:
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
    """A footer whose seal is right: its offset, and the checksum of what is before it."""

    metadata: pq.FileMetaData
    begins: int
    before: int

    def records(self) -> list[TheoremRecord]:
        return records_from_json(self.metadata.metadata[THEOREMS_KEY])


def read_footer(file: BinaryIO) -> Footer:
    """Raises `CorruptError` if the footer is missing or was changed."""
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
        raise CorruptError("its footer has a wrong checksum")
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
    """The footer. Raises `CorruptError` unless every byte of the file is right."""
    footer = read_footer(file)
    file.seek(0)
    checksum, left = 0, footer.begins
    while left and (read := file.read(min(left, _CHUNK))):
        checksum, left = crc32(read, checksum), left - len(read)
    if left or checksum != footer.before:
        raise CorruptError("its rows have a wrong checksum")
    return footer


def open_whole(data: bytes) -> pq.ParquetFile:
    """The part as a `ParquetFile`. Raises `CorruptError` unless every byte is right."""
    footer = check_whole(io.BytesIO(data))
    return pq.ParquetFile(pa.BufferReader(data), metadata=footer.metadata)


def open_damaged(data: bytes) -> tuple[pq.ParquetFile | None, list[int]]:
    """The part and its undamaged groups, or None without an index.

    The index is in the footer or its copy, whichever is undamaged.
    """
    try:
        metadata = read_footer(io.BytesIO(data)).metadata
    except CorruptError:
        metadata = _read_copy(data)
    if metadata is None:
        return None, []
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    whole = [number for number, group in enumerate(groups) if _is_whole(data, group)]
    return pq.ParquetFile(pa.BufferReader(data), metadata=metadata), whole


def _read_copy(data: bytes) -> pq.FileMetaData | None:
    begins = len(MAGIC) + _COPY.size
    if len(data) < begins:
        return None
    magic, length, checksum = _COPY.unpack_from(data, len(MAGIC))
    packed = data[begins : begins + length]
    if magic != _COPY_MAGIC or len(packed) != length or crc32(packed) != checksum:
        return None
    metadata = pq.read_metadata(pa.BufferReader(decompress(packed)))
    _refuse_newer_versions(metadata.metadata)
    return metadata


def _is_whole(data: bytes, group: pq.RowGroupMetaData) -> bool:
    """Whether the frame after a group has the group's checksum."""
    columns = [group.column(number) for number in range(group.num_columns)]
    begin = columns[0].dictionary_page_offset or columns[0].data_page_offset
    end = begin + sum(column.total_compressed_size for column in columns)
    if end + _FRAME.size > len(data):
        return False
    magic, rows, length, checksum = _FRAME.unpack_from(data, end)
    there = (magic, rows, length) == (_FRAME_MAGIC, group.num_rows, end - begin)
    return there and checksum == _checksum(memoryview(data)[begin:end], rows)
