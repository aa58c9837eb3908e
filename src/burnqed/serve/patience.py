"""Slow clients are cut off: their connections are few, and others wait for them."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 15.0  # seconds in which a client must send its next request's head, or take some bytes


class Patient(H11Protocol):
    """A connection that ends when its client neither asks nor takes what it asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._look: asyncio.TimerHandle | None = None
        self._seen: tuple[Any, int] = (None, 0)  # at the last look: its request, bytes not yet taken

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look = self.loop.call_later(PATIENCE, self._judge)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _judge(self) -> None:
        """Every so often: has the client done what it should since the last look?"""
        cycle, untaken = self.cycle, self.transport.get_write_buffer_size()
        before, left = self._seen
        takes_nothing = untaken >= left > 0
        asks_nothing = cycle is before and (cycle is None or cycle.response_complete) and not untaken
        if takes_nothing or asks_nothing:
            self.transport.abort()
        else:
            self._seen = (cycle, untaken)
            self._look = self.loop.call_later(PATIENCE, self._judge)
