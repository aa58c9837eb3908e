"""The way out of Lean that there was, step by step, as Lean source.

A name of the C library looked up (`@[export]` gives the interpreter a symbol's name, `extern` has it
look), `dlopen` called with a module that Lean has written into its own file system, that module's start
function linked against `emscripten_run_script`, and JavaScript run by it in Node.
"""

from __future__ import annotations

import json

from burnqed.lean.embedded import wasm

HOLE = b"\x80\x80\x80\x80\x00"  # where the address of the script goes: five bytes of LEB128


def by_name(name: str, lean: str) -> str:
    """Call a function of C by its name; `lean` is what it is called here."""
    head = f'@[export {name}, extern "{name}"] opaque {lean} (text : @& String) : UInt8'
    return f'{head}\n#eval {lean} "x"\n'


def side_module() -> bytes:
    """Runs `emscripten_run_script(address)` as soon as it is linked."""
    name = b"\x08dylink.0"
    body = b"\0\x41" + HOLE + b"\x10\0\x0b"
    script = wasm.import_entry("emscripten_run_script", wasm.FUNCTION_KIND, b"\0")
    return b"\0asm\1\0\0\0" + b"".join(
        wasm.section(kind, content)
        for kind, content in (
            (0, name + b"\x01\x04\0\0\0\0"),
            (1, b"\2\x60\1\x7f\0\x60\0\0"),
            (2, wasm.vector([script])),
            (3, b"\1\1"),
            (8, b"\1"),
            (10, wasm.vector([wasm.write_unsigned(len(body)) + body])),
        )
    )


def breakout(script: str) -> str:
    """Have Node run a script. (Addresses for C are odd here: they are passed as boxed numbers.)"""
    module = side_module()
    return f"""
@[export dlopen, extern "dlopen"] opaque dlopen (path flags : @& Nat) : UInt8
unsafe def go : IO Unit := do
  let script := {json.dumps(script)}
  let path := "x/tmp/side.wasm\\x00"
  let address := ptrAddrUnsafe script + 20
  let mut bytes := ByteArray.empty
  for byte in [{",".join(map(str, module))}] do bytes := bytes.push (Nat.toUInt8 byte)
  for i in [0, 1, 2, 3, 4] do
    let bits := ((address >>> (7 * i).toUSize) &&& 127).toUInt8
    bytes := bytes.set! ({module.index(HOLE)} + i) (bits ||| (if i < 4 then 128 else 0))
  IO.FS.writeBinFile "/tmp/side.wasm" bytes
  let handle := dlopen ((ptrAddrUnsafe path + 20) / 2).toNat 0
  IO.println s!"{{handle}} {{script.length}} {{path.length}}"
#eval (go : IO Unit)
"""


def connecting(port: int) -> str:
    """JavaScript that reaches a listener, from a thread whose event loop runs."""
    inner = f'require("net").connect({port},"127.0.0.1")'
    return (
        f"new (require('worker_threads').Worker)({json.dumps(inner)},{{eval:true}});"
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0,2000)"
    )
