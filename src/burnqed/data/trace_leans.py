"""The Leans that files are traced with: one for all of them, or one for each file of a lake project.

A Lean loads modules only when it starts. So a file of a project gets a Lean of its own, with what it
imports and no more: what imports the file has its theorems already, and must not be there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from burnqed.data.lean_sources import loaded_modules
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.process import LaunchSpec

Launch = Callable[[Sequence[str], Sequence[str]], LaunchSpec]


class Readable(Protocol):
    """What a Lean for a file needs to know of it."""

    @property
    def imports(self) -> tuple[str, ...]: ...

    @property
    def options(self) -> tuple[str, ...]: ...

    @property
    def header(self) -> tuple[str, ...]: ...


class TraceLeans(Protocol):
    """`size` files are traced at once."""

    @property
    def size(self) -> int: ...

    async def loaded(self) -> frozenset[str]:
        """The modules that all of them have."""
        ...

    def worker(self, file: Readable) -> AbstractAsyncContextManager[Worker]: ...

    def judges(self, file: Readable) -> AbstractAsyncContextManager[Pool | None]:
        """None if nothing is to be judged."""
        ...


@dataclass(frozen=True, slots=True)
class SharedLeans:
    """One pool for all files, with what all of them import."""

    pool: Pool
    judging: Pool | None = None

    @property
    def size(self) -> int:
        return self.pool.size

    async def loaded(self) -> frozenset[str]:
        return await loaded_modules(self.pool)

    def worker(self, file: Readable) -> AbstractAsyncContextManager[Worker]:
        return self.pool.lease()

    @asynccontextmanager
    async def judges(self, file: Readable) -> AsyncIterator[Pool | None]:
        yield self.judging


@dataclass(frozen=True, slots=True)
class OwnLeans:
    """A Lean for each file, with what the file imports."""

    launch: Launch
    size: int
    judge: bool

    async def loaded(self) -> frozenset[str]:
        return frozenset()

    @asynccontextmanager
    async def worker(self, file: Readable) -> AsyncIterator[Worker]:
        spec = self.launch(("Init", *file.imports), (*file.options, *file.header))
        async with Pool(spec, 1, spares=0) as pool, pool.lease() as worker:
            yield worker

    @asynccontextmanager
    async def judges(self, file: Readable) -> AsyncIterator[Pool | None]:
        if not self.judge:
            yield None
            return
        # A judge sees all of what is imported, also what a file of the module system does not.
        async with Pool(self.launch(("Init", *file.imports), file.options), 2, spares=0) as pool:
            yield pool
