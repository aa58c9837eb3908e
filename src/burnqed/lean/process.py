"""One REPL process: it is started, gets one request at a time, is kept to its limits, and is stopped.

`LeanProcess` handles bytes, time and memory; `protocol` knows the meaning of the lines. Every failure
ends the same way: the whole process group is killed and reaped, and a `LeanLost` says why. A process is
never used again after an error, a timeout or a cancelled request, because its next line could answer
the previous request.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

from burnqed.core.errors import (
    LeanDied,
    LeanLost,
    LeanMemoryExceeded,
    LeanStartError,
    ProtocolError,
    RequestTimeout,
)

_GUARD = Path(__file__).with_name("guard.py")
_TICK = 0.25  # seconds between two checks of the memory
# What the kernel grants beyond the limit: it counts what is asked for, and the limit what is used.
_BEYOND = 2 * 2**30
_REAP = 5.0  # seconds to wait for a killed process; one stuck in the kernel may take longer
# The last words when an allocation fails: Lean's, C++'s, and those of its numbers.
_OUT_OF_MEMORY = ("out of memory", "std::bad_alloc", "GNU MP: Cannot allocate memory")
_TAIL = 8192  # bytes kept of stderr
_NOISE_LINES, _NOISE_WIDTH = 40, 300  # kept of stdout besides replies


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """The command that starts a REPL. `env` is its whole environment: nothing is inherited.

    For a `sealed` one, the kernel refuses the network and other processes if it can (`guard`), and
    unless it `may_write`, every change of a file. Its command begins with a path. For a `bounded` one
    the kernel refuses memory far beyond its limit, too.
    """

    command: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None = None
    sealed: bool = False
    may_write: bool = True
    bounded: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process may use before it is killed.

    `memory_bytes` limits the anonymous memory of the process and its children. File-backed pages do not
    count, because a Mathlib worker maps gigabytes of .olean files that all workers share.
    """

    start_seconds: float = 120.0
    request_seconds: float = 30.0
    close_seconds: float = 1.0
    memory_bytes: int = 4 * 2**30
    stack_kb: int = 1_000_000
    reply_bytes: int = 256 * 2**20
    noise_bytes: int = 16 * 2**20


def guarded(spec: LaunchSpec, limits: Limits) -> tuple[str, ...]:
    """The command behind `guard`, so that it ends with this thread."""
    python = (sys.executable, "-I", "-S")
    seal = "open" if not spec.sealed else "sealed" if spec.may_write else "shut"
    memory = limits.memory_bytes + _BEYOND if spec.bounded else 0
    how = (str(limits.stack_kb), str(memory), str(os.getpid()), seal)
    return (*python, str(_GUARD), *how, "--", *spec.command)


