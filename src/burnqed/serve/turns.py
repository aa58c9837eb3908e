"""Who is next: a few requests run, some wait in the order they came, and the rest are refused."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from typing import Self

from burnqed.core.errors import Busy

_LONGEST = 60  # seconds after which anybody may ask again
_WEIGHT = 0.2  # of the latest request in the average of what one takes


class Turns:
    """`async with turns.turn(): …`. Raises `Busy` at once if too many wait already.

    A turn may be several `places` wide: then it waits until all of these are free, and those behind it
    wait as well.
    """

    def __init__(self, places: int, most_waiting: int) -> None:
        self.places, self.most_waiting = places, most_waiting
        self.running = 0
        self._free = places
        self._line: deque[Turn] = deque()
        self._usual = 1.0  # seconds that a turn takes

    @property
    def waiting(self) -> int:
        return len(self._line)

    def turn(self, width: int = 1) -> Turn:
        """Stand in line. Whoever does must take the turn, or `leave`."""
        turn = Turn(self, max(1, min(width, self.places)))
        if not self._line and turn.width <= self._free:
            self._begin(turn)
        elif self.waiting >= self.most_waiting:
            raise Busy(
                f"{self.running} requests run and {self.waiting} wait: there is room for no more",
                hint="ask again later",
                seconds=self._patience(),
            )
        else:
            self._line.append(turn)
        return turn

    def end(self, turn: Turn) -> None:
        """Give back its places, or its place in the line."""
        if turn.begun is None:
            self._line.remove(turn)
        else:
            self.running -= 1
            self._free += turn.width
            self._usual += _WEIGHT * (time.monotonic() - turn.begun - self._usual)
        while self._line and self._line[0].width <= self._free:
            self._begin(self._line.popleft())

    def _begin(self, turn: Turn) -> None:
        self.running += 1
        self._free -= turn.width
        turn.begun = time.monotonic()
        turn.has_come.set()

    def _patience(self) -> int:
        """Seconds until about half of those who wait have had their turn."""
        rounds = (self.waiting / 2 + 1) / self.places
        return max(1, min(_LONGEST, math.ceil(rounds * self._usual)))


class Turn:
    """A place in the line, and later the places to work at."""

    def __init__(self, turns: Turns, width: int) -> None:
        self.width = width
        self.begun: float | None = None
        self.has_come = asyncio.Event()
        self._turns = turns
        self._left = False

    def leave(self) -> None:
        """At the end, or before it has come; again, it changes nothing."""
        if not self._left:
            self._left = True
            self._turns.end(self)

    async def __aenter__(self) -> Self:
        try:
            await self.has_come.wait()
        except BaseException:
            self.leave()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()
