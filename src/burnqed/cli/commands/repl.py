"""`burn-qed repl`: the REPL on stdin and stdout, like `pantograph-repl`."""

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

# The client has its own limits; these only end a process that was forgotten.
LIMITS = Limits(request_seconds=24 * 3600.0, memory_bytes=16 * 2**30)


@configured(LeanConfig, only=("toolchain", "project"))
def repl(
    context: typer.Context,
    config: LeanConfig,
) -> None:
    """Serve Pantograph's line protocol: `burn-qed repl MODULE… [--lean.option=value]`.

    It prints `ready.` and answers each request line with one JSON line, until an empty line. To use it
    with PyPantograph, put a script in place of pantograph-repl: `#!/bin/sh` and
    `exec burn-qed repl "$@"`.

    This is for programs. Lean runs whatever the client sends, without the checks of `prove` and
    `check`. The embedded Lean runs behind walls that keep it from this machine's files, processes and
    network; `burn-qed doctor` tests them.
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
    """The client's Lean, and further ones for files that import more than it has loaded."""

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

    A daemon thread reads them, so that Ctrl-C ends the program while nobody types. It uses `os.read`,
    which holds no lock that the interpreter needs at exit.
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
