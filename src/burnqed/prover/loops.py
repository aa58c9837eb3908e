"""Runs asynchronous work from synchronous code, even inside a running event loop (a notebook)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Loop:
    """An event loop in its own thread, which lives until `close`.

    Lean processes are tied to the thread that started them, so all work on a pool uses the same loop.
    """

    def __init__(self) -> None:
        self._ready = threading.Event()
        # A daemon, because a program that ends without `close` must not wait for it.
        self._thread = threading.Thread(target=self._main, name="burn-qed", daemon=True)
        self._thread.start()
        self._ready.wait()

    def _main(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._ready.set()
        await self._end.wait()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the work. Ctrl-C cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what still runs, and end the thread."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()


def outside(work: Callable[[], T]) -> T:
    """Do work that starts an event loop: in another thread if one runs in this thread already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(work).result()
