"""How far a set of theorems is: counts, rate, time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
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

from burnqed.search.events import Event, Expanded
from burnqed.trajectories.schema import TheoremRecord

_LINE_SECONDS = 30.0  # between two lines where there is no terminal


class SetProgress:
    """A bar on stderr; where that is no terminal, a line now and then, so that logs stay readable."""

    def __init__(self, total: int, done: int, shown: bool) -> None:
        console = Console(stderr=True)
        self._lines = shown and not console.is_terminal
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(), console=console, disable=not shown or self._lines,
        )  # fmt: skip
        self._task = self._bar.add_task("searching", total=total, completed=done)
        self._total, self._begun, self._last = total, time.monotonic(), time.monotonic()
        self._earlier = done
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
        said = f"proved {self.proved}, errors {self.errors}, {self.nodes / seconds:.1f} nodes/s"
        self._bar.update(self._task, description=said)
        if self._lines and (now - self._last > _LINE_SECONDS or self.done == self._total):
            self._last = now
            fresh = self.done - self._earlier
            left = (self._total - self.done) * seconds / fresh if fresh else float("nan")
            print(f"{self.done}/{self._total}: {said}, about {left:.0f} s left", file=sys.stderr)
