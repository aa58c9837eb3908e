"""Ctrl-C and SIGTERM as a question: work looks whether to stop, saves, and ends by itself."""

from __future__ import annotations

import asyncio
import os
import signal
from types import FrameType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """`signal` is the first that came; a second Ctrl-C is Python's own.

    A second SIGTERM is not: a machine that shuts down sends it to everybody, and who runs a command
    hands it on as well. `with` hears the signals outside of event loops, `event` inside of one.
    """

    def __init__(self, shown: bool = True) -> None:
        self.signal: signal.Signals | None = None
        self._shown = shown
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._came)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def event(self) -> asyncio.Event:
        """What the signal sets; the running loop has the handlers until it ends."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def came(number: signal.Signals) -> None:
            self.signal = self.signal or number
            event.set()
            if number == signal.SIGINT:
                loop.remove_signal_handler(number)

        for number in _SIGNALS:
            loop.add_signal_handler(number, came, number)
        if self.signal is not None:  # it came before
            event.set()
        return event

    def asked(self) -> bool:
        return self.signal is not None

    def _came(self, number: int, _frame: FrameType | None) -> None:
        first, self.signal = self.signal is None, self.signal or signal.Signals(number)
        if number == signal.SIGINT:
            signal.signal(number, self._before[signal.SIGINT])
        if self._shown and first:  # past Python's own stderr, which may be in the middle of a line
            os.write(2, b"\nstopping after this step; Ctrl-C again stops now\n")
