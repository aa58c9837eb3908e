"""Looking on at a stage from inside its process: lines in its log, and the signal that stops it."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

from burnqed.core.watching import Counts
from burnqed.prover.progress import LINE_SECONDS, SetCounts
from burnqed.search.events import Event
from burnqed.trajectories.schema import TheoremRecord


class Log:
    """Whoever watches searches and trainings: standard error is the stage's log."""

    def __init__(self) -> None:
        self._stopped = False
        self._wake: Callable[[], object] = lambda: None
        self._lines = _Lines()

    def warn(self, problem: str) -> None:
        print(f"warning: {problem}", file=sys.stderr)

    def listen(self) -> None:
        """From now on a signal asks the stage to save and to end, and does not interrupt it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._came)

    def _came(self, _number: int, _frame: FrameType | None) -> None:
        self._stopped = True
        self._wake()

    # ------------------------------------------------------------------------------ of searches

    def stopping(self) -> asyncio.Event:
        event, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

        self._wake = wake
        self.listen()
        if self._stopped:
            event.set()
        return event

    def bar(self, total: int, done: int, label: str = "") -> _SetLines:
        return _SetLines(self._lines, SetCounts(total, done, label))

    # ----------------------------------------------------------------------------- of trainings

    def stop(self) -> bool:
        return self._stopped

    @contextmanager
    def counted(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        with self.tally(what, total) as add:
            yield lambda: add({})

    @contextmanager
    def tally(self, what: str, total: int) -> Iterator[Callable[[Counts], None]]:
        done, counts = 0, Counter[str]()

        def add(more: Counts) -> None:
            nonlocal done
            done += 1
            counts.update(more)
            said = "".join(f", {name} {count}" for name, count in counts.items() if count)
            self._lines.show(f"{what}: {done}/{total}{said}", last=done == total)

        yield add

    def told(self, told: Any) -> None:
        figures = dataclasses.asdict(told)
        step, steps = figures.pop("step"), figures.pop("steps")
        said = ", ".join(f"{name} {value:.4g}" for name, value in figures.items() if value is not None)
        self._lines.show(f"step {step}/{steps}: {said}", last=step == steps)


class _Lines:
    """A line now and then, and always the last one."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def show(self, line: str, last: bool = False) -> None:
        now = time.monotonic()
        if last or now - self._last > LINE_SECONDS:
            self._last = now
            print(line, file=sys.stderr)


class _SetLines:
    """How far one pass through a set is."""

    def __init__(self, lines: _Lines, counts: SetCounts) -> None:
        self._lines, self._counts = lines, counts

    def shown(self) -> AbstractContextManager[None]:
        return nullcontext()

    def count(self, earlier: Iterable[TheoremRecord]) -> None:
        self._counts.count(earlier)

    def record(self, record: TheoremRecord) -> None:
        self._counts.record(record)
        self._lines.show(self._counts.line, last=self._counts.done == self._counts.total)

    def event(self, event: Event) -> None:
        if self._counts.event(event):
            self._lines.show(self._counts.line)
