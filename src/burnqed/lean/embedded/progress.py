"""Progress while Lean is set up: a bar on a terminal, a line per stage elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Protocol, Self

from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from burnqed.core import screen


class Progress(Protocol):
    """Receives the stages and their progress."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A new stage begins, and the previous one is done."""

    def at(self, done: int) -> None:
        """The current stage has reached `done` of its total."""


class Silent:
    def stage(self, name: str, total: int | None = None) -> None:
        pass

    def at(self, done: int) -> None:
        pass


class Terminal:
    """Bars on stderr; plain lines if stderr is not a terminal, so that logs stay readable."""

    def __init__(self) -> None:
        console = screen.console(stderr=True)
        self._lines = not console.is_terminal
        self._bars = Bars(
            TextColumn("{task.description:<32}", markup=False), BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn(), TimeRemainingColumn(),
            console=console, disable=self._lines,
        )  # fmt: skip
        self._task: TaskID | None = None
        self._total = 0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._finish()
        self._bars.stop()

    def _finish(self) -> None:
        if self._task is not None:
            self._bars.update(self._task, total=1, completed=1)

    def stage(self, name: str, total: int | None = None) -> None:
        self._finish()
        self._total = total or 0
        self._task = self._bars.add_task(name, total=total)
        if self._lines:
            print(f"burn-qed: {name}", file=sys.stderr, flush=True)

    def at(self, done: int) -> None:
        if self._task is not None and self._total:
            self._bars.update(self._task, completed=min(done, self._total))
