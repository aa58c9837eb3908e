"""A Ray cluster as a place to search at.

On each node runs one actor, a `Station`. The driver is connected to Ray while a site is open; if it
dies, Ray ends its actors, and their Leans end with them.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from burnqed.cluster.dispatch import Dispatch
from burnqed.cluster.hosts import NONE, started
from burnqed.cluster.nodes import Nodes
from burnqed.cluster.recipe import Recipe, refuse, weights_of
from burnqed.core.errors import SetupError
from burnqed.evaluation.run import Site
from burnqed.prover.assembly import Assembled
from burnqed.prover.config import PolicyConfig
from burnqed.prover.policies import Warn

KNOCK_SECONDS = 10.0


class OnRay:
    """The Ray cluster at an address; `ray` is the one of this machine, or of RAY_ADDRESS."""

    def __init__(self, address: str) -> None:
        self.name = address

    def ready(self, config: PolicyConfig) -> None:
        """Connect, so that it fails at once. Ray also handles signals from its import on, and who
        comes later handles them instead.
        """
        refuse(config)
        connect(self.name)

    @asynccontextmanager
    async def opened(self, assembled: Assembled, warn: Warn) -> AsyncIterator[Site]:
        import ray

        dispatch = Dispatch()
        recipe = Recipe.of(assembled)
        hosts = NONE if recipe.hosted is None else started(weights_of(assembled.policy))
        nodes = Nodes(dispatch, recipe, hosts, warn)
        watching = asyncio.create_task(nodes.watch())
        try:
            yield dispatch
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            ray.shutdown()


def connect(address: str) -> None:
    """Connect this process to a Ray cluster. Raises `SetupError`."""
    try:
        import ray
    except ImportError:
        raise SetupError("--cluster needs Ray", hint="pip install 'burn-qed[cluster]'") from None
    place = os.environ.get("RAY_ADDRESS") or "auto" if address == "ray" else address
    where = "is running here" if place == "auto" else f"answers at {place}"
    try:
        _knock(place)
        ray.init(place, log_to_driver=False, configure_logging=False, ignore_reinit_error=True)
    except (OSError, ValueError, RuntimeError) as error:
        said = str(error).strip().splitlines()
        raise SetupError(
            f"no Ray cluster {where}: {said[0] if said else type(error).__name__}",
            hint="`ray start --head` starts one on this machine, and prints how others join it",
        ) from error


def _knock(place: str) -> None:
    """Raise `OSError` if nothing listens there: Ray tries for minutes."""
    host, colon, port = place.removeprefix("ray://").rpartition(":")
    if colon:
        with socket.create_connection((host.strip("[]"), int(port)), KNOCK_SECONDS):
            pass
