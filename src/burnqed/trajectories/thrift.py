"""Thrift's compact protocol, as far as Parquet uses it: bytes to a tree and back.

A struct is a dict from field id to `(type, value)`, a list is `(type of its elements, values)`, and all
that is not understood survives: a footer can be read, changed in one place and written again.
"""

from __future__ import annotations

from typing import Any

Struct = dict[int, tuple[int, Any]]

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12


def read_struct(data: bytes, at: int = 0) -> tuple[Struct, int]:
    """The struct that begins at `at`, and where it ends. Raises `ValueError` when there is none."""
    try:
        return _struct(data, at)
    except (IndexError, RecursionError) as error:
        raise ValueError("not a thrift struct") from error


def _struct(data: bytes, at: int) -> tuple[Struct, int]:
    fields: Struct = {}
    last = 0
    while (head := data[at]) != 0:
        at += 1
        kind, step = head & 15, head >> 4
        if step:
            last += step
        else:
            last, at = _zigzag(data, at)
        if kind in (TRUE, FALSE):
            fields[last] = (TRUE, kind == TRUE)
        else:
            value, at = _value(data, at, kind)
            fields[last] = (kind, value)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (I16, I32, I64):
        return _zigzag(data, at)
    if kind in (TRUE, FALSE, BYTE):
        return data[at], at + 1
    if kind == DOUBLE:
        return _bytes(data, at, 8)
    if kind == BINARY:
        length, at = _varint(data, at)
        return _bytes(data, at, length)
    if kind == LIST:
        return _list(data, at)
    if kind == STRUCT:
        return _struct(data, at)
    raise ValueError(f"thrift type {kind} is not known")


def _list(data: bytes, at: int) -> tuple[tuple[int, list[Any]], int]:
    kind, count = data[at] & 15, data[at] >> 4
    at += 1
    if count == 15:
        count, at = _varint(data, at)
    values = []
    for _ in range(count):
        value, at = _value(data, at, kind)
        values.append(value)
    return (kind, values), at


def _bytes(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    if at + length > len(data):
        raise IndexError(at)
    return data[at : at + length], at + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def write_struct(fields: Struct) -> bytes:
    out = bytearray()
    last = 0
    for number, (kind, value) in sorted(fields.items()):
        shown = (TRUE if value else FALSE) if kind == TRUE else kind
        if number - last < 16:
            out.append((number - last) << 4 | shown)
        else:
            out.append(shown)
            out += _write_zigzag(number)
        last = number
        if kind != TRUE:
            out += _write_value(kind, value)
    out.append(0)
    return bytes(out)


def _write_value(kind: int, value: Any) -> bytes:
    if kind in (I16, I32, I64):
        return _write_zigzag(value)
    if kind in (TRUE, FALSE, BYTE):
        return bytes([value])
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return _write_varint(len(value)) + bytes(value)
    if kind == STRUCT:
        return write_struct(value)
    element, values = value
    count = len(values)
    head = (
        bytes([count << 4 | element]) if count < 15 else bytes([240 | element]) + _write_varint(count)
    )
    return head + b"".join(_write_value(element, entry) for entry in values)


def _write_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _write_zigzag(value: int) -> bytes:
    return _write_varint(value << 1 if value >= 0 else (-value << 1) - 1)
