"""Work that several tasks share and that can be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def until_stopped(jobs: Sequence[Coroutine[Any, Any, None]], stop: asyncio.Event) -> None:
    """Run all jobs until all end, one raises, or `stop` is set.

    Jobs that still run then are cancelled, and have ended when this returns.
    """
    tasks = [asyncio.create_task(job) for job in jobs]
    stopping = asyncio.create_task(stop.wait())
    try:
        running: set[asyncio.Task[None]] = set(tasks)
        while running and not stopping.done():
            done, _ = await asyncio.wait({*running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            for task in done & running:
                running.discard(task)
                task.result()
    finally:
        for task in (*tasks, stopping):
            task.cancel()
        await asyncio.gather(*tasks, stopping, return_exceptions=True)


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """The results of all, or the first error; then nothing is left running."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
