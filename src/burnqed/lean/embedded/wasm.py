"""Rewrites `lean.wasm` so that it starts fast and can be snapshotted.

As published the module exports 201,110 symbols, because the Lean interpreter looks compiled
functions up by name (`dlsym`). Every thread of every process then pays for 190,000 JavaScript
function objects. Here the exports become entries of the module's own function table: a symbol is
an index, the table is filled by the engine when the module is instantiated (in the same order in
every thread), and the names go into a side file that is read only when a name is looked up.

Only Lean's own names can be looked up. A Lean file may say `@[export NAME, extern "NAME"]` of any name,
and the interpreter then calls what `dlsym` finds: in the C library, that is `system` and `dlopen`.

Mutable globals are exported as well, since a memory snapshot has to save and restore them; the table
becomes an import, so that another module can call through it (`catching`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from burnqed.core.errors import CorruptError

TYPE, IMPORT, TABLE, GLOBAL, EXPORT, ELEMENT = 1, 2, 4, 6, 7, 9
FUNCTION_KIND, TABLE_KIND, MEMORY_KIND, GLOBAL_KIND, TAG_KIND = range(5)
I32_CONST, END = 0x41, 0x0B
MUTABLE_GLOBAL_PREFIX = "mutable_global_"
TABLE_NAME = "__indirect_function_table"
# What the interpreter asks for: a declaration's compiled code, by its mangled name or by the one that
# Lean's library exports it under, and the initialiser of a module.
LEAN_NAMES = ("l_", "lean_", "initialize_")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A module and where things are in it."""

    module: bytes
    symbols: dict[str, int]
    """Name to function-table index (functions) or memory address (data), of what has an address."""
    table_size: int
    invokes: dict[str, tuple[bytes, bytes]]
    """The imports through which C++ calls what may throw, with their types; see `catching`."""


def read_unsigned(data: bytes, at: int) -> tuple[int, int]:
    """A LEB128 number and the position behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def write_unsigned(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_signed(value: int) -> bytes:
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        if (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40):
            out.append(byte)
            return bytes(out)
        out.append(byte | 0x80)


def read_signed(data: bytes, at: int) -> tuple[int, int]:
    value, end = read_unsigned(data, at)
    negative = data[end - 1] & 0x40  # the highest bit of the last seven
    return (value - (1 << 7 * (end - at)) if negative else value), end


def sections(module: bytes) -> Iterator[tuple[int, int, int]]:
    """(id, start, end) of each section's content."""
    if module[:8] != b"\0asm\1\0\0\0":
        raise CorruptError("lean.wasm is not a WebAssembly module", hint="burn-qed lean install")
    at = 8
    while at < len(module):
        kind = module[at]
        size, at = read_unsigned(module, at + 1)
        yield kind, at, at + size
        at += size


def read_exports(module: bytes, at: int) -> list[tuple[str, int, int]]:
    """(name, kind, index) of each export."""
    count, at = read_unsigned(module, at)
    found = []
    for _ in range(count):
        length, at = read_unsigned(module, at)
        name = module[at : at + length].decode()
        at += length
        kind = module[at]
        index, at = read_unsigned(module, at + 1)
        found.append((name, kind, index))
    return found


def read_imports(module: bytes, at: int) -> Iterator[tuple[str, int, int]]:
    """(name, kind, type index) of each import; the last is 0 for what is no function."""
    count, at = read_unsigned(module, at)
    for _ in range(count):
        for _ in range(2):
            length, at = read_unsigned(module, at)
            name = module[at : at + length].decode()
            at += length
        kind, index = module[at], 0
        at += 1
        if kind == FUNCTION_KIND:
            index, at = read_unsigned(module, at)
        elif kind == TAG_KIND:
            _, at = read_unsigned(module, at + 1)
        elif kind == GLOBAL_KIND:
            at += 2
        else:
            at += kind == TABLE_KIND
            flags, at = read_unsigned(module, at)
            for _ in range(1 + (flags & 1)):
                _, at = read_unsigned(module, at)
        yield name, kind, index


def read_types(module: bytes, at: int) -> list[tuple[bytes, bytes]]:
    """(parameters, results) of each function type, a byte each."""
    count, at = read_unsigned(module, at)
    types = []
    for _ in range(count):
        halves = []
        at += 1
        for _ in range(2):
            length, at = read_unsigned(module, at)
            halves.append(module[at : at + length])
            at += length
        types.append((halves[0], halves[1]))
    return types


