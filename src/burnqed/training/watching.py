"""Whoever looks on at a training, and may say that it is enough."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol


class Watcher(Protocol):
    """Is told how it goes, and may say that it is enough."""

    def warn(self, problem: str) -> None: ...

    def counted(self, what: str, total: int) -> AbstractContextManager[Callable[[], None]]: ...

    def told(self, told: Any) -> None:
        """How a training stands: its step, of how many, and figures of its own."""

    def stop(self) -> bool: ...


class Quiet:
    """Shows nothing and never stops; a problem is a Python warning."""

    def warn(self, problem: str) -> None:
        warnings.warn(problem, UserWarning, stacklevel=2)

    def counted(self, what: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        return nullcontext(lambda: None)

    def told(self, told: Any) -> None:
        pass

    def stop(self) -> bool:
        return False
