"""Jobs: what is kept of them, what is told to whoever follows them, and what is forgotten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from burnqed.core.errors import Busy, LeanDied
from burnqed.serve import jobs
from burnqed.serve.answers import ProveAnswer
from burnqed.serve.events import Begun, Say, Searching
from burnqed.serve.jobs import Job, Jobs
from burnqed.serve.refusal import Refused
from tests.serve.servers import FOUND

Work = Callable[[Say], Awaitable[ProveAnswer]]


def of(work: Work) -> jobs.Start:
    async def done(say: Say) -> ProveAnswer:
        return await work(say)

    return lambda say: asyncio.create_task(done(say))


async def at_once(say: Say) -> ProveAnswer:
    say(Begun())
    return FOUND


async def never(say: Say) -> ProveAnswer:
    say(Begun())
    await asyncio.Event().wait()
    return FOUND


async def followed(job: Job, after: int = 0) -> list[tuple[int, dict[str, Any]]]:
    events = job.follow(after, 60)
    assert events is not None
    async with asyncio.timeout(10):
        return [(one[0], json.loads(one[1])) async for one in events if one is not None]


def searching(number: int) -> Searching:
    return Searching(search=number, theorem="t" * 100, nodes=())


async def test_whoever_follows_gets_every_event_once_whenever_they_come() -> None:
    async def work(say: Say) -> ProveAnswer:
        await asyncio.sleep(0.01)
        say(Begun())
        for number in range(50):
            say(searching(number))
            if number % 7 == 0:
                await asyncio.sleep(0.001)
        return FOUND

    job = Jobs().begin(of(work))
    assert job.describe().state == "waiting"
    early, also = await asyncio.gather(followed(job), followed(job))
    assert early == also == await followed(job)
    assert [number for number, _ in early] == list(range(1, 53))
    assert [event.get("search") for _, event in early[1:-1]] == list(range(50))
    assert (early[0][1]["event"], early[-1][1]["event"]) == ("begun", "answer")
    assert await followed(job, 40) == early[40:]
    assert job.follow(52, 60) is None, "nothing is left"
    told = job.describe()
    assert (told.state, told.answer, told.events, told.left_out) == ("done", FOUND, 52, 0)


async def test_a_quiet_job_is_still_there() -> None:
    job = Jobs().begin(of(never))
    events = job.follow(0, 0.01)
    assert events is not None
    assert [await anext(events) for _ in range(3)][1:] == [None, None]
    assert job.describe().state == "running"
    await job.cancel()


async def test_events_beyond_the_bound_are_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "EVENT_BYTES", 1000)

    async def work(say: Say) -> ProveAnswer:
        for number in range(100):
            say(searching(number))
        return FOUND

    job = Jobs().begin(of(work))
    told = await followed(job)
    last = told[-1][1]
    assert (last["event"], last["answer"]["outcome"]) == ("answer", "not_found"), "it is always told"
    assert last["left_out"] == 100 - (len(told) - 1) > 80
    assert job.bytes < 1000 + 1000


@pytest.mark.parametrize(
    ("error", "kind"), [(LeanDied("it died"), "LeanDied"), (RuntimeError("a bug"), "Internal")]
)
async def test_trouble_is_no_outcome(error: Exception, kind: str) -> None:
    async def work(say: Say) -> ProveAnswer:
        raise error

    job = Jobs().begin(of(work))
    ((_, last),) = await followed(job)
    assert (last["event"], last["refusal"]["kind"]) == ("refusal", kind)
    told = job.describe()
    assert (told.state, told.answer) == ("done", None)
    assert told.refusal is not None


async def test_who_is_not_admitted_leaves_no_job() -> None:
    found = Jobs()

    def full(_: Say) -> asyncio.Task[ProveAnswer]:
        raise Busy("no room")

    with pytest.raises(Busy):
        found.begin(full)
    assert not found._jobs


async def test_a_job_that_is_ended_stops_and_is_forgotten() -> None:
    found = Jobs()
    job = found.begin(of(never))
    following = asyncio.create_task(followed(job))
    await asyncio.sleep(0.01)
    await found.end(job)
    assert (await following)[-1][1]["refusal"]["kind"] == "Stopped"
    with pytest.raises(Refused, match="no such job"):
        found.find(job.id)
    await found.end(job)


async def test_finished_jobs_are_dropped_by_number_age_and_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def there(found: Jobs, begun: list[Job]) -> list[bool]:
        kept = []
        for job in begun:
            try:
                kept.append(found.find(job.id) is job)
            except Refused:
                kept.append(False)
        return kept

    monkeypatch.setattr(jobs, "KEPT", 3)
    found = Jobs()
    runs = found.begin(of(never))
    begun = []
    for _ in range(5):
        begun.append(found.begin(of(at_once)))
        await followed(begun[-1])
    assert there(found, [runs, *begun]) == [True, False, False, True, True, True]
    monkeypatch.setattr(jobs, "KEPT_BYTES", begun[-1].bytes * 2)
    assert there(found, begun) == [False, False, False, True, True]
    monkeypatch.setattr(jobs, "KEPT_SECONDS", 0.0)
    assert there(found, [runs, *begun]) == [True] + [False] * 5, "what runs is kept"
    await runs.cancel()


async def test_ids_are_long_and_differ() -> None:
    found = Jobs()
    begun = [found.begin(of(at_once)) for _ in range(100)]
    assert len({job.id for job in begun}) == 100
    assert all(len(job.id) >= 22 for job in begun), "128 bits"
    await asyncio.gather(*map(followed, begun))
