"""The rewritten module, checked by the engine that will run it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.core.errors import CorruptError
from burnqed.lean.embedded import package, wasm

RUN = """
const m = new WebAssembly.Module(require('fs').readFileSync(process.argv[1]));
const table = new WebAssembly.Table({ initial: 5, element: 'anyfunc' });
const e = new WebAssembly.Instance(m, { env: { __indirect_function_table: table } }).exports;
const slots = process.argv.slice(2).map(Number);
console.log(JSON.stringify({
  exports: Object.keys(e), size: e.table.length, values: slots.map(i => e.table.get(i)()),
  global: e.mutable_global_1.value,
}));
"""


def small_module() -> bytes:
    """Two functions returning 7 and 9, a table holding the first, one constant and one variable."""

    def sec(kind: int, content: bytes) -> bytes:
        return wasm.section(kind, content)

    exports = [
        wasm.export_entry("l_seven", 0, 0),
        wasm.export_entry("l_nine", 0, 1),
        wasm.export_entry("lean_nine", 0, 1),
        wasm.export_entry("l_address", 3, 0),
        wasm.export_entry("system", 0, 0),
        wasm.export_entry("environ", 3, 0),
        wasm.export_entry("table", 1, 0),
    ]
    return b"\0asm\1\0\0\0" + b"".join([
        sec(1, b"\1\x60\0\1\x7f"),
        sec(2, b"\0"),
        sec(3, b"\2\0\0"),
        sec(4, b"\1\x70\0\3"),
        sec(6, b"\2\x7f\0\x41" + wasm.write_signed(70000) + b"\x0b\x7f\1\x41\5\x0b"),
        sec(7, wasm.vector(exports)),
        sec(9, b"\1\0\x41\0\x0b\1\0"),
        sec(10, b"\2\4\0\x41\7\x0b\4\0\x41\x09\x0b"),
    ])  # fmt: skip


def test_exports_become_table_entries(tmp_path: Path) -> None:
    rewritten = wasm.rewrite(small_module(), {"table"}.__contains__)
    assert rewritten.symbols["l_nine"] == rewritten.symbols["lean_nine"]
    assert rewritten.symbols["l_address"] == 70000
    assert set(rewritten.symbols) == {"l_seven", "l_nine", "lean_nine", "l_address"}, "Lean's own only"
    file = tmp_path / "small.wasm"
    file.write_bytes(rewritten.module)
    slots = [str(rewritten.symbols[name]) for name in ("l_seven", "l_nine", "lean_nine")]
    node = [str(package.node_executable()), "-e", RUN, str(file), *slots]
    out = subprocess.run(node, capture_output=True, text=True, timeout=60, check=True)
    seen = json.loads(out.stdout)
    assert seen["values"] == [7, 9, 9]
    assert seen["size"] == 5
    assert set(seen["exports"]) == {"table", "mutable_global_1"}
    assert seen["global"] == 5


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(CorruptError):
        wasm.rewrite(b"<html>not found</html>", lambda _name: True)


@given(st.integers(0, 2**32))
def test_unsigned_numbers_come_back(value: int) -> None:
    coded = wasm.write_unsigned(value)
    assert wasm.read_unsigned(coded, 0) == (value, len(coded))


@given(st.integers(-(2**31), 2**31))
def test_signed_numbers_come_back(value: int) -> None:
    coded = wasm.write_signed(value)
    assert wasm.read_signed(coded, 0) == (value, len(coded))
