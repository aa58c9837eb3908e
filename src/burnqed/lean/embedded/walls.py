"""Tests each wall around the embedded Lean.

Lean code that runs after all (a tactic, a file's command, a client of the REPL) must not reach anything
of this machine. More than one layer protects each of four things, if the system supports them:

    code        Lean finds only its own functions by name; Node evaluates no text
    files       Lean is shown its library; Node reads no other folder and writes none
    processes   Lean starts none, nor does Node; the kernel refuses them
    network     the kernel refuses sockets

Results are of actual attempts: in a worker, in a Node without the kernel's seal, and in a sealed Node
without its own permissions.
"""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from burnqed.core.errors import LeanStartError
from burnqed.lean import replies, requests
from burnqed.lean.embedded import package
from burnqed.lean.embedded.launch import NODE_FLAGS, permissions
from burnqed.lean.process import LaunchSpec, LeanProcess, Limits, guarded

Layer = Literal["Lean", "Node", "the kernel"]
ATTEMPT = Path(__file__).with_name("walls.js")
SECONDS = 30.0
THROUGH = "through"


@dataclass(frozen=True, slots=True)
class Wall:
    """What a wall protects, and which of its possible layers held."""

    around: str
    held: Mapping[Layer, bool]

    @property
    def stands(self) -> bool:
        return any(self.held.values())

    def __str__(self) -> str:
        held = [str(layer) for layer, held in self.held.items() if held] or ["nothing"]
        fallen = [f"not {layer}" for layer, held in self.held.items() if not held]
        return f"{self.around}: {', '.join(held + fallen)}"


async def try_walls(worker: LaunchSpec) -> list[Wall]:
    """Try every wall. `worker` starts the embedded Lean."""
    with (
        tempfile.NamedTemporaryFile() as file,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        secret, port = Path(file.name), listener.getsockname()[1]
        lean = await from_lean(worker, attempts_of_lean(secret, worker.command[0]))
        untouched = not file.read()  # Lean has files in its own memory, too, and may write those
        node = await _from_node(secret, port, sealed=False)
        sealed = await _from_node(secret, port, sealed=True)
    return [
        Wall("code", {"Lean": lean["code"], "Node": node["code"]}),
        Wall(
            "files",
            {"Lean": lean["read"] and untouched, "Node": node["read"] and node["write"]},
        ),
        Wall(
            "processes",
            {"Lean": lean["process"], "Node": node["process"], "the kernel": sealed["process"]},
        ),
        Wall("network", {"Node": node["network"], "the kernel": sealed["network"]}),
    ]


def attempts_of_lean(secret: Path, program: str) -> dict[str, str]:
    """Lean code for each thing that a wall should stop."""
    file = json.dumps(str(secret))
    return {
        "code": '@[export strlen, extern "strlen"] opaque f (text : @& String) : UInt8\n#eval f "x"',
        "read": f"#eval (do let _ ← IO.FS.readFile {file} : IO Unit)",
        "write": f'#eval (IO.FS.writeFile {file} "through" : IO Unit)',
        "process": "#eval (do let _ ← IO.Process.output "
        f"{{ cmd := {json.dumps(program)}, args := #[] }} : IO Unit)",
    }


async def from_lean(spec: LaunchSpec, attempts: Mapping[str, str]) -> dict[str, bool]:
    """For each attempt of Lean code, whether it failed."""
    process = await LeanProcess.start(spec)
    try:
        failed = {}
        for what, source in attempts.items():
            reply = await process.request(requests.Process(source).line, SECONDS)
            units = replies.read(reply, replies.Processed).units
            failed[what] = any(one.severity == "error" for unit in units for one in unit.messages)
        return failed
    finally:
        await process.kill()


async def _from_node(secret: Path, port: int, *, sealed: bool) -> dict[str, bool]:
    """For each attempt of JavaScript, whether Node's flags alone, or the seal alone, stopped it."""
    flags = () if sealed else (*NODE_FLAGS, *permissions(ATTEMPT.parent))
    attempt = (str(ATTEMPT), str(secret), str(port))
    spec = LaunchSpec((str(package.node_executable()), *flags, *attempt), {}, sealed=sealed)
    process = await asyncio.create_subprocess_exec(
        *guarded(spec, Limits()), env={}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, said = await asyncio.wait_for(process.communicate(), SECONDS)
        became = json.loads(out)
    except (TimeoutError, ValueError) as error:
        with suppress(ProcessLookupError):
            process.kill()
        why = "it took too long" if isinstance(error, TimeoutError) else said.decode(errors="replace")
        raise LeanStartError(f"Node could not run the tests of its walls: {why[:300]}") from error
    return {what: how != THROUGH for what, how in became.items()}
