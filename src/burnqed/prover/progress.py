"""How far a pass through a set of theorems is, in words: for a bar, and for a line of a log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

from burnqed.core.types import Theorem
from burnqed.search.events import Event, Expanded, Started
from burnqed.trajectories.schema import TheoremRecord

LINE_SECONDS = 10.0  # between two lines where there is no terminal: a log stays readable


class SetCounts:
    """Counts, rate and time left. `done` has what an earlier run did, the rate has not."""

    def __init__(self, total: int, done: int, label: str = "") -> None:
        self.total, self.done = total, done
        self._label, self._earlier, self._begun = label, done, time.monotonic()
        self._proved = self._errors = self._nodes = 0
        self._spent: dict[Theorem, int] = {}  # in its latest search
        self._heard: Counter[str] = Counter()  # nodes of a theorem that events told

    def count(self, records: Iterable[TheoremRecord]) -> None:
        for record in records:
            self._proved += record.outcome == "proved"
            self._errors += record.outcome == "error"

    def record(self, record: TheoremRecord) -> None:
        """A search elsewhere sends no events: its nodes are counted when it has ended."""
        self.done += 1
        self.count([record])
        self._nodes += max(0, record.nodes - self._heard.pop(record.theorem, 0))

    def event(self, event: Event) -> bool:
        """Whether it says anything new."""
        if isinstance(event, Started):
            self._spent.pop(event.theorem, None)
        if not isinstance(event, Expanded):
            return False
        more = event.nodes - self._spent.get(event.theorem, 0)
        self._nodes += more
        self._heard[event.theorem.name] += more
        self._spent[event.theorem] = event.nodes
        return True

    @property
    def said(self) -> str:
        rate = self._nodes / self._seconds
        return f"{self._label}proved {self._proved}, errors {self._errors}, {rate:.1f} nodes/s"

    @property
    def line(self) -> str:
        fresh = self.done - self._earlier
        seconds_left = (self.total - self.done) * self._seconds / fresh if fresh else None
        left = "" if seconds_left is None else f", about {seconds_left:.0f} s left"
        return f"{self.done}/{self.total}: {self.said}{left}"

    @property
    def _seconds(self) -> float:
        return max(time.monotonic() - self._begun, 1e-9)
