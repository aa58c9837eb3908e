"""Ctrl-C and SIGTERM as a question: a loop looks whether to stop, saves, and ends by itself."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any, Self


class Stopping:
    """`signal` is the first that came; a second Ctrl-C is Python's own. Outside of event loops."""

    def __init__(self, shown: bool = True) -> None:
        self.signal: signal.Signals | None = None
        self._shown = shown
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._came)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def asked(self) -> bool:
        return self.signal is not None

    def _came(self, number: int, _frame: FrameType | None) -> None:
        first, self.signal = self.signal is None, self.signal or signal.Signals(number)
        if number == signal.SIGINT:
            signal.signal(number, self._before[signal.SIGINT])
        if self._shown and first:  # past Python's own stderr, which may be in the middle of a line
            os.write(2, b"\nstopping after this step; Ctrl-C again stops now\n")
