"""An answer once more whenever it changes, as server-sent events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

LOOK_SECONDS = 1.0  # between two looks, or longer, so that
SHARE = 0.05  # of a processor, at most, goes into looking
BEAT_SECONDS = 15.0  # a line at least so often, to notice who has left


def stream(answer: Callable[[], bytes]) -> StreamingResponse:
    """Each event is the whole answer. It ends when there is none any more."""
    return StreamingResponse(_events(answer), media_type="text/event-stream")


async def _events(answer: Callable[[], bytes]) -> AsyncIterator[bytes]:
    before, told = b"", time.monotonic()
    while True:
        began = time.monotonic()
        content, spent = await run_in_threadpool(_timed, answer)
        now = time.monotonic()
        if content != before:
            yield b"data: %b\n\n" % content
            before, told = content, now
        elif now - told > BEAT_SECONDS:
            yield b": nothing new\n\n"
            told = now
        # On a busy machine a look takes long and costs little: what is live stays live there.
        await asyncio.sleep(max(LOOK_SECONDS, spent / SHARE, now - began))


def _timed(answer: Callable[[], bytes]) -> tuple[bytes, float]:
    """The answer, and the processor time that it took."""
    began = time.thread_time()
    content = answer()
    return content, time.thread_time() - began
