"""A model that several processes ask, one batch at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from burnqed.policy.sampled import Answer, Request, Sampler

Answered = asyncio.Future[Answer]


class Gathered:
    """The batches of many askers as one, up to what the model takes at once: what comes in while it is
    asked makes up the next.

    If a batch fails, its halves are asked, so that nobody fails for what another one asked.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._waiting: list[tuple[Request, Answered]] = []
        self._working: asyncio.Task[None] | None = None

    async def sample(self, requests: Sequence[Request]) -> list[Answer]:
        loop = asyncio.get_running_loop()
        answers: list[Answered] = [loop.create_future() for _ in requests]
        self._waiting += zip(requests, answers, strict=True)
        if self._working is None or self._working.done():
            self._working = loop.create_task(self._work())
        try:
            return [await answer for answer in answers]
        finally:
            for answer in answers:  # an error of one: nobody looks at the others
                answer.cancel()

    async def _work(self) -> None:
        await asyncio.sleep(0)  # who is ready to ask does so first
        while self._waiting:
            most = self._sampler.largest
            batch, self._waiting = self._waiting[:most], self._waiting[most:]
            await self._answer([(request, to) for request, to in batch if not to.done()])

    async def _answer(self, batch: Sequence[tuple[Request, Answered]]) -> None:
        if not batch:
            return
        try:
            found = await self._sampler.sample([request for request, _ in batch])
        except Exception as error:
            if len(batch) == 1:
                _give(batch[0][1], error)
                return
            middle = len(batch) // 2
            await self._answer(batch[:middle])
            await self._answer(batch[middle:])
            return
        for (_, to), answer in zip(batch, found, strict=True):
            if not to.done():
                to.set_result(answer)


def _give(to: Answered, error: Exception) -> None:
    if not to.done():
        to.set_exception(error)
