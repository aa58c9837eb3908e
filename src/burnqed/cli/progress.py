"""How far a set of theorems is: counts, rate, time left."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

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
from burnqed.search.events import Event, Expanded
from burnqed.trajectories.schema import TheoremRecord

LINE_SECONDS = 10.0  # between two lines where there is no terminal


@contextmanager
def counted(what: str, total: int | None, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar for work that is merely counted; call the function when so many more are done."""
    with Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(), console=screen.console(stderr=True), disable=not shown,
    ) as bar:  # fmt: skip
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def timed_bar(console: Console, shown: bool) -> Progress:
    """A bar for long work: how far, since when, how much longer."""
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TimeRemainingColumn(elapsed_when_finished=True), console=console,
        disable=not shown,
    )  # fmt: skip


class SetProgress:
    """A bar on stderr; where that is no terminal, a line now and then, so that logs stay readable."""

    def __init__(self, total: int, done: int, shown: bool, label: str = "") -> None:
        console = screen.console(stderr=True)
        self._lines = shown and not console.is_terminal
        self._bar = timed_bar(console, shown=shown and not self._lines)
        self._task = self._bar.add_task(f"{label}searching", total=total, completed=done)
        self._total, self._begun, self._last = total, time.monotonic(), time.monotonic()
        self._earlier = done
        self._label = label
        self.done = done
        self.proved = self.errors = self.nodes = 0

    @contextmanager
    def shown(self) -> Iterator[None]:
        with self._bar:
            yield

    def count(self, earlier: Iterable[TheoremRecord]) -> None:
        """What a resumed run found before; it is part of `done` already."""
        for record in earlier:
            self.proved += record.outcome == "proved"
            self.errors += record.outcome == "error"

    def event(self, event: Event) -> None:
        if isinstance(event, Expanded):
            self.nodes += 1
            self._show()

    def record(self, record: TheoremRecord) -> None:
        self.done += 1
        self.count([record])
        self._bar.update(self._task, completed=self.done)
        self._show()

    def _show(self) -> None:
        now = time.monotonic()
        seconds = max(now - self._begun, 1e-9)
        counts = f"proved {self.proved}, errors {self.errors}"
        said = f"{self._label}{counts}, {self.nodes / seconds:.1f} nodes/s"
        self._bar.update(self._task, description=said)
        if self._lines and (now - self._last > LINE_SECONDS or self.done == self._total):
            self._last = now
            fresh = self.done - self._earlier
            seconds_left = (self._total - self.done) * seconds / fresh if fresh else None
            left = "" if seconds_left is None else f", about {seconds_left:.0f} s left"
            print(f"{self.done}/{self._total}: {said}{left}", file=sys.stderr)


class CountedProgress:
    """The same for other things, with a few counts of what came of them."""

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
        """One more is done, and these counts grow."""
        self._done += 1
        self._counts.update(counts)
        said = ", ".join(f"{what} {count}" for what, count in self._counts.items() if count)
        self._bar.update(self._task, completed=self._done, description=f"{self._label}: {said}")
        now = time.monotonic()
        if self._lines and (now - self._last > LINE_SECONDS or self._done == self._total):
            self._last = now
            print(f"{self._done}/{self._total} {self._label}: {said}", file=sys.stderr)
