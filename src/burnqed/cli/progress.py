"""Progress bars: counts, rate, time left."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from burnqed.core import screen
from burnqed.core.stopping import Stopping
from burnqed.prover.progress import LINE_SECONDS, SetCounts
from burnqed.search.events import Event
from burnqed.trajectories.schema import TheoremRecord


@contextmanager
def counted(what: str, total: int | None, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar for counted work. The function that it yields advances it."""
    with Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(), console=screen.console(stderr=True), disable=not shown,
    ) as bar:  # fmt: skip
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def in_stages(shown: bool) -> Iterator[Callable[[str, int], None]]:
    """A bar for each stage; Ctrl-C ends the work between two batches, and what was made goes away."""
    read = 0
    bars: dict[str, Callable[[int], None]] = {}
    with Stopping(shown=False) as stop, ExitStack() as open_bars:

        def tell(stage: str, rows: int) -> None:
            nonlocal read
            if stop.asked():
                raise KeyboardInterrupt
            if stage not in bars:
                open_bars.close()
                bars[stage] = open_bars.enter_context(counted(stage, read or None, shown))
            read += rows if stage == "reading" else 0
            bars[stage](rows)

        yield tell


def timed_bar(console: Console, shown: bool) -> Progress:
    """A bar for long work, with time elapsed and time left."""
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TimeRemainingColumn(elapsed_when_finished=True), console=console,
        disable=not shown,
    )  # fmt: skip


class SetProgress:
    """A bar on stderr. Without a terminal, a line every few seconds keeps logs readable."""

    def __init__(self, total: int, done: int, shown: bool, label: str = "") -> None:
        console = screen.console(stderr=True)
        self._lines = shown and not console.is_terminal
        self._bar = timed_bar(console, shown=shown and not self._lines)
        self._task = self._bar.add_task(f"{label}searching", total=total, completed=done)
        self._last = time.monotonic()
        self._counts = SetCounts(total, done, label)

    @contextmanager
    def shown(self) -> Iterator[None]:
        with self._bar:
            yield

    def count(self, earlier: Iterable[TheoremRecord]) -> None:
        """Count what a resumed run found earlier. `done` includes it already."""
        self._counts.count(earlier)

    def event(self, event: Event) -> None:
        if self._counts.event(event):
            self._show()

    def record(self, record: TheoremRecord) -> None:
        self._counts.record(record)
        self._bar.update(self._task, completed=self._counts.done)
        self._show()

    def _show(self) -> None:
        now, counts = time.monotonic(), self._counts
        self._bar.update(self._task, description=counts.said)
        if self._lines and (now - self._last > LINE_SECONDS or counts.done == counts.total):
            self._last = now
            print(counts.line, file=sys.stderr)


class CountedProgress:
    """Progress of work other than searches, with a few counts of its outcomes."""

    def __init__(self, label: str, total: int, shown: bool) -> None:
        console = screen.console(stderr=True)
        self._lines = shown and not console.is_terminal
        self._bar = timed_bar(console, shown=shown and not self._lines)
        self._task = self._bar.add_task(label, total=total)
        self._label, self._total, self._last = label, total, time.monotonic()
        self._counts: Counter[str] = Counter()
        self._done = 0

    @contextmanager
    def shown(self) -> Iterator[None]:
        with self._bar:
            yield

    def add(self, counts: Mapping[str, int]) -> None:
        """Record that one more is done, and add these counts."""
        self._done += 1
        self._counts.update(counts)
        said = ", ".join(f"{what} {count}" for what, count in self._counts.items() if count)
        self._bar.update(self._task, completed=self._done, description=f"{self._label}: {said}")
        now = time.monotonic()
        if self._lines and (now - self._last > LINE_SECONDS or self._done == self._total):
            self._last = now
            print(f"{self._done}/{self._total} {self._label}: {said}", file=sys.stderr)
