"""Which node gets which job, and what becomes of the jobs of a node that is lost. No Ray, no Lean."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from burnqed.cluster.dispatch import TRIES, Dispatch
from burnqed.core.errors import InfrastructureError, LeanError, NodeLost
from burnqed.core.types import Proposition, Theorem
from burnqed.evaluation.prove import Attempt, Prover
from burnqed.evaluation.run import Job, Kept, Search, record_of, without_lean
from burnqed.search.events import EventSink, ignore
from burnqed.trajectories.record import Provenance


@dataclass(frozen=True)
class MadeUp:
    """A job that nodes only count."""

    name: str

    async def on(self, prover: Prover, events: EventSink = ignore) -> Kept:
        raise AssertionError("nobody has a prover here")

    def failed(self, error: LeanError) -> Kept:
        return Search(theorem(self.name), 0, Provenance("made-up")).failed(error)


def theorem(name: str) -> Theorem:
    return Theorem(name, Proposition("True"))


def done(name: str) -> Kept:
    return record_of(Attempt(theorem(name), "exhausted", "nodes"), 0), []


@dataclass(eq=False)
class Machine:
    """A node whose jobs take some turns of the loop, and that may be killed among them."""

    workers: int
    deadly: frozenset[str] = frozenset()
    killed: asyncio.Event = field(default_factory=asyncio.Event)
    now: int = 0
    most: int = 0
    did: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    async def do(self, job: Job) -> Kept:
        assert isinstance(job, MadeUp)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(random.randrange(5)):
                await asyncio.sleep(0)
            if job.name in self.deadly:
                self.killed.set()
            if self.killed.is_set():
                raise NodeLost("it was killed")
            self.did.append(job.name)
            return done(job.name)
        finally:
            self.now -= 1

    def lost(self, why: NodeLost) -> None:
        self.told.append(why.message)


async def everything(dispatch: Dispatch, names: list[str]) -> dict[str, Kept]:
    kept = await asyncio.gather(*(dispatch.do(MadeUp(name), ignore) for name in names))
    return dict(zip(names, kept, strict=True))


NAMES = [f"t{i}" for i in range(200)]


async def test_each_job_is_done_once_and_no_node_has_more_than_it_has_workers() -> None:
    dispatch, machines = Dispatch(), [Machine(1), Machine(3)]
    for machine in machines:
        dispatch.joined(machine)
    kept = await everything(dispatch, NAMES)
    assert [kept[name][0].theorem for name in NAMES] == NAMES
    assert Counter(name for machine in machines for name in machine.did) == Counter(NAMES)
    assert [machine.most for machine in machines] == [1, 3]


async def test_jobs_wait_for_a_node_and_one_that_joins_is_used() -> None:
    dispatch, late = Dispatch(), Machine(2)
    working = asyncio.create_task(everything(dispatch, NAMES))
    await asyncio.sleep(0)
    dispatch.joined(late)
    await working
    assert sorted(late.did) == sorted(NAMES)


@pytest.mark.parametrize("seed", range(20))
async def test_whoever_is_killed_when_nothing_is_lost_and_nothing_counted_twice(seed: int) -> None:
    random.seed(seed)
    dispatch, machines = Dispatch(), [Machine(2), Machine(2)]
    for machine in machines:
        dispatch.joined(machine)

    async def kill() -> None:
        for _ in range(TRIES - 1):  # so that no job loses too many
            for _ in range(random.randrange(40)):
                await asyncio.sleep(0)
            victim = random.choice(machines)
            victim.killed.set()
            machines.append(Machine(2))
            dispatch.joined(machines[-1])

    killing = asyncio.create_task(kill())
    kept = await everything(dispatch, NAMES)
    await killing
    assert all(record.outcome == "exhausted" for record, _ in kept.values())
    assert Counter(name for machine in machines for name in machine.did) == Counter(NAMES)
    for machine in machines:
        assert len(machine.told) <= 1, "a node is lost once"


async def test_a_theorem_that_ends_every_node_is_an_error_of_the_infrastructure() -> None:
    dispatch = Dispatch()
    machines = [Machine(1, frozenset({"t7"})) for _ in range(TRIES + 1)]
    for machine in machines:
        dispatch.joined(machine)
    kept = await everything(dispatch, NAMES)
    assert sum(bool(machine.told) for machine in machines) == TRIES
    record = kept.pop("t7")[0]
    assert (record.outcome, record.reason) == ("error", "NodeLost")
    assert "it was killed" in record.detail
    assert without_lean(record), "a resumed run searches it again"
    assert all(record.outcome == "exhausted" for record, _ in kept.values())


async def test_a_node_that_is_to_leave_ends_what_it_has() -> None:
    dispatch, leaving, staying = Dispatch(), Machine(2), Machine(2)
    dispatch.joined(leaving)
    working = asyncio.create_task(everything(dispatch, NAMES))
    await asyncio.sleep(0)  # both of its workers have one now
    had = leaving.now + len(leaving.did)
    dispatch.drain(leaving)
    dispatch.joined(staying)
    kept = await working
    assert set(kept) == set(NAMES)
    assert len(leaving.did) == had, "it was given more"
    assert leaving.told == ["its work is done"]
    assert len(leaving.did) + len(staying.did) == len(NAMES), "a job was done twice"


async def test_a_node_that_has_nothing_leaves_at_once() -> None:
    dispatch, machine = Dispatch(), Machine(1)
    dispatch.joined(machine)
    dispatch.drain(machine)
    assert machine.told == ["its work is done"]
    dispatch.drain(machine)  # it is gone already


async def test_without_any_node_whoever_waits_is_refused() -> None:
    dispatch = Dispatch()
    waiting = asyncio.create_task(dispatch.do(MadeUp("t"), ignore))
    await asyncio.sleep(0)
    dispatch.give_up(InfrastructureError("none is left"))
    for refused in (waiting, asyncio.create_task(dispatch.do(MadeUp("u"), ignore))):
        with pytest.raises(InfrastructureError, match="none is left"):
            await refused


async def test_who_stops_waiting_takes_no_worker_with_it() -> None:
    dispatch, machine = Dispatch(), Machine(1)
    waiting = [asyncio.create_task(dispatch.do(MadeUp(name), ignore)) for name in NAMES[:3]]
    await asyncio.sleep(0)
    dispatch.joined(machine)  # the first has a worker now, and has not run since
    waiting[0].cancel()
    waiting[1].cancel()
    await waiting[2]
    assert machine.did == [NAMES[2]]