class LeanProcess:
    """A running REPL that printed `ready.`. Made by `start`, ended by `close` or `kill`."""

    def __init__(self, output: _Output, limits: Limits) -> None:
        self._output = output
        self._limits = limits
        self._born = time.monotonic()
        self._looked = self._born
        self.requests = 0
        self.resident = 0
        self._at_first = 0

    @classmethod
    async def start(cls, spec: LaunchSpec, limits: Limits | None = None) -> Self:
        """Start a process and wait until it is ready. Raises `LeanStartError`."""
        limits = limits or Limits()
        output = _Output(limits)
        ready = output.expect(lambda line: line.strip() == b"ready.")
        try:
            # A separate session: a kill reaches all of it, and Ctrl-C at the terminal does not.
            await asyncio.get_running_loop().subprocess_exec(
                lambda: output,
                *guarded(spec, limits),
                env=dict(spec.env),
                cwd=spec.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise LeanStartError(f"cannot start {spec.command[0]}: {error}") from error
        process = cls(output, limits)
        try:
            await process._wait(ready, limits.start_seconds)
        except LeanLost as error:
            raise LeanStartError(
                f"Lean did not become ready: {error.message}",
                hint="burn-qed doctor checks the toolchain",
            ) from error
        process.resident = process._at_first = resident_bytes(process.pid)
        return process

    @property
    def pid(self) -> int:
        return self._output.pid

    @property
    def alive(self) -> bool:
        """Whether it can take a request."""
        return self._output.fault is None

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._born

    @property
    def grown(self) -> int:
        """By how many bytes it had grown since it was ready when its memory was last looked at."""
        return max(0, self.resident - self._at_first)

    @property
    def over_memory(self) -> bool:
        """Whether the last check found more memory than the limit."""
        return self.resident > self._limits.memory_bytes

    def diagnostics(self) -> str:
        """The end of its output besides replies."""
        return self._output.diagnostics()

    async def request(self, line: str, timeout: float | None = None) -> dict[str, Any]:
        """Send one request line and return its reply. Raises `LeanLost`."""
        if "\n" in line or not line.strip():
            raise ValueError("a request must be exactly one line, and not empty")
        self._output.check()
        data = line.encode() + b"\n"
        reply = self._output.expect(lambda line: line.startswith(b"{"))
        self._output.write(data)
        self.requests += 1
        limit = self._limits.request_seconds if timeout is None else timeout
        raw = await self._wait(reply, limit)
        try:
            parsed = json.loads(raw)
        except (ValueError, RecursionError) as error:
            head = raw[:200].decode(errors="replace")
            self._output.fail(ProtocolError(f"the reply is not JSON ({error}): {head}"))
        if isinstance(self._output.fault, ProtocolError):
            # Also if a second reply came: either could belong to this request.
            await self.kill()
            raise self._output.fault
        return cast(dict[str, Any], parsed)

    async def close(self) -> None:
        """If it is idle, end its input and wait a moment. Then `kill` it."""
        if self.alive and self._output.idle:
            self._output.end_input()
            await asyncio.wait({self._output.gone}, timeout=self._limits.close_seconds)
        await self.kill()

    async def kill(self) -> None:
        """Kill the whole group and wait until it is reaped. May be called repeatedly."""
        self._output.fail(LeanDied("Lean was closed"))
        await asyncio.wait({self._output.gone}, timeout=_REAP)

    async def _wait(self, line: asyncio.Future[bytes], seconds: float) -> bytes:
        """Wait for the expected line. On any failure, kill the group."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                left = deadline - time.monotonic()
                await asyncio.wait({line}, timeout=max(0.0, min(left, _TICK)))
                self._look_at_memory()
                if line.done():
                    return line.result()
                if self.over_memory:
                    raise LeanMemoryExceeded(
                        f"Lean used {self.resident >> 20} MB, "
                        f"{self._limits.memory_bytes >> 20} MB are allowed"
                    )
                if left <= 0:
                    raise RequestTimeout(f"no reply within {seconds:g} s", seconds=seconds)
        except BaseException as error:
            # After a cancellation, too, or the next caller would read the reply to this request.
            lost = error if isinstance(error, LeanLost) else LeanDied("the request was cancelled")
            lost.diagnostics = lost.diagnostics or self.diagnostics()
            self._output.fail(lost)
            await self.kill()
            raise

    def _look_at_memory(self) -> None:
        now = time.monotonic()
        if now - self._looked >= _TICK:
            self._looked = now
            self.resident = resident_bytes(self.pid)


class _Output(asyncio.SubprocessProtocol):
    """The pipes of one process: splits bytes into lines for whoever waits, until the end.

    It uses callbacks, so that output is drained even if nobody waits (a full stderr pipe would stop
    Lean), and that no line is too long.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._transport: asyncio.SubprocessTransport | None = None
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._noise: deque[bytes] = deque(maxlen=_NOISE_LINES)
        self._noise_bytes = 0
        self._stderr = b""
        self._waiter: asyncio.Future[bytes] | None = None
        self._wanted: Callable[[bytes], bool] = bool
        self.pid = 0
        self.fault: LeanLost | None = None
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def idle(self) -> bool:
        return self._waiter is None

    def expect(self, wanted: Callable[[bytes], bool]) -> asyncio.Future[bytes]:
        """A future for the next line that is `wanted`. Other lines are noise."""
        if self._waiter is not None:
            raise RuntimeError("this Lean process is already answering another request")
        self._noise_bytes = 0
        self._wanted = wanted
        self._waiter = asyncio.get_running_loop().create_future()
        return self._waiter

    def check(self) -> None:
        """Raise the failure, if there was one."""
        if self.fault is not None:
            raise self.fault

    def write(self, data: bytes) -> None:
        self._pipe(0).write(data)

    def end_input(self) -> None:
        self._pipe(0).close()

    def fail(self, error: LeanLost) -> None:
        """Kill the group. The first reason is the one that is reported."""
        if self.fault is not None:
            return
        self.fault = error
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
            # If the waiting caller was cancelled, nobody fetches this exception.
            self._waiter.exception()
        self._kill_group()

    def diagnostics(self) -> str:
        noise = b"\n".join(self._noise)
        return (noise + b"\n" + self._stderr).decode(errors="replace").strip()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._stderr = (self._stderr + data)[-_TAIL:]
            return
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._line(b"".join([*self._partial, part]))
            self._partial, self._partial_bytes = [], 0
        if rest:
            self._partial.append(rest)
            self._partial_bytes += len(rest)
            if self._partial_bytes > self._limits.reply_bytes:
                self.fail(ProtocolError(f"a line of more than {self._limits.reply_bytes} bytes"))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            # Without stdout it cannot answer. It is usually exiting: wait for its exit code.
            self._later(self._closed_its_output)

    def process_exited(self) -> None:
        # Children left behind would keep the pipes open.
        self._kill_group()
        self._later(self._ended)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended()

    # What the callbacks do.

    def _line(self, line: bytes) -> None:
        if self.fault is not None:
            return
        if self._waiter is not None and self._wanted(line):
            waiter, self._waiter = self._waiter, None
            if not waiter.done():
                waiter.set_result(line)
        elif self._waiter is None and line.startswith(b"{"):
            self.fail(
                ProtocolError(f"a reply without a request: {line[:200].decode(errors='replace')}")
            )
        else:
            self._noise.append(line[:_NOISE_WIDTH])
            self._noise_bytes += len(line) + 1
            if self._noise_bytes > self._limits.noise_bytes:
                self.fail(ProtocolError("nothing but noise", diagnostics=self.diagnostics()))

    def _closed_its_output(self) -> None:
        self.fail(LeanDied("Lean closed its output", diagnostics=self.diagnostics()))

    def _ended(self) -> None:
        """The process is reaped and its output read, so nothing more will come."""
        if self.gone.done():
            return
        assert self._transport is not None
        said, code = self.diagnostics(), self._transport.get_returncode()
        text = f"Lean died ({_describe(code)}): {_last_line(said)}"
        if any(words in text for words in _OUT_OF_MEMORY):
            self.fail(LeanMemoryExceeded(text, diagnostics=said))
        self.fail(LeanDied(text, diagnostics=said, returncode=code))
        self._transport.close()
        self.gone.set_result(None)

    def _later(self, action: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(1.0, action)

    def _kill_group(self) -> None:
        if not self.gone.done() and self.pid:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _pipe(self, fd: int) -> asyncio.WriteTransport:
        assert self._transport is not None
        return cast(asyncio.WriteTransport, self._transport.get_pipe_transport(fd))


def _describe(returncode: int | None) -> str:
    if returncode is not None and returncode < 0:
        return f"signal {-returncode}, {signal.strsignal(-returncode)}"
    return f"exit code {returncode}"


def _last_line(text: str) -> str:
    """Its last line. Lines that begin with a control character are progress reports."""
    said = [line for line in text.split("\n") if line and not line.startswith("\x01")]
    return said[-1][:_NOISE_WIDTH] if said else "it printed nothing"


def resident_bytes(pid: int) -> int:
    """Anonymous memory of a process and its descendants; 0 without /proc.

    Not by psutil, which would scan all processes of the machine to find the children of one.
    """
    total = 0
    pids = [pid]
    while pids:
        folder = Path("/proc", str(pids.pop()))
        with suppress(OSError, ValueError):
            for line in (folder / "status").read_text().splitlines():
                if line.startswith(("RssAnon:", "RssShmem:")):
                    total += int(line.split()[1]) * 1024
            for thread in (folder / "task").iterdir():
                pids += map(int, (thread / "children").read_text().split())
    return total
