"""Who is next: a few requests run, some wait in the order they came, and the rest are refused."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from burnqed.core.errors import Busy

_LONGEST = 60  # seconds after which anybody may ask again
_WEIGHT = 0.2  # of the latest request in the average of what one takes


class Turns:
    """`async with turns.turn(): …`. Raises `Busy` if too many wait already.

    A turn may be several `places` wide: then it waits until all of these are free.
    """

    def __init__(self, places: int, most_waiting: int) -> None:
        self.places, self.most_waiting = places, most_waiting
        self.running = self.waiting = 0
        self._free = asyncio.Semaphore(places)
        self._door = asyncio.Lock()  # whoever waits for places keeps those behind from taking them
        self._usual = 1.0  # seconds that a turn takes

    @asynccontextmanager
    async def turn(self, width: int = 1) -> AsyncIterator[None]:
        width = max(1, min(width, self.places))
        if self.waiting >= self.most_waiting and (self.waiting or self._free.locked()):
            raise Busy(
                f"{self.running} requests run and {self.waiting} wait: there is room for no more",
                hint="ask again later",
                seconds=self._patience(),
            )
        self.waiting += 1
        try:
            await self._take(width)
        finally:
            self.waiting -= 1
        self.running += 1
        begun = time.monotonic()
        try:
            yield
        finally:
            self.running -= 1
            self._leave(width)
            self._usual += _WEIGHT * (time.monotonic() - begun - self._usual)

    async def _take(self, width: int) -> None:
        async with self._door:
            taken = 0
            try:
                while taken < width:
                    await self._free.acquire()
                    taken += 1
            except BaseException:
                self._leave(taken)
                raise

    def _leave(self, width: int) -> None:
        for _ in range(width):
            self._free.release()

    def _patience(self) -> int:
        """Seconds until about half of those who wait have had their turn."""
        rounds = (self.waiting / 2 + 1) / self.places
        return max(1, min(_LONGEST, math.ceil(rounds * self._usual)))
