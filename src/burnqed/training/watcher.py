"""Whoever looks on at a training."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

T = TypeVar("T", contravariant=True)


class Watcher(Protocol[T]):
    """Is told how it goes, in what the training knows of a step, and may say that it is enough."""

    def warn(self, problem: str) -> None: ...

    def counted(self, what: str, total: int) -> AbstractContextManager[Callable[[], None]]: ...

    def told(self, told: T) -> None: ...

    def stop(self) -> bool: ...