def read_globals(module: bytes, at: int, first: int) -> tuple[dict[int, int], list[int]]:
    """The constants of immutable globals by index, and the indices of mutable ones."""
    count, at = read_unsigned(module, at)
    constants: dict[int, int] = {}
    mutable: list[int] = []
    for index in range(first, first + count):
        is_mutable, opcode = module[at + 1], module[at + 2]
        if opcode not in (I32_CONST, 0x42):
            raise CorruptError(f"lean.wasm: global {index} is not a constant")
        value, at = read_signed(module, at + 3)
        if module[at] != END:
            raise CorruptError(f"lean.wasm: global {index} has a long initialiser")
        at += 1
        if is_mutable:
            mutable.append(index)
        else:
            constants[index] = value & 0xFFFFFFFF
    return constants, mutable


def section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + write_unsigned(len(content)) + content


def vector(entries: Iterable[bytes]) -> bytes:
    items = list(entries)
    return write_unsigned(len(items)) + b"".join(items)


def export_entry(name: str, kind: int, index: int) -> bytes:
    encoded = name.encode()
    return write_unsigned(len(encoded)) + encoded + bytes([kind]) + write_unsigned(index)


def import_entry(name: str, kind: int, description: bytes, module: str = "env") -> bytes:
    words = (module.encode(), name.encode())
    return b"".join(write_unsigned(len(w)) + w for w in words) + bytes([kind]) + description


def is_lean_name(name: str) -> bool:
    return name.startswith(LEAN_NAMES)


def rewrite(
    module: bytes, keep: Callable[[str], bool], address: Callable[[str], bool] = is_lean_name
) -> Rewritten:
    """Move the exported functions that need an `address` into the table; export what `keep` says."""
    found = {kind: (start, end) for kind, start, end in sections(module) if kind}
    exports = read_exports(module, found[EXPORT][0])
    imports = list(read_imports(module, found[IMPORT][0]))
    first_global = sum(kind == GLOBAL_KIND for _, kind, _ in imports)
    constants, mutable = read_globals(module, found[GLOBAL][0], first_global)

    start, end = found[TABLE]
    tables, at = read_unsigned(module, start)
    if tables != 1 or module[at : at + 2] != b"\x70\0":
        raise CorruptError("lean.wasm: expected one growable function table")
    table_size, _ = read_unsigned(module, at + 2)

    slots: dict[int, int] = {}
    symbols: dict[str, int] = {}
    for name, kind, index in exports:
        if not address(name):
            continue
        if kind == FUNCTION_KIND:
            symbols[name] = slots.setdefault(index, table_size + len(slots))
        elif kind == GLOBAL_KIND and index in constants:
            symbols[name] = constants[index]
    full_size = table_size + len(slots)

    kept = [export_entry(*entry) for entry in exports if keep(entry[0])]
    kept += [export_entry(f"{MUTABLE_GLOBAL_PREFIX}{i}", GLOBAL_KIND, i) for i in mutable]
    e_start, e_end = found[ELEMENT]
    segments, e_at = read_unsigned(module, e_start)
    new_segment = (
        b"\0" + bytes([I32_CONST]) + write_signed(table_size) + bytes([END])
        + vector(write_unsigned(index) for index in slots)
    )  # fmt: skip
    i_start, i_end = found[IMPORT]
    imported, i_at = read_unsigned(module, i_start)
    table = import_entry(TABLE_NAME, TABLE_KIND, b"\x70\0" + write_unsigned(full_size))
    replaced = {
        IMPORT: write_unsigned(imported + 1) + module[i_at:i_end] + table,
        TABLE: None,
        EXPORT: vector(kept),
        ELEMENT: write_unsigned(segments + 1) + module[e_at:e_end] + new_segment,
    }
    parts = [module[:8]]
    for kind, start, end in sections(module):
        content = replaced[kind] if kind in replaced else module[start:end]
        if content is not None:
            parts.append(section(kind, content))
    types = read_types(module, found[TYPE][0])
    invokes = {
        name: types[index]
        for name, kind, index in imports
        if kind == FUNCTION_KIND and name.startswith("invoke_")
    }
    return Rewritten(b"".join(parts), symbols, full_size, invokes)
