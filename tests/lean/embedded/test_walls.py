"""Each step of the way out of Lean that there was, and each wall in it by itself."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import LeanLost
from burnqed.lean import requests
from burnqed.lean.embedded import glue, package, wasm
from burnqed.lean.embedded.launch import NODE_FLAGS, permissions
from burnqed.lean.embedded.walls import ATTEMPT, Wall, try_walls
from burnqed.lean.process import LaunchSpec, LeanProcess
from burnqed.lean.toolchain import Toolchain
from tests.lean.embedded.breakout import breakout, by_name, connecting
from tests.lean.test_guard import SEALS

pytestmark = pytest.mark.lean


async def said(spec: LaunchSpec, source: str) -> str:
    """What an ungated Lean says about a text, or how it ended."""
    process = await LeanProcess.start(spec)
    try:
        reply = await process.request(requests.Process(source).line, 60)
        return "\n".join(m["data"] for unit in reply["units"] for m in unit["messages"])
    except LeanLost as lost:
        return lost.message
    finally:
        await process.kill()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)  # who came is in the queue by now
        yield server


def was_reached(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except TimeoutError:
        return False
    return True


# ------------------------------------------------------------------------- in Lean


NAMES = (
    "strlen", "puts", "system", "malloc", "execv", "emscripten_get_heap_size",
    "_ZN4lean15save_stack_infoEb",
)  # fmt: skip


async def test_no_name_but_leans_is_found(lean_launch: LaunchSpec) -> None:
    heard = await said(lean_launch, "\n".join(by_name(name, f"f{i}") for i, name in enumerate(NAMES)))
    assert heard.count("Could not find native implementation") == len(NAMES), heard


async def test_the_whole_way_is_closed(lean_launch: LaunchSpec, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    script = "process._rawDebug('JavaScript ran');" + connecting(port)
    heard = await said(lean_launch, breakout(script))
    assert "JavaScript ran" not in heard
    assert not was_reached(listener)


def test_every_symbol_is_leans_own(toolchain: Toolchain) -> None:
    lines = (toolchain.where / "lean.symbols").read_text(encoding="latin1").split("\n")
    names = [line.rpartition(" ")[0] for line in lines]
    assert len(names) > 100_000
    assert [name for name in names if not wasm.is_lean_name(name)] == []


# ------------------------------------------------------- in the script around it


def test_nothing_in_the_script_evaluates_or_links(toolchain: Toolchain) -> None:
    script = (toolchain.where / "lean.js").read_text(encoding="utf-8")
    for door in (
        "eval", "new Function", "import(", "dlopen", "loadWebAssemblyModule", "run_script",
        "child_process", "load_script", "create_worker", "wget", "SOCKFS", "new WebSocket", "fetch(",
        "importScripts",
    ):  # fmt: skip
        assert door not in script, door
    assert len(re.findall("new Worker", script)) == 1, "threads, which run this same script"


def test_what_a_thread_may_have_done_for_it_is_open_too(toolchain: Toolchain) -> None:
    """By number, a thread asks the main one for functions; once they were all in this table."""
    script = (toolchain.where / "lean.js").read_text(encoding="utf-8")
    (table,) = re.findall(r"proxiedFunctionTable=\[([^]]*)\]", script)
    there = {name for name in table.split(",") if name != "null"}
    assert there
    assert there - {f"_{name}" for name in glue.OPEN} == {"exitOnMainThread", "pthreadCreateProxied"}


IMPORTS = """{
const fs = require('fs'), vm = require('vm'), path = require('path');
const dist = process.argv[1], closed = JSON.parse(process.argv[2]);
Object.assign(globalThis, { require, __dirname: dist, __filename: path.join(dist, 'lean.js') });
const attempt = act => { try { return String(act()); } catch (error) { return error.message; } };
globalThis.Module = {
  print() {}, printErr() {},
  instantiateWasm(imports) {
    const said = {};
    for (const name of closed) said[name] = attempt(imports.env[name]);
    const ask = globalThis.require;
    for (const name of ['net', 'http', 'child_process', 'vm']) said[name] = attempt(() => ask(name));
    for (const name of ['fetch', 'WebSocket', 'EventSource']) said[name] = typeof globalThis[name];
    said.getBuiltinModule = typeof process.getBuiltinModule;
    fs.writeSync(1, JSON.stringify(said));
    process.exit(0);
  },
};
vm.runInThisContext(fs.readFileSync(globalThis.__filename, 'utf8'));
}"""


def test_imports_that_lean_does_not_need_do_nothing(toolchain: Toolchain) -> None:
    module = (toolchain.where / "lean.wasm").read_bytes()
    section = next(start for kind, start, _ in wasm.sections(module) if kind == wasm.IMPORT)
    functions = {n for n, kind, _ in wasm.read_imports(module, section) if kind == wasm.FUNCTION_KIND}
    closed = {n for n in functions - glue.OPEN if not n.startswith(glue.OPEN_KINDS)}
    assert {"_dlopen_js", "_emscripten_system", "emscripten_wget_data", "__syscall_socket"} <= closed
    asked = sorted(closed | {"emscripten_run_script", "emscripten_create_worker"})
    out = subprocess.run(
        [str(package.node_executable()), "-e", IMPORTS, str(toolchain.where), json.dumps(asked)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr[:500]
    became: dict[str, str] = json.loads(out.stdout)
    for name in asked:
        wanted = "-52" if name.startswith("__syscall_") else f"Aborted({name} is not for Lean)"
        assert became.pop(name).startswith(wanted), name
    for name in ("net", "http", "child_process", "vm"):
        assert became.pop(name) == f"{name} is not for Lean"
    assert set(became.values()) == {"undefined"}


# --------------------------------------------------------- in Node, and in the kernel


def attempts(listener: socket.socket, secret: Path, *flags: str) -> dict[str, Any]:
    """What JavaScript comes to in a Node of its own, without the kernel's seal."""
    port = listener.getsockname()[1]
    node = [str(package.node_executable()), *flags, str(ATTEMPT), str(secret), str(port)]
    out = subprocess.run(node, capture_output=True, text=True, timeout=60, check=True)
    found: dict[str, Any] = json.loads(out.stdout)
    return found


