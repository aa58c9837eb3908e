"""The pool: bounded, fair, and refilled."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.core.errors import LeanDied, LeanStartError, PoolClosed, RequestTimeout
from burnqed.lean import pool as pool_module
from burnqed.lean.pool import Kind, Pool, Worker, default_size, run_sync
from burnqed.lean.process import LaunchSpec, Limits
from burnqed.lean.requests import GoalTactic
from tests.lean.lines import stat
from tests.lean.scripted_repl import launch, left_behind, runs

QUICK = Limits(start_seconds=10, request_seconds=1)


@pytest.fixture(autouse=True)
async def nothing_left() -> AsyncIterator[None]:
    yield
    assert left_behind() == []


async def until(condition: Callable[[], bool], seconds: float = 5) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def pid(worker: Worker) -> int:
    assert worker.pid is not None
    return worker.pid


async def test_workers_start_when_wanted_and_are_kept() -> None:
    async with Pool(launch(), 3, QUICK, spares=0) as pool:
        assert pool.stats().alive == 0
        async with pool.lease() as worker:
            first = pid(worker)
            assert await worker.request(stat()) == {"nGoals": 0}
        async with pool.lease() as worker:
            assert pid(worker) == first
        assert pool.stats().started == pool.stats().alive == pool.stats().idle == 1


async def test_never_more_than_its_size_and_first_come_first_served() -> None:
    order: list[int] = []

    async def use(pool: Pool, number: int) -> None:
        async with pool.lease() as worker:
            order.append(number)
            await worker.request(stat())
            assert len(left_behind()) <= 2

    async with Pool(launch(), 2, QUICK) as pool:
        async with pool.lease(), pool.lease():
            users = [asyncio.create_task(use(pool, i)) for i in range(12)]
            await asyncio.sleep(0)  # all of them wait now
        await asyncio.gather(*users)
        assert pool.stats().requests == 12
        assert pool.stats().started == 2
    assert order == list(range(12))


async def test_the_dead_are_replaced() -> None:
    async with Pool(launch(), 1, QUICK) as pool:
        async with pool.lease() as worker:
            generation = await worker.ready()
            os.kill(pid(worker), signal.SIGKILL)
            with pytest.raises(LeanDied):
                await worker.request(stat())
            assert await worker.ready() == generation + 1
            assert await worker.request(stat()) == {"nGoals": 0}
            os.kill(pid(worker), signal.SIGKILL)
        async with pool.lease() as worker:
            with suppress(LeanDied):  # its death may not have been noticed yet
                await worker.request(stat())
            await worker.ready()
            assert await worker.request(stat()) == {"nGoals": 0}


async def test_a_hung_one_is_replaced() -> None:
    async with Pool(launch(), 1, QUICK) as pool, pool.lease() as worker:
        await worker.request('goal.start {"expr":"G"}')
        with pytest.raises(RequestTimeout):
            await worker.request(GoalTactic(0, 0, "hang", auto_resume=True).line, 0.3)
        await worker.ready()
        assert await worker.request(stat()) == {"nGoals": 0}
        assert pool.stats().timeouts == 1
        assert pool.stats().died == 0


async def test_spares_are_ready_when_one_is_lost() -> None:
    async with Pool(launch(), 3, QUICK, spares=1) as pool, pool.lease() as worker:
        await until(lambda: pool.stats().idle == 1)
        assert pool.stats().alive == 2
        lost = pid(worker)
        os.kill(lost, signal.SIGKILL)
        with pytest.raises(LeanDied):
            await worker.request(stat())
        await asyncio.wait_for(worker.ready(), 0.02)  # faster than any process starts
        assert pid(worker) != lost
        await until(lambda: pool.stats().idle == 1)
        assert pool.stats().started == 3


async def test_no_spares_beyond_the_size() -> None:
    async with Pool(launch(), 1, QUICK, spares=3) as pool, pool.lease():
        await asyncio.sleep(0.2)
        assert pool.stats().alive == 1


@pytest.mark.parametrize(
    "limits",
    [{"recycle_bytes": 0, "recycle_requests": 3}, {"recycle_seconds": 0.0}],
    ids=["growth", "age"],
)
async def test_recycled_on_return(limits: dict[str, Any]) -> None:
    async with Pool(launch(), 1, QUICK, **limits) as pool:
        async with pool.lease() as worker:
            before = pid(worker)
            for _ in range(3):
                await worker.request(stat())
            assert worker.due
        async with pool.lease() as worker:
            assert pid(worker) != before
        assert pool.stats().recycled >= 1
        assert not runs(before)


async def test_recycled_when_grown_and_not_for_its_requests() -> None:
    async with Pool(launch(), 1, QUICK, recycle_bytes=40 << 20, recycle_requests=110) as pool:
        async with pool.lease() as worker:
            await worker.request('goal.start {"expr":"G"}')
            for _ in range(100):
                await worker.request(stat())
            await worker.request(GoalTactic(0, 0, "keep 50", auto_resume=True).line)
            # Its memory is looked at while it works.
            await worker.request(GoalTactic(0, 0, "sleep 0.3", auto_resume=True).line)
            early = worker.due  # mypy would take a second look at it for the first
            assert not early, "it has hardly worked since it was started"
            for _ in range(10):
                await worker.request(stat())
            assert worker.due
            before = pid(worker)
        async with pool.lease() as worker:
            assert pid(worker) != before


async def test_much_used_and_not_grown() -> None:
    async with Pool(launch(), 1, QUICK) as pool, pool.lease() as worker:
        for _ in range(1500):
            await worker.request(stat())
        assert not worker.due
        assert pool.stats().started == 1


async def test_a_clean_worker_has_been_asked_nothing_untrusted() -> None:
    async with Pool(launch(), 2, QUICK, spares=1) as pool:
        async with pool.lease() as worker:
            await worker.request(stat())
            spent = pid(worker)
        await until(lambda: pool.stats().idle == 2)
        async with pool.lease("clean") as worker:
            verifies = pid(worker)
            assert verifies != spent
            await worker.request(stat(), trusted=True)
        async with pool.lease("clean") as worker:
            assert pid(worker) == verifies
        async with pool.lease() as worker:  # leaves it alone
            assert pid(worker) == spent
        async with pool.lease("clean") as worker:
            assert pid(worker) == verifies
            await worker.request(stat())
        async with pool.lease("clean") as worker:
            assert pid(worker) not in (verifies, spent)
        assert len(left_behind()) <= 2


async def test_a_judge_uses_up_one_worker_and_keeps_the_other() -> None:
    async with Pool(launch(), 2, QUICK, spares=0) as pool:
        seen: list[tuple[int, int]] = []
        for _ in range(3):
            async with pool.lease("fresh") as worker:
                compiles = pid(worker)
                await worker.request(stat())
                worker.retire()
            async with pool.lease("clean") as worker:
                seen.append((compiles, pid(worker)))
                await worker.request(stat(), trusted=True)
        assert len({verifies for _, verifies in seen}) == 1
        assert len({compiles for compiles, _ in seen}) == 3
    async with Pool(launch(), 1, QUICK) as pool:
        async with pool.lease("clean") as worker:
            await worker.request(stat(), trusted=True)
            before = pid(worker)
        async with pool.lease("fresh") as worker:  # used, but clean
            assert pid(worker) == before


async def test_a_start_that_fails_is_tried_again(tmp_path: Path) -> None:
    spec = launch("--fail-first", str(tmp_path / "x"))
    async with Pool(spec, 1, QUICK) as pool, pool.lease() as worker:
        assert await worker.request(stat()) == {"nGoals": 0}


async def test_a_start_that_fails_twice_is_told_to_everybody_who_waits() -> None:
    async def use(pool: Pool) -> None:
        async with pool.lease():
            pass

    async with Pool(launch("--exit-at-start"), 1, QUICK) as pool:
        results = await asyncio.gather(*(use(pool) for _ in range(3)), return_exceptions=True)
    assert [type(result) for result in results] == [LeanStartError] * 3


async def test_cancelled_while_waiting() -> None:
    async with Pool(launch(), 1, QUICK) as pool:
        async with pool.lease():
            waiting = [asyncio.create_task(pool._take("any")) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            waiting[1].cancel()
        slot = await asyncio.wait_for(waiting[2], 5)
        pool._give_back(slot)
        async with pool.lease() as worker:
            assert await worker.request(stat()) == {"nGoals": 0}


async def test_cancelled_while_starting() -> None:
    async with Pool(launch("--slow-start", "0.4"), 1, QUICK) as pool:

        async def use() -> None:
            async with pool.lease():
                pass

        task = asyncio.create_task(use())
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with pool.lease():
            assert pool.stats().started == 1  # the start went on for the next


async def test_closing_turns_everybody_away() -> None:
    pool = Pool(launch("--slow-start", "0.3"), 1, QUICK)

    async def use() -> None:
        async with pool.lease():
            pass

    tasks = [asyncio.create_task(use()) for _ in range(3)]
    await asyncio.sleep(0.1)
    await pool.close()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [PoolClosed] * 3
    with pytest.raises(PoolClosed):
        await use()


def test_default_size() -> None:
    assert 1 <= default_size() <= 16


def test_sizes_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Pool(launch(), 0)


async def test_run_sync() -> None:
    async def work() -> dict[str, Any]:
        async with Pool(launch(), 1, QUICK) as pool, pool.lease() as worker:
            return await worker.request(stat())

    assert await asyncio.to_thread(run_sync, work()) == {"nGoals": 0}


class Counted:
    """Stands in for a process, and counts how many there are at once."""

    now = most = 0
    hurdles: ClassVar[list[bool]] = []

    def __init__(self) -> None:
        self.alive = True
        self.gone = False
        self.requests = 0
        self.age = 0.0
        self.over_memory = False
        self.grown = 0
        self.spent = False

    @classmethod
    async def start(cls, spec: LaunchSpec, limits: Limits) -> "Counted":
        Counted.now += 1
        Counted.most = max(Counted.most, Counted.now)
        try:
            await asyncio.sleep(0.001)
            if cls.hurdles and cls.hurdles.pop():
                raise LeanStartError("as scheduled")
        except BaseException:
            Counted.now -= 1
            raise
        return cls()

    async def request(self, line: str, timeout: float | None) -> dict[str, Any]:
        self.requests += 1
        self.spent |= line != "trusted"
        try:
            await asyncio.sleep(0.001)
            if line == "die":
                raise LeanDied("as scheduled")
        except BaseException:
            await self.kill()
            raise
        return {}

    async def kill(self) -> None:
        self.alive = False
        await asyncio.sleep(0.001)
        if not self.gone:
            self.gone = True
            Counted.now -= 1

    close = kill


ACTIONS = st.sampled_from(["ask", "ask", "trusted", "die", "vanish", "retire", "cancel", "rest"])
KINDS = st.sampled_from(get_args(Kind))


@settings(max_examples=150, deadline=None)
@given(
    size=st.integers(1, 4),
    spares=st.integers(0, 3),
    recycle=st.integers(1, 6),
    users=st.lists(st.tuples(KINDS, st.lists(ACTIONS, max_size=6)), max_size=8),
    hurdles=st.lists(st.booleans(), max_size=6),
)
async def test_bounded_under_any_schedule(
    size: int, spares: int, recycle: int, users: list[tuple[Kind, list[str]]], hurdles: list[bool]
) -> None:
    async def use(pool: Pool, kind: Kind, actions: list[str]) -> None:
        with suppress(LeanStartError):
            async with pool.lease(kind) as worker:
                process: Any = worker.slot.process
                mine = set()  # processes that this user asked something untrusted
                for action in actions:
                    await worker.ready()
                    process = worker.slot.process
                    assert kind == "any" or not process.spent or process in mine
                    if action in ("ask", "die", "cancel"):
                        mine.add(process)
                    match action:
                        case "trusted":
                            assert await worker.request("trusted", trusted=True) == {}
                        case "ask":
                            assert await worker.request("stat") == {}
                        case "die":
                            with pytest.raises(LeanDied):
                                await worker.request("die")
                        case "vanish":
                            await process.kill()
                        case "retire":
                            worker.retire()
                        case "cancel":
                            with suppress(TimeoutError):
                                await asyncio.wait_for(worker.request("stat"), 0.0001)
                        case "rest":
                            await asyncio.sleep(0.002)

    async def everybody() -> None:
        arguments: dict[str, Any] = {"recycle_bytes": 0, "recycle_requests": recycle, "spares": spares}
        async with Pool(launch(), size, **arguments) as pool:
            async with asyncio.timeout(20):
                await asyncio.gather(*(use(pool, kind, actions) for kind, actions in users))
            assert len(pool._free) == size
            assert pool.stats().alive <= size

    Counted.now = Counted.most = 0
    Counted.hurdles = list(hurdles)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "LeanProcess", Counted)
        await everybody()
    assert Counted.most <= size
    assert Counted.now == 0
