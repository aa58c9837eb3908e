"""The nodes of a Ray cluster, each with a life of its own: found, set up, watched, and started again.

Nodes that join are used, those that leave are missed by nobody. One that is to leave, because its
machine was sent SIGTERM or somebody drains it, finishes what it has and gets nothing more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Any

from burnqed.cluster.dispatch import Dispatch
from burnqed.cluster.hosts import Hosts
from burnqed.cluster.machines import Known, alive, refusal_of, to_leave, workers_of
from burnqed.cluster.packed import packed_lean
from burnqed.cluster.recipe import Recipe, code
from burnqed.cluster.station import Station
from burnqed.core.errors import BurnQedError, InfrastructureError, LeanStartError, NodeLost, SetupError
from burnqed.evaluation.run import Job, Kept
from burnqed.lean.embedded.progress import Silent
from burnqed.prover.policies import Warn

POLL_SECONDS = 1.0  # between two looks at which nodes there are
PATIENCE = 60.0  # seconds without any node until the work is given up
FAILURES = 3  # in a row to set a node up, or to start Lean there, until it is left alone


class _RayNode:
    """A node with our actor."""

    def __init__(self, known: Known, actor: Any, workers: int) -> None:
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


async def _answer(known: Known, asked: Awaitable[Any]) -> Any:
    """What a station answers. Raises what went wrong there, and `NodeLost` if it does not answer."""
    from ray.exceptions import RayError, RayTaskError

    try:
        answer = await asked
    except RayTaskError:  # a mistake of ours, which is shown as it is
        raise
    except RayError as error:
        raise refusal_of(known, error) or error from error
    except ConnectionError as error:
        raise InfrastructureError(
            f"the connection to the Ray cluster is lost: {error}", hint="go on with --resume"
        ) from error
    if isinstance(answer, BurnQedError):
        raise answer
    return answer


class Nodes:
    """All nodes of the cluster, each with a life of its own."""

    def __init__(
        self,
        dispatch: Dispatch,
        recipe: Recipe,
        hosts: Hosts,
        warn: Warn,
        station: type[Station] = Station,
    ) -> None:
        self._dispatch, self._recipe, self._warn = dispatch, recipe, warn
        self._hosts = hosts
        self._station = station
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._used: dict[str, _RayNode] = {}
        self._leaving: set[str] = set()
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
            there, leaving = await asyncio.to_thread(lambda: (alive(), to_leave()))
            for known in there.values():
                if known.id not in self._lives and known.id not in leaving:
                    self._lives[known.id] = asyncio.create_task(self._life(known), name=known.name)
            for gone in self._lives.keys() - there.keys():
                self._end_life(gone)
            for id in leaving & self._lives.keys() - self._leaving:
                self._let_go(id)
            if any(not life.done() for life in self._lives.values()):
                seen = time.monotonic()
            elif self._refused or time.monotonic() - seen > PATIENCE:
                self._dispatch.give_up(self._why_none())
            await asyncio.sleep(POLL_SECONDS)

    def _let_go(self, id: str) -> None:
        """Its machine goes soon: it ends what it has, and is not set up again."""
        self._leaving.add(id)
        life = self._lives[id]
        if node := self._used.get(id):
            self._warn(f"{life.get_name()} is to leave: it ends what it has, the rest goes to others")
            self._dispatch.drain(node)
        else:
            life.cancel()

    def _end_life(self, id: str) -> None:
        life = self._lives.pop(id)
        if life.cancel():  # nobody has noticed yet
            self._warn(f"{life.get_name()} has left the cluster{_OTHERS}")

    def _why_none(self) -> InfrastructureError:
        why = f"; the last that was left: {self._refused[-1].message}" if self._refused else ""
        hint = self._refused[-1].hint if self._refused else ""
        return InfrastructureError(f"the cluster has no node to work on{why}", hint=hint or _RESUME)

    async def _life(self, known: Known) -> None:
        """Set a node up and use it, again after each loss, while it is of use."""
        failures = 0
        while True:
            node = None
            actor, workers = self._actor(known)
            why = NodeLost(f"{known.name} has left the cluster")
            try:
                await self._set_up(known, actor, workers)
                node = self._used[known.id] = _RayNode(known, actor, workers)
                self._dispatch.joined(node)
                why = await node.gone
            except NodeLost as lost:
                why = lost
            except BurnQedError as error:
                self._leave_alone(known, error)
                return
            except Exception as error:  # a mistake of ours: the others may do without this node
                self._leave_alone(known, InfrastructureError(f"{type(error).__name__}: {error}"))
                return
            finally:
                if node is not None:
                    self._dispatch.left(node, why)
                    self._used.pop(known.id, None)
                self._end(actor)
            if known.id in self._leaving:
                return
            # A node that dies at work is as good as before: what a job may end is limited (`TRIES`).
            failures = 0 if node is not None and not node.unfit else failures + 1
            if failures == FAILURES:
                self._leave_alone(known, why)
                return
            self._warn(why.message + _OTHERS)
            if known.id not in await asyncio.to_thread(alive):
                return

    def _leave_alone(self, known: Known, why: BurnQedError) -> None:
        self._refused.append(why)
        fix = f" ({why.hint})" if why.hint else ""
        self._warn(f"{known.name} is not used: {why.message}{fix}")

    def _actor(self, known: Known) -> tuple[Any, int]:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        workers = workers_of(known.cores, known.memory, self._recipe.config.workers)
        actor = ray.remote(self._station).options(
            num_cpus=min(workers, int(known.cores)),
            max_concurrency=workers + 1,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(known.id, soft=False),
        )
        return actor.remote(), workers

    async def _set_up(self, known: Known, actor: Any, workers: int) -> None:
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
        await _answer(known, actor.open.remote(self._recipe_there, workers, self._hosts.actors))

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
