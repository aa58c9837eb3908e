"""Whoever looks on while a set of theorems is worked through, and may stop it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from burnqed.search.events import Event
from burnqed.trajectories.schema import TheoremRecord


class Bar(Protocol):
    """How far one pass through a set is."""

    def shown(self) -> AbstractContextManager[None]: ...

    def count(self, earlier: Iterable[TheoremRecord]) -> None:
        """What was found before a run was resumed."""

    def record(self, record: TheoremRecord) -> None: ...

    def event(self, event: Event) -> None: ...


class Watcher(Protocol):
    """Hears of problems that stop nothing, shows how far things are, and says when to stop."""

    def warn(self, problem: str) -> None: ...

    def stopping(self) -> asyncio.Event:
        """Set when it is enough; asked for once, in the event loop of the work."""

    def bar(self, total: int, done: int, label: str = "") -> Bar: ...


class _NoBar:
    def shown(self) -> AbstractContextManager[None]:
        return nullcontext()

    def count(self, earlier: Iterable[TheoremRecord]) -> None:
        pass

    def record(self, record: TheoremRecord) -> None:
        pass

    def event(self, event: Event) -> None:
        pass


class Quiet:
    """Shows nothing and never stops; a problem is a Python warning."""

    def warn(self, problem: str) -> None:
        warn(problem)

    def stopping(self) -> asyncio.Event:
        return asyncio.Event()

    def bar(self, total: int, done: int, label: str = "") -> Bar:
        return _NoBar()


def warn(problem: str) -> None:
    """A problem that stops nothing, as a library tells it."""
    warnings.warn(problem, UserWarning, stacklevel=3)
