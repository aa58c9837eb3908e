"""The nodes of a Ray cluster as workers: found, set up, watched, and started again when they are lost.

On each node runs one actor, a `Station`. Nodes that join are used, those that leave are missed by
nobody. The driver is connected to Ray while a site is open; if it dies, Ray ends its actors, and their
Leans end with them.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from burnqed.cluster.dispatch import Dispatch
from burnqed.cluster.packed import packed_lean
from burnqed.cluster.recipe import Recipe, code, refuse
from burnqed.cluster.station import Station
from burnqed.core.errors import BurnQedError, InfrastructureError, LeanStartError, NodeLost, SetupError
from burnqed.evaluation.run import Job, Kept, Site
from burnqed.lean.embedded.progress import Silent
from burnqed.prover.assembly import Assembled
from burnqed.prover.config import SetConfig
from burnqed.prover.policies import Warn

# Of a worker: a Lean that searches and one that judges.
WORKER_BYTES = 2 * 10**9
KNOCK_SECONDS = 10.0
POLL_SECONDS = 1.0  # between two looks at which nodes there are
PATIENCE = 60.0  # seconds without any node until the work is given up
FAILURES = 3  # in a row to set a node up, or to start Lean there, until it is left alone


class OnRay:
    """The Ray cluster at an address; `ray` is the one of this machine, or of RAY_ADDRESS."""

    def __init__(self, address: str) -> None:
        self._address = address

    def ready(self, config: SetConfig) -> None:
        """Connect, so that it fails at once. Ray also handles signals from its import on, and who
        comes later handles them instead.
        """
        refuse(config)
        connect(self._address)

    @asynccontextmanager
    async def opened(self, assembled: Assembled, warn: Warn) -> AsyncIterator[Site]:
        import ray

        dispatch = Dispatch()
        nodes = _Nodes(dispatch, Recipe.of(assembled), warn)
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


def workers_of(cores: float, memory: float, given: int | None) -> int:
    """How many jobs a node does at once, by default: three quarters of its cores, if memory lasts."""
    if given is not None:
        return given
    return max(1, min(int(0.75 * cores), int(memory // WORKER_BYTES)))


@dataclass(frozen=True, slots=True)
class _Known:
    """A node, as Ray knows it."""

    id: str
    host: str
    cores: float
    memory: float

    @property
    def name(self) -> str:
        return f"node {self.host} ({self.id[:8]})"


def _alive() -> dict[str, _Known]:
    """The nodes that have cores for work. Some clusters keep their head free of it."""
    import ray

    found = {}
    for node in ray.nodes():
        cores = node["Resources"].get("CPU", 0.0)
        if node["Alive"] and cores >= 1:
            memory = node["Resources"].get("memory", 0.0)
            found[node["NodeID"]] = _Known(node["NodeID"], node["NodeManagerHostname"], cores, memory)
    return found


class _RayNode:
    """A node with our actor."""

    def __init__(self, known: _Known, actor: Any, workers: int) -> None:
        self.workers = workers
        self.unfit = False  # Lean does not start there
        self.gone: asyncio.Future[NodeLost] = asyncio.get_running_loop().create_future()
        self._known, self._actor = known, actor

    async def do(self, job: Job) -> Kept:
        kept: Kept = await _answer(self._known, self._actor.do.remote(job))
        record = kept[0]
        if record.outcome == "error" and record.reason == LeanStartError.__name__:
            # Elsewhere it may start: a full disk or a lack of memory is of one machine.
            self.unfit = True
            raise NodeLost(f"{self._known.name}: Lean does not start there: {record.detail}")
        return kept

    def lost(self, why: NodeLost) -> None:
        if not self.gone.done():
            self.gone.set_result(why)


async def _answer(known: _Known, asked: Awaitable[Any]) -> Any:
    """What a station answers. Raises what went wrong there, and `NodeLost` if it does not answer."""
    from ray.exceptions import RayError, RayTaskError

    try:
        answer = await asked
    except RayTaskError:  # a mistake of ours, which is shown as it is
        raise
    except RayError as error:
        if "No module named 'burnqed" in str(error):
            raise SetupError(
                "burn-qed is not installed there", hint="install the same version on every node"
            ) from None
        said = str(error).strip().splitlines()
        raise NodeLost(f"{known.name} is lost: {said[0] if said else type(error).__name__}") from error
    except ConnectionError as error:
        raise InfrastructureError(
            f"the connection to the Ray cluster is lost: {error}", hint="go on with --resume"
        ) from error
    if isinstance(answer, BurnQedError):
        raise answer
    return answer


class _Nodes:
    """All nodes of the cluster, each with a life of its own."""

    def __init__(self, dispatch: Dispatch, recipe: Recipe, warn: Warn) -> None:
        self._dispatch, self._recipe, self._warn = dispatch, recipe, warn
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._refused: list[BurnQedError] = []
        self._packing = asyncio.Lock()
        self._bundle: Any = None
        self._recipe_there: Any = None

    async def watch(self) -> None:
        """Use the nodes that there are, until cancelled."""
        try:
            await self._watch()
        except Exception as error:
            self._dispatch.give_up(
                InfrastructureError(f"the Ray cluster does not answer: {error}", hint=_RESUME)
            )
        finally:
            for life in self._lives.values():
                life.cancel()
            await asyncio.gather(*self._lives.values(), return_exceptions=True)

    async def _watch(self) -> None:
        import ray

        self._recipe_there = ray.put(self._recipe)
        seen = time.monotonic()
        while True:
            alive = await asyncio.to_thread(_alive)
            for known in alive.values():
                if known.id not in self._lives:
                    self._lives[known.id] = asyncio.create_task(self._life(known), name=known.name)
            for gone in self._lives.keys() - alive.keys():
                self._end_life(gone)
            if any(not life.done() for life in self._lives.values()):
                seen = time.monotonic()
            elif self._refused or time.monotonic() - seen > PATIENCE:
                self._dispatch.give_up(self._why_none())
            await asyncio.sleep(POLL_SECONDS)

    def _end_life(self, id: str) -> None:
        life = self._lives.pop(id)
        if life.cancel():  # nobody has noticed yet
            self._warn(f"{life.get_name()} has left the cluster{_OTHERS}")

    def _why_none(self) -> InfrastructureError:
        why = f"; the last that was left: {self._refused[-1].message}" if self._refused else ""
        hint = self._refused[-1].hint if self._refused else ""
        return InfrastructureError(f"the cluster has no node to work on{why}", hint=hint or _RESUME)

    async def _life(self, known: _Known) -> None:
        """Set a node up and use it, again after each loss, while it is of use."""
        failures = 0
        while True:
            node = None
            actor, workers = self._actor(known)
            why = NodeLost(f"{known.name} has left the cluster")
            try:
                await self._set_up(known, actor, workers)
                node = _RayNode(known, actor, workers)
                self._dispatch.joined(node)
                why = await node.gone
            except NodeLost as lost:
                why = lost
            except BurnQedError as error:
                self._leave_alone(known, error)
                return
            finally:
                if node is not None:
                    self._dispatch.left(node, why)
                self._end(actor)
            # A node that dies at work is as good as before: what a job may end is limited (`TRIES`).
            failures = 0 if node is not None and not node.unfit else failures + 1
            if failures == FAILURES:
                self._leave_alone(known, why)
                return
            self._warn(why.message + _OTHERS)
            if known.id not in await asyncio.to_thread(_alive):
                return

    def _leave_alone(self, known: _Known, why: BurnQedError) -> None:
        self._refused.append(why)
        fix = f" ({why.hint})" if why.hint else ""
        self._warn(f"{known.name} is not used: {why.message}{fix}")

    def _actor(self, known: _Known) -> tuple[Any, int]:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        workers = workers_of(known.cores, known.memory, self._recipe.config.workers)
        actor = ray.remote(Station).options(
            num_cpus=min(workers, int(known.cores)),
            max_concurrency=workers + 1,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(known.id, soft=False),
        )
        return actor.remote(), workers

    async def _set_up(self, known: _Known, actor: Any, workers: int) -> None:
        greeting = asyncio.ensure_future(_answer(known, actor.hello.remote()))
        if not (await asyncio.wait({greeting}, timeout=PATIENCE))[0]:
            self._warn(f"{known.name} has too few free cores: it is used when others leave it some")
        if await greeting != code():
            raise SetupError(
                "its burn-qed is another one", hint="install the same version on every node"
            )
        embedded = self._recipe.config.toolchain == "embedded"
        if embedded and not await _answer(known, actor.has_lean.remote()):
            await _answer(known, actor.set_up_lean.remote(await self._packed()))
        await _answer(known, actor.open.remote(self._recipe_there, workers))

    async def _packed(self) -> Any:
        """Our Lean in the object store: packed for the first node that asks."""
        import ray

        async with self._packing:
            if self._bundle is None:
                path = await asyncio.to_thread(packed_lean, Silent())
                self._bundle = await asyncio.to_thread(lambda: ray.put(path.read_bytes()))
        return self._bundle

    def _end(self, actor: Any) -> None:
        import ray

        ray.kill(actor)


_OTHERS = "; its theorems go to others"
_RESUME = "`ray status` says what there is; go on with --resume"
