"""Jobs: proofs that are followed while they are searched for, or asked for later.

A job is found by its id, which nobody can guess. What is kept of jobs is bounded: events of each by
their bytes, finished ones by number, bytes and age. Those that are not finished are bounded by `turns`.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from typing import Literal

import msgspec

from burnqed.core.errors import BurnQedError
from burnqed.serve.answers import ProveAnswer, Refusal
from burnqed.serve.events import Answered, Begun, JobEvent, Progress, Say, Unanswered
from burnqed.serve.refusal import Refused, of_error

EVENT_BYTES = 2 * 2**20  # of one job
KEPT, KEPT_BYTES = 200, 64 * 2**20  # finished jobs
KEPT_SECONDS = 900.0  # that a finished job is kept

Start = Callable[[Say], "asyncio.Task[ProveAnswer]"]


class JobAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A job. When it is done, it has an `answer`, or a `refusal` if there is no outcome.

    `events` are kept to be followed at /jobs/ID/events; `left_out` found no room.
    """

    id: str
    state: Literal["waiting", "running", "done"]
    seconds: float
    events: int
    left_out: int
    answer: ProveAnswer | None = None
    refusal: Refusal | None = None


class Job:
    """A task, and its events as JSON."""

    def __init__(self, start: Start) -> None:
        self.id = secrets.token_urlsafe(16)
        self.bytes = 0
        self.finished: float | None = None
        self._begun = time.monotonic()
        self._runs = False
        self._events: list[bytes] = []
        self._left_out = 0
        self._changed = asyncio.Event()
        self._answer: ProveAnswer | None = None
        self._refusal: Refusal | None = None
        self._task = start(self._say)
        self._task.add_done_callback(self._end)

    def describe(self) -> JobAnswer:
        end = time.monotonic() if self.finished is None else self.finished
        state: Literal["waiting", "running"] = "running" if self._runs else "waiting"
        return JobAnswer(
            id=self.id,
            state="done" if self.finished is not None else state,
            seconds=end - self._begun,
            events=len(self._events),
            left_out=self._left_out,
            answer=self._answer,
            refusal=self._refusal,
        )

    def follow(self, after: int, every: float) -> AsyncIterator[tuple[int, bytes] | None] | None:
        """Events after the first so many, with their numbers from 1; None every so many seconds
        without any. No iterator if there is nothing left to follow."""
        done = self.finished is not None and after >= len(self._events)
        return None if done else self._follow(after, every)

    async def _follow(self, after: int, every: float) -> AsyncIterator[tuple[int, bytes] | None]:
        while True:
            changed = self._changed
            while after < len(self._events):
                after += 1
                yield after, self._events[after - 1]
            if self.finished is not None:
                return
            if changed is self._changed:
                try:
                    async with asyncio.timeout(every):
                        await changed.wait()
                except TimeoutError:
                    yield None

    async def cancel(self) -> None:
        """Free its place and its Lean, if it still has them."""
        self._task.cancel()
        await asyncio.wait({self._task})

    # -------------------------------------------------------------------------------- inside

    def _say(self, event: Progress) -> None:
        self._runs = self._runs or isinstance(event, Begun)
        content = msgspec.json.encode(event)
        if self.bytes + len(content) > EVENT_BYTES:
            self._left_out += 1
        else:
            self._keep(content)

    def _end(self, task: asyncio.Task[ProveAnswer]) -> None:
        last: JobEvent
        try:
            self._answer = task.result()
            last = Answered(answer=self._answer, left_out=self._left_out)
        except asyncio.CancelledError:
            self._refusal = Refused(503, "the job was stopped", kind="Stopped").answer
        except BurnQedError as error:
            self._refusal = of_error(error).answer
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            self._refusal = Refused(500, said, kind="Internal").answer
        if self._refusal is not None:
            last = Unanswered(refusal=self._refusal, left_out=self._left_out)
        self.finished = time.monotonic()
        self._keep(msgspec.json.encode(last))

    def _keep(self, content: bytes) -> None:
        self._events.append(content)
        self.bytes += len(content)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Jobs:
    """The jobs of a server, by their ids."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    def begin(self, start: Start) -> Job:
        """A job that is admitted. Raises what `start` raises."""
        self._tidy()
        job = Job(start)
        self._jobs[job.id] = job
        return job

    def find(self, id: str) -> Job:
        self._tidy()
        job = self._jobs.get(id)
        if job is None:
            raise Refused(
                404, "there is no such job", kind="NotFound",
                hint=f"finished jobs are kept for {KEPT_SECONDS / 60:g} minutes, and at most {KEPT}",
            )  # fmt: skip
        return job

    async def end(self, job: Job) -> None:
        """Cancel and forget it."""
        self._jobs.pop(job.id, None)
        await job.cancel()

    def _tidy(self) -> None:
        """Forget finished jobs beyond the bounds, the oldest first."""
        finished = [job for job in self._jobs.values() if job.finished is not None]
        finished.sort(key=lambda job: job.finished or 0.0, reverse=True)
        too_old = time.monotonic() - KEPT_SECONDS
        total = 0
        for number, job in enumerate(finished):
            total += job.bytes
            old = job.finished is not None and job.finished < too_old
            if old or number >= KEPT or total > KEPT_BYTES:
                del self._jobs[job.id]
