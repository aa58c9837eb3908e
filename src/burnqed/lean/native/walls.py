"""Tests the walls around a native Lean, all of them the kernel's: see `guard`.

    files       it changes none; it can read what its user can
    processes   it starts none, and reaches no other
    network     it opens no socket

Results are of actual attempts: in a worker, and for the network in a Python behind the same seal.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from burnqed.lean.embedded.walls import SECONDS, THROUGH, Wall, attempts_of_lean, from_lean
from burnqed.lean.process import LaunchSpec, Limits, guarded

_SOCKET = f"import socket; socket.socket(); print({THROUGH!r})"


async def try_walls(worker: LaunchSpec) -> list[Wall]:
    """Try every wall. `worker` starts the native Lean with Init."""
    with tempfile.NamedTemporaryFile() as file:
        attempts = attempts_of_lean(Path(file.name), "/bin/true")
        lean = await from_lean(worker, {what: attempts[what] for what in ("write", "process")})
    return [
        Wall("changes of files", {"the kernel": lean["write"]}),
        Wall("processes", {"the kernel": lean["process"]}),
        Wall("network", {"the kernel": await _no_socket(worker)}),
    ]


async def _no_socket(worker: LaunchSpec) -> bool:
    python = replace(worker, command=(sys.executable, "-I", "-S", "-c", _SOCKET), cwd=None)
    process = await asyncio.create_subprocess_exec(
        *guarded(python, Limits()), env={}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    return THROUGH.encode() not in out
