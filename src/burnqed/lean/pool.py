"""A bounded set of Lean processes: leased, replaced when they die, recycled when they have grown.

The pool has `size` slots, and a slot starts a process only after its last one is reaped. So there are
never more than `size` processes, dying ones included. A lease holds a slot. When its process is lost,
the lease moves to a slot with a warm one, if any, while the old slot is refilled in the background.

A process is clean until it gets an untrusted request: a tactic, or a text to compile. Only the answers
of a clean process are trusted (see `judge`), and a process never becomes clean again: it is replaced.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from burnqed.core.errors import LeanLost, LeanStartError, PoolClosed, RequestTimeout
from burnqed.lean.process import LaunchSpec, LeanProcess, Limits
from burnqed.lean.replies import Reply
from burnqed.lean.requests import Gate

T = TypeVar("T")

# Which process a lease gets.
#   any:   any
#   clean: one without untrusted requests; preferably warm from use
#   fresh: the same, but preferably unused: for callers with untrusted requests, who retire it
Kind = Literal["any", "clean", "fresh"]


def usable_cores() -> int:
    """The cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return cores or 1


def default_size() -> int:
    """The default number of workers: three quarters of the usable cores, 1 to 16."""
    return max(1, min(16, int(0.75 * usable_cores())))


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` from synchronous code. Ctrl-C cancels it and cleans up.

    It runs in the calling thread, and so must the pools that `work` opens, because processes are tied
    to the thread that started them (see `guard`).
    """
    return asyncio.run(work)


@dataclass(frozen=True, slots=True)
class PoolStats:
    """Counts since the pool was opened, except `alive` and `idle`, which are current."""

    size: int
    alive: int
    idle: int
    started: int
    recycled: int
    died: int
    timeouts: int
    requests: int


class Pool:
    """`async with Pool(spec) as pool, pool.lease() as worker: …`, in one event loop.

    Processes are started on first use. `spares` of them are started in advance, if `size` leaves room,
    so that a lost worker costs no start-up time.

    A warm process runs tactics several times faster than a new one. So it is recycled for its memory,
    when it has grown by `recycle_bytes`, and not for its requests. But it answers `recycle_requests` at
    least: a state that needs much memory would otherwise be replayed at every step.

    A `gate` (see `rules`) is for untrusted texts, from which proofs start and against which they are
    judged: their commands must pass it before they are elaborated.
    """

    def __init__(
        self,
        spec: LaunchSpec,
        size: int | None = None,
        limits: Limits | None = None,
        *,
        recycle_bytes: int = 768 << 20,
        recycle_requests: int = 100,
        recycle_seconds: float = 1800.0,
        spares: int = 1,
        gate: Gate | None = None,
    ) -> None:
        self.size = default_size() if size is None else size
        if self.size < 1:
            raise ValueError("a pool needs at least one worker")
        self.spec = spec
        self.limits = limits or Limits()
        self.recycle_bytes = recycle_bytes
        self.recycle_requests = recycle_requests
        self.recycle_seconds = recycle_seconds
        self.spares = spares
        self.gate = gate
        self.closed = False
        self._slots = [_Slot(self) for _ in range(self.size)]
        self._free = list(self._slots)
        self._waiting: deque[asyncio.Future[_Slot]] = deque()
        self.started = self.recycled = self.died = self.timeouts = self.requests = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @asynccontextmanager
    async def lease(self, kind: Kind = "any") -> AsyncIterator[Worker]:
        """An exclusive worker, first come, first served.

        Raises `LeanStartError` if a process cannot be started after two tries.
        """
        worker = Worker(self, await self._take(kind), clean=kind != "any")
        try:
            if kind != "any" and worker.slot.warm and not worker.slot.clean:
                worker.retire()
            await worker.ready()
            self._keep_spares()
            yield worker
        finally:
            if worker.due:
                worker.retire()
            self._give_back(worker.slot)

    async def close(self) -> None:
        """Kill every process, in parallel, and refuse all who still wait or ask."""
        self.closed = True
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_exception(PoolClosed("the pool was closed"))
        await asyncio.gather(*(slot.empty() for slot in self._slots))

    @property
    def has_spent(self) -> bool:
        """Whether a process is free that had an untrusted request."""
        return any(slot.condition == "spent" for slot in self._free)

    def stats(self) -> PoolStats:
        """A snapshot."""
        return PoolStats(
            size=self.size,
            alive=sum(slot.occupied for slot in self._slots),
            idle=sum(slot.warm for slot in self._free),
            started=self.started,
            recycled=self.recycled,
            died=self.died,
            timeouts=self.timeouts,
            requests=self.requests,
        )

    async def _take(self, kind: Kind) -> _Slot:
        self.check_open()
        if self._free:
            slot = min(self._free, key=lambda slot: _PREFERENCE[kind].index(slot.condition))
            self._free.remove(slot)
            return slot
        waiter: asyncio.Future[_Slot] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            # It may have received a slot in the same turn of the loop.
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._give_back(waiter.result())
            raise

    def _give_back(self, slot: _Slot) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(slot)
                return
        self._free.append(slot)

    def _keep_spares(self) -> None:
        ahead = sum(slot.occupied for slot in self._free)
        for slot in self._free:
            if ahead < self.spares and not slot.occupied:
                slot.refill()
                ahead += 1

    def swap_for_warm(self, slot: _Slot) -> _Slot:
        """A free slot with a warm process (clean or not), to replace a lost one; else the same slot."""
        warm = [other for other in self._free if other.warm]
        if not warm:
            return slot
        self._free.remove(warm[0])
        self._free.append(slot)
        return warm[0]

    def check_open(self) -> None:
        if self.closed:
            raise PoolClosed("the pool is closed")


class Worker:
    """A leased worker: one process at a time, replaced when it is lost.

    `ready` may switch to another process, which has none of the previous one's states. `request` never
    does. The number that `ready` returns identifies the process.
    """

    def __init__(self, pool: Pool, slot: _Slot, *, clean: bool = False) -> None:
        self._pool = pool
        self._clean = clean
        self._process: LeanProcess | None = None
        self.generation = 0
        self.slot = slot

    @property
    def limits(self) -> Limits:
        return self._pool.limits

    @property
    def gate(self) -> Gate | None:
        return self._pool.gate

    @property
    def pid(self) -> int | None:
        """The process in its slot, for inspection (or for a test to kill)."""
        return None if self.slot.process is None else self.slot.process.pid

    @property
    def requests(self) -> int:
        """The number of requests to its process."""
        return 0 if self.slot.process is None else self.slot.process.requests

    @property
    def alive(self) -> bool:
        """Whether the process of the last `ready` is still alive."""
        return self.slot.warm and self.slot.process is self._process

    @property
    def due(self) -> bool:
        """Whether the process should be retired: dead, old, grown, or too big between requests.

        Its user decides when to call `retire`; at the latest this happens at the end of the lease.
        """
        process = self.slot.process
        if process is None or self.slot.filling:
            return False
        return (
            not process.alive
            or process.age >= self._pool.recycle_seconds
            or process.over_memory
            or self._has_grown(process)
        )

    def _has_grown(self, process: LeanProcess) -> bool:
        pool = self._pool
        return process.requests >= pool.recycle_requests and process.grown >= pool.recycle_bytes

    async def ready(self) -> int:
        """Ensure a live process. Raises `LeanStartError`."""
        self._pool.check_open()
        if not self.slot.warm:
            self.slot.refill()
            if not self._clean:
                self.slot = self._pool.swap_for_warm(self.slot)
        process = await self.slot.filled()
        if process is not self._process:
            self._process = process
            self.generation += 1
        return self.generation

    async def request(self, line: str, timeout: float | None = None, *, trusted: bool = False) -> Reply:
        """Send a request to the current process. Raises `LeanLost`; a replacement then starts.

        After a request that is not `trusted`, the process is no longer clean.
        """
        self._pool.check_open()
        if self._process is None:
            raise RuntimeError("a worker is used inside its lease, after `ready`")
        self._pool.requests += 1
        self.slot.clean &= trusted
        try:
            return await self._process.request(line, timeout)
        except LeanLost as error:
            self._pool.check_open()
            if isinstance(error, RequestTimeout):
                self._pool.timeouts += 1
            else:
                self._pool.died += 1
            self.slot.refill()
            raise

    def retire(self) -> None:
        """Give up this process, dead or alive. A new one is started in the background."""
        if self._pool.closed or self.slot.filling:
            return
        if self.slot.warm:
            self._pool.recycled += 1
        self.slot.refill()


# A slot's process: had an untrusted request, only trusted ones, none yet.
Condition = Literal["spent", "used", "unused", "starting", "empty"]
# Sessions leave clean processes to the judge, whose verifying process gets faster with use.
_PREFERENCE: dict[Kind, tuple[Condition, ...]] = {
    "any": ("spent", "unused", "used", "starting", "empty"),
    "clean": ("used", "unused", "starting", "empty", "spent"),
    "fresh": ("unused", "starting", "empty", "used", "spent"),
}


class _Slot:
    """A slot for one process, which is starting, warm, or ending."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._filling: asyncio.Task[LeanProcess] | None = None
        self.process: LeanProcess | None = None
        self.clean = True

    @property
    def filling(self) -> bool:
        return self._filling is not None and not self._filling.done()

    @property
    def warm(self) -> bool:
        return not self.filling and self.process is not None and self.process.alive

    @property
    def occupied(self) -> bool:
        """Whether there is a process, or one is starting."""
        return self.filling or self.process is not None

    @property
    def condition(self) -> Condition:
        if not self.warm:
            return "starting" if self.occupied else "empty"
        if not self.clean:
            return "spent"
        return "used" if self.process is not None and self.process.requests else "unused"

    def refill(self) -> None:
        """End the process in the background, if any, and start a new one."""
        self._pool.check_open()
        if not self.filling:
            self._filling = asyncio.create_task(self._fill())
            # If nobody ever needs this worker, nobody fetches the exception of its start.
            self._filling.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def filled(self) -> LeanProcess:
        """Wait for the process. Cancelling the caller does not cancel the start."""
        if not self.warm:
            self.refill()
        assert self._filling is not None
        await asyncio.wait({self._filling})
        self._pool.check_open()  # closing the pool cancels the start, not this caller
        return self._filling.result()

    async def empty(self) -> None:
        if self._filling is not None and not self._filling.done():
            self._filling.cancel()
            await asyncio.wait({self._filling})
        if self.process is not None:
            await self.process.kill()

    async def _fill(self) -> LeanProcess:
        if self.process is not None:
            await self.process.close()
            self.process = None
        self.clean = True
        try:
            self.process = await self._start()
        except LeanStartError:
            # Try again: the machine may be under load, or briefly out of memory.
            self.process = await self._start()
        return self.process

    async def _start(self) -> LeanProcess:
        process = await LeanProcess.start(self._pool.spec, self._pool.limits)
        self._pool.started += 1
        return process
