"""A small WebAssembly module for calls that may throw.

C++ in this build calls everything that may throw through an import, `invoke_…(function, arguments)`,
which emscripten writes in JavaScript: `try { return table.get(function)(…) } catch …`. Lean's kernel
and its term traversals do little else, and each such call crosses from WebAssembly to JavaScript and
back. This module does the same inside WebAssembly: it calls through the shared table in a `try`, and
only what was really thrown reaches JavaScript (`caught`), which sorts exceptions of C++ from others.

JavaScript's version also forgives a call with an argument too many. The build needs that once, when
its `main` calls Lean's, so booting uses it; a restored worker never comes there.
"""

from __future__ import annotations

from burnqed.lean.embedded.wasm import (
    END,
    FUNCTION_KIND,
    I32_CONST,
    TABLE_KIND,
    TABLE_NAME,
    TAG_KIND,
    Rewritten,
    export_entry,
    import_entry,
    section,
    vector,
    write_signed,
    write_unsigned,
)

EXTERNREF, I32, I64, F32, F64 = 0x6F, 0x7F, 0x7E, 0x7D, 0x7C
EMPTY = 0x40
TRY, CATCH, CALL, CALL_INDIRECT = 0x06, 0x07, 0x10, 0x11
LOCAL_GET, LOCAL_SET = 0x20, 0x21
ZERO = {
    I32: bytes([I32_CONST, 0]),
    I64: bytes([0x42, 0]),
    F32: bytes([0x43, 0, 0, 0, 0]),
    F64: bytes([0x44, 0, 0, 0, 0, 0, 0, 0, 0]),
}
STACK_POINTER = "emscripten_stack_get_current"


def function_type(parameters: bytes, results: bytes) -> bytes:
    return b"\x60" + vector(bytes([p]) for p in parameters) + vector(bytes([r]) for r in results)


def build(module: Rewritten) -> bytes:
    """The module: imports the table, JavaScript's exception tag and `caught`; exports each invoke."""
    types: list[bytes] = []

    def type_index(parameters: bytes, results: bytes) -> bytes:
        entry = function_type(parameters, results)
        if entry not in types:
            types.append(entry)
        return write_unsigned(types.index(entry))

    tag_type = type_index(bytes([EXTERNREF]), b"")
    caught_type = type_index(bytes([EXTERNREF, I32]), b"")
    get_stack_type = type_index(b"", bytes([I32]))
    get_stack = (
        bytes([I32_CONST]) + write_signed(module.symbols[STACK_POINTER])
        + bytes([CALL_INDIRECT]) + get_stack_type + b"\0"
    )  # fmt: skip

    functions, bodies = [], []
    for parameters, results in module.invokes.values():
        called = type_index(parameters[1:], results)
        functions.append(type_index(parameters, results))
        arguments = b"".join(
            bytes([LOCAL_GET]) + write_unsigned(i) for i in (*range(1, len(parameters)), 0)
        )
        stack = write_unsigned(len(parameters))
        code = (
            get_stack + bytes([LOCAL_SET]) + stack
            + bytes([TRY, results[0] if results else EMPTY])
            + arguments + bytes([CALL_INDIRECT]) + called + b"\0"
            + bytes([CATCH]) + b"\0" + bytes([LOCAL_GET]) + stack + bytes([CALL]) + b"\0"
            + (ZERO[results[0]] if results else b"") + bytes([END, END])
        )  # fmt: skip
        body = b"\1\1" + bytes([I32]) + code
        bodies.append(write_unsigned(len(body)) + body)

    imports = [
        import_entry("caught", FUNCTION_KIND, caught_type),
        import_entry(TABLE_NAME, TABLE_KIND, b"\x70\0" + write_unsigned(module.table_size)),
        import_entry("thrown", TAG_KIND, b"\0" + tag_type),
    ]
    exports = [export_entry(name, FUNCTION_KIND, 1 + i) for i, name in enumerate(module.invokes)]
    return b"\0asm\1\0\0\0" + b"".join(
        section(kind, vector(entries))
        for kind, entries in ((1, types), (2, imports), (3, functions), (7, exports), (10, bodies))
    )