def test_node_by_itself(listener: socket.socket, tmp_path: Path) -> None:
    """Without the flags everything is open, or the attempts would show nothing."""
    secret = tmp_path / "secret"
    secret.write_text("kept")
    free = attempts(listener, secret)
    assert set(free.values()) == {"through"}
    assert secret.read_text() == ""
    secret.write_text("kept")
    held = attempts(listener, secret, *NODE_FLAGS, *permissions(ATTEMPT.parent))
    assert held["code"] == "EvalError"
    assert {held[what] for what in ("read", "write", "process")} == {"ERR_ACCESS_DENIED"}
    assert secret.read_text() == "kept"


def test_a_worker_has_these_walls(lean_launch: LaunchSpec) -> None:
    assert lean_launch.sealed
    assert set(NODE_FLAGS) <= set(lean_launch.command)
    assert "--permission" in lean_launch.command
    assert not [flag for flag in lean_launch.command if flag.startswith("--allow-fs-write")]


@pytest.mark.skipif(not SEALS, reason="this kernel has no seals")
async def test_doctor_finds_every_wall_standing(lean_launch: LaunchSpec) -> None:
    assert [str(wall) for wall in await try_walls(lean_launch)] == [
        "code: Lean, Node",
        "files: Lean, Node",
        "processes: Lean, Node, the kernel",
        "network: the kernel, not Node",
    ]


def test_a_wall_stands_by_one_layer() -> None:
    assert not Wall("network", {"Node": False, "the kernel": False}).stands
    assert str(Wall("network", {"Node": False, "the kernel": False})) == (
        "network: nothing, not Node, not the kernel"
    )
    assert Wall("files", {"Lean": False, "Node": True}).stands
