"""Looking on at a training: a bar, or a line now and then; and the first signal, which stops it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, Protocol, Self, TypeVar

from burnqed.cli import tables
from burnqed.cli.progress import LINE_SECONDS, counted, timed_bar
from burnqed.cli.stopping import Stopping
from burnqed.core import screen


class Standing(Protocol):
    """How far a training is; more may be known, and `said` puts it into words."""

    @property
    def step(self) -> int: ...

    @property
    def steps(self) -> int: ...


T = TypeVar("T", bound=Standing)


def is_main() -> bool:
    """Whether this is the process that speaks, of those that `accelerate launch` started."""
    return os.environ.get("RANK", "0") == "0"


class Watch(Generic[T]):
    """The bar, or a line now and then; and the first Ctrl-C or SIGTERM, which asks to save and stop."""

    def __init__(self, said: Callable[[T], str], shown: bool) -> None:
        console = screen.console(stderr=True)
        self.stopping = Stopping(shown=is_main())
        self._said = said
        self._shown = shown
        self._lines = shown and not console.is_terminal
        self._bar = timed_bar(console, shown=shown and not self._lines)
        self._first: tuple[int, float] | None = None
        self._last = 0.0
        self._task: Any = None
        self._unsaid = ""  # the last line, while it waits for its time

    def __enter__(self) -> Self:
        self.stopping.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()
        if self._unsaid:  # it ended early, and this is how
            print(self._unsaid, file=sys.stderr)
        self.stopping.__exit__(*error)

    def stop(self) -> bool:
        return self.stopping.asked()

    def warn(self, problem: str) -> None:
        if is_main():
            tables.warn(problem)

    def counted(self, what: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        return _by_hundreds(what, total, self._shown)

    def told(self, told: T) -> None:
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("training", total=told.steps)
        said = self._said(told)
        self._bar.update(self._task, completed=told.step, description=said)
        now = time.monotonic()
        self._first = self._first or (told.step, now)
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
    """A bar that moves a hundred at a time: it must not cost more than the work."""
    with counted(what, total, shown) as advance:
        done = 0

        def one() -> None:
            nonlocal done
            done += 1
            if done % 100 == 0 or done == total:
                advance(done % 100 or 100)

        yield one
