"""Which node works on which theorem, and what becomes of the theorems of a node that is lost.

Nothing here decides about results: a job carries its own seed, and whoever gave it takes its record
back in the order in which jobs end, as from the workers of one machine. No job is done twice at a time:
the node that had it is out before another one gets it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from burnqed.core.errors import InfrastructureError, NodeLost
from burnqed.evaluation.run import Job, Kept
from burnqed.search.events import EventSink

# Nodes that may be lost under a theorem. It may have been what ended them, and must not end them all.
TRIES = 4
# Jobs that wait for a free worker or have one; more than the workers of a big cluster.
AT_ONCE = 2048


class Node(Protocol):
    """A machine with workers."""

    @property
    def workers(self) -> int:
        """How many jobs it does at once."""

    async def do(self, job: Job) -> Kept:
        """Raises `NodeLost` if the machine, or our process there, is gone or can do nothing."""

    def lost(self, why: NodeLost) -> None:
        """It gets no more jobs. What still runs there is of no use."""


class Dispatch:
    """A site (`evaluation.run.Site`) of nodes that come and go."""

    at_once = AT_ONCE

    def __init__(self) -> None:
        self._busy: dict[Node, int] = {}
        self._drained: set[Node] = set()
        self._waiting: deque[asyncio.Future[Node]] = deque()
        self._over: InfrastructureError | None = None

    @property
    def workers(self) -> int:
        """Of all nodes that are there now."""
        return sum(node.workers for node in self._busy)

    def joined(self, node: Node) -> None:
        """It gets jobs from now on."""
        self._busy[node] = 0
        self._hand_out()

    def drain(self, node: Node) -> None:
        """It gets no more jobs, and has left once it has done those that it has."""
        if node in self._busy:
            self._drained.add(node)
            self._end_drained(node)

    def left(self, node: Node, why: NodeLost) -> None:
        """It gets no more jobs. Those that it has are given to others as soon as they fail."""
        self._drained.discard(node)
        if self._busy.pop(node, None) is not None:
            node.lost(why)

    def give_up(self, why: InfrastructureError) -> None:
        """No node is left, and none will come. Whoever waits for one is refused."""
        self._over = why
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(why)

    async def do(self, job: Job, events: EventSink) -> Kept:
        """Have a node do the job. Its events stay there: they hold whole search trees."""
        why = NodeLost()
        for _ in range(TRIES):
            node = await self._take()
            try:
                return await node.do(job)
            except NodeLost as lost:
                why = lost
                self.left(node, lost)
            finally:
                self._give_back(node)
        why = NodeLost(f"{TRIES} nodes were lost while they worked on it; the last: {why.message}")
        return job.failed(why)

    async def _take(self) -> Node:
        """A worker of the node that has most of them free, first come, first served."""
        if self._over is not None:
            raise self._over
        node = self._freest()
        if node is not None:
            self._busy[node] += 1
            return node
        waiter: asyncio.Future[Node] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            # It may have received a node in the same turn of the loop.
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._give_back(waiter.result())
            raise

    def _give_back(self, node: Node) -> None:
        if node in self._busy:
            self._busy[node] -= 1
            self._end_drained(node)
        self._hand_out()

    def _end_drained(self, node: Node) -> None:
        if node in self._drained and not self._busy[node]:
            self.left(node, NodeLost("its work is done"))

    def _hand_out(self) -> None:
        while self._waiting and (node := self._freest()) is not None:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._busy[node] += 1
                waiter.set_result(node)

    def _freest(self) -> Node | None:
        free = {
            node: node.workers - busy
            for node, busy in self._busy.items()
            if busy < node.workers and node not in self._drained
        }
        return max(free, key=free.__getitem__) if free else None
