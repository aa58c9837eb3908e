"""The progress of long work: a bar or lines; and the first signal, which stops it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self

from burnqed.cli import tables
from burnqed.cli.progress import CountedProgress, SetProgress, counted, timed_bar
from burnqed.core import screen
from burnqed.core.stopping import Stopping
from burnqed.core.watching import Counts
from burnqed.prover.progress import LINE_SECONDS


def is_main() -> bool:
    """Whether this is the process that prints, among those that `accelerate launch` started."""
    return os.environ.get("RANK", "0") == "0"


class Watch:
    """Shows progress. The first Ctrl-C or SIGTERM asks the work to save and stop."""

    def __init__(self, said: Callable[[Any], str] = lambda _told: "", *, shown: bool) -> None:
        console = screen.console(stderr=True)
        self._stopping = Stopping(shown=is_main())
        self._said = said
        self.shown = shown
        self._lines = shown and not console.is_terminal
        self._bar = timed_bar(console, shown=shown and not self._lines)
        self._first: tuple[int, float] | None = None
        self._step = 0
        self._last = 0.0
        self._task: Any = None
        self._unsaid = ""  # the latest line, until it is due

    def __enter__(self) -> Self:
        self._stopping.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()
        if self._unsaid:  # the training ended before the line was due
            print(self._unsaid, file=sys.stderr)
        self._stopping.__exit__(*error)

    @property
    def signal(self) -> signal.Signals:
        """What stopped it."""
        return self._stopping.signal or signal.SIGTERM

    def stopping(self) -> asyncio.Event:
        return self._stopping.event()

    def stop(self) -> bool:
        return self._stopping.asked()

    def warn(self, problem: str) -> None:
        if is_main():
            tables.warn(problem)

    def counted(self, what: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        return _by_hundreds(what, total, self.shown)

    @contextmanager
    def tally(self, what: str, total: int) -> Iterator[Callable[[Counts], None]]:
        bar = CountedProgress(what, total, self.shown)
        with bar.shown():
            yield bar.add

    def bar(self, total: int, done: int, label: str = "") -> SetProgress:
        return SetProgress(total, done, self.shown, label)

    def told(self, told: Any) -> None:
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("training", total=told.steps)
        said = self._said(told)
        self._bar.update(self._task, completed=told.step, total=told.steps, description=said)
        now = time.monotonic()
        if self._first is None or told.step < self._step:  # another training has begun
            self._first = (told.step, now)
        self._step = told.step
        if not self._lines:
            return
        line = f"step {told.step}/{told.steps}: {said}"
        self._unsaid = line
        if now - self._last > LINE_SECONDS or told.step == told.steps:
            self._last, self._unsaid = now, ""
            fresh = told.step - self._first[0]
            seconds = (told.steps - told.step) * (now - self._first[1]) / fresh if fresh else None
            left = "" if seconds is None else f", about {seconds:.0f} s left"
            print(f"{line}{left}", file=sys.stderr)


@contextmanager
def _by_hundreds(what: str, total: int, shown: bool) -> Iterator[Callable[[], None]]:
    """A bar that moves in hundreds, so that it costs less than the work."""
    with counted(what, total, shown) as advance:
        done = 0

        def one() -> None:
            nonlocal done
            done += 1
            if done % 100 == 0 or done == total:
                advance(done % 100 or 100)

        yield one
