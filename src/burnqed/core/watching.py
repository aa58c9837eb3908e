"""Watchers of long work, which may stop it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

Counts = Mapping[str, int]


class Bar(Protocol):
    """The progress of one pass through a set of theorems, by records and by events."""

    def shown(self) -> AbstractContextManager[None]: ...

    def count(self, earlier: Iterable[Any]) -> None:
        """Count what was found before a run was resumed."""

    def record(self, record: Any) -> None: ...

    def event(self, event: Any) -> None: ...


class Watcher(Protocol):
    """Receives warnings, shows progress, and decides when to stop."""

    def warn(self, problem: str) -> None: ...

    def stop(self) -> bool:
        """Whether it is enough; work that has steps asks after each."""

    def stopping(self) -> asyncio.Event:
        """An event that is set to stop the work. Called once, in the event loop of the work."""

    def counted(self, what: str, total: int) -> AbstractContextManager[Callable[[], None]]: ...

    def tally(self, what: str, total: int) -> AbstractContextManager[Callable[[Counts], None]]:
        """As `counted`, where each piece of work says how it ended: in counts to be added up."""

    def told(self, told: Any) -> None:
        """How a training stands: its step, of how many, and figures of its own."""

    def bar(self, total: int, done: int, label: str = "") -> Bar: ...


class _NoBar:
    def shown(self) -> AbstractContextManager[None]:
        return nullcontext()

    def count(self, earlier: Iterable[Any]) -> None:
        pass

    def record(self, record: Any) -> None:
        pass

    def event(self, event: Any) -> None:
        pass


class Quiet:
    """Shows nothing and never stops. Warnings are Python warnings."""

    def warn(self, problem: str) -> None:
        warn(problem)

    def stop(self) -> bool:
        return False

    def stopping(self) -> asyncio.Event:
        return asyncio.Event()

    def counted(self, what: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        return nullcontext(lambda: None)

    def tally(self, what: str, total: int) -> AbstractContextManager[Callable[[Counts], None]]:
        return nullcontext(lambda _counts: None)

    def told(self, told: Any) -> None:
        pass

    def bar(self, total: int, done: int, label: str = "") -> Bar:
        return _NoBar()


def warn(problem: str) -> None:
    """Warn as a library does."""
    warnings.warn(problem, UserWarning, stacklevel=3)
