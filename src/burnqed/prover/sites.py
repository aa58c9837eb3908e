"""Where a prover's jobs are done: in this process, or wherever a cluster does them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from burnqed.evaluation.run import Here, Site
from burnqed.prover.assembly import Assembled
from burnqed.prover.config import PolicyConfig
from burnqed.prover.policies import Warn


class Cluster(Protocol):
    """What opens a site. It decides nothing about results: order, seeds and files stay with us."""

    @property
    def name(self) -> str:
        """What --cluster says to mean it."""

    def ready(self, config: PolicyConfig) -> None:
        """Refuse what cannot be done there, before anything is set up."""

    def opened(self, assembled: Assembled, warn: Warn) -> AbstractAsyncContextManager[Site]: ...


LOCAL = "local"


class _ThisMachine:
    name = LOCAL

    def ready(self, config: PolicyConfig) -> None:
        pass

    @asynccontextmanager
    async def opened(self, assembled: Assembled, warn: Warn) -> AsyncIterator[Site]:
        async with assembled.opened() as prover:
            yield Here(prover)


HERE: Cluster = _ThisMachine()
