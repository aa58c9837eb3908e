"""`burn-qed repl`: the REPL on stdin and stdout, as `pantograph-repl` would be."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
from importlib.metadata import version

import typer

from burnqed.cli.options import configured
from burnqed.core.errors import InputError
from burnqed.lean import host_files
from burnqed.lean.pool import run_sync
from burnqed.lean.process import LaunchSpec, LeanProcess, Limits
from burnqed.lean.toolchain import Toolchain
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig

# The client has limits of its own; these only keep a forgotten process from staying for ever.
LIMITS = Limits(request_seconds=24 * 3600.0, memory_bytes=16 * 2**30)


@configured(LeanConfig, only=("toolchain", "project"))
def repl(
    context: typer.Context,
    config: LeanConfig,
) -> None:
    """Serve Pantograph's line protocol: `burn-qed repl MODULE… [--lean.option=value]`.

    Prints `ready.`, then answers each request line with one JSON line; an empty line ends it. A
    script `#!/bin/sh` / `exec burn-qed repl "$@"` in place of pantograph-repl lets PyPantograph
    drive it.

    It is for programs, and gates nothing: what a client sends, Lean runs. Behind its walls that reaches
    no file, process or network of this machine (`burn-qed doctor` says which stand).
    """
    if "--help" in context.args or "-h" in context.args:
        typer.echo(context.get_help())
        return
    if "--version" in context.args:
        typer.echo(f"burn-qed {version('burn-qed')}")
        return
    options = [argument for argument in context.args if argument.startswith("-")]
    modules = [argument for argument in context.args if argument not in options]
    lean = leans.set_up(config, modules, options)
    run_sync(_serve(_Server(lean.toolchain, lean.spec)))


class _Server:
    """The client's Lean, and others beside it for files that import more than it has loaded."""

    def __init__(self, toolchain: Toolchain, spec: LaunchSpec) -> None:
        self._toolchain = toolchain
        self._spec = spec
        self._processes: dict[tuple[str, ...], LeanProcess] = {}

    async def start(self) -> None:
        self._processes[()] = await LeanProcess.start(self._spec, LIMITS)

    async def close(self) -> None:
        for process in self._processes.values():
            await process.close()

    async def ask(self, line: str) -> host_files.Reply:
        reply = await self._processes[()].request(line)
        imports = host_files.imports_wanted(line, reply)
        if not imports:
            return reply
        if imports not in self._processes:
            spec = self._toolchain.launch(imports)
            self._processes[imports] = await LeanProcess.start(spec, LIMITS)
        if host_files.stays(line):  # PyPantograph's load_header: from here on this is the client's Lean
            await self._processes[()].close()
            self._processes[()] = self._processes.pop(imports)
            imports = ()
        return await self._processes[imports].request(line)


async def _serve(server: _Server) -> None:
    lines = _stdin_lines()
    await server.start()
    try:
        _say("ready.")
        while line := (await lines.get()).decode("utf-8", errors="replace").strip():
            _say(await _answer(server, line))
    finally:
        await server.close()


def _stdin_lines() -> asyncio.Queue[bytes]:
    """Lines of stdin, and an empty one at its end.

    Read in a thread that is not waited for, so that Ctrl-C ends the program while nobody types, and
    by `os.read`, which holds no lock that the interpreter would want on its way out.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        rest = b""
        while chunk := os.read(0, 1 << 16):
            *lines, rest = (rest + chunk).split(b"\n") if b"\n" in chunk else (rest + chunk,)
            for line in lines:
                loop.call_soon_threadsafe(queue.put_nowait, line)
        for line in (rest, b""):
            with contextlib.suppress(RuntimeError):  # the loop has ended before us
                loop.call_soon_threadsafe(queue.put_nowait, line)

    threading.Thread(target=read, daemon=True).start()
    return queue


async def _answer(server: _Server, line: str) -> str:
    try:
        request, finish = host_files.resolve(line)
        reply = finish(await server.ask(request.replace("\r", " ")))
    except (OSError, UnicodeDecodeError, InputError) as error:
        reply = {"error": "io", "desc": str(error)}
    return json.dumps(reply, ensure_ascii=False, separators=(",", ":"))


def _say(line: str) -> None:
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()
