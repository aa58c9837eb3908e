"""A server of the engine: it listens from the start, and stops when it is asked to."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from burnqed.core.guard import Guard
from burnqed.core.listening import is_local, url_of
from burnqed.serve.answers import Health
from burnqed.serve.config import ServeConfig
from burnqed.serve.engine import Engine
from burnqed.serve.http import Api

PATIENCE = 15.0  # seconds in which a client must send its next request's head, or take some bytes
_CONNECTIONS = 2000
_FILES = 4096  # that may be open: connections, and the pipes of Leans
_LAST_WORDS = 5  # seconds for answers that are on their way when the server stops


class Service(Protocol):
    """What answers requests. When it is `ending`, it takes no more of them."""

    ending: bool

    def app(self) -> ASGIApp: ...


async def serve(
    config: ServeConfig,
    listening: socket.socket,
    token: str | None,
    ready: Callable[[str, Health], None],
    stopping: asyncio.Event,
    pages: Mapping[str, tuple[bytes, str]],
) -> None:
    """Serve until `stopping` is set. `ready` is called once the prover has proved something."""
    api = Api(Guard(is_local(listening), token), config.text_bytes, pages)
    async with answering(api, listening):
        await until(stopping, _work(config, api, url_of(listening), ready))


@asynccontextmanager
async def answering(
    service: Service, listening: socket.socket, connections: int = _CONNECTIONS
) -> AsyncIterator[None]:
    """Answer requests meanwhile, and those that are on their way at the end."""
    _allow_files()
    http = _Http(
        uvicorn.Config(
            service.app(), http=_Patient, interface="asgi3", ws="none", lifespan="off",
            log_config=None, access_log=False, log_level="critical",  # errors go to the client
            limit_concurrency=connections, timeout_graceful_shutdown=_LAST_WORDS, server_header=False,
        )
    )  # fmt: skip
    running = asyncio.create_task(http.serve([listening]))
    try:
        yield
    finally:
        service.ending = True
        http.should_exit = True
        await running


async def _work(config: ServeConfig, api: Api, url: str, ready: Callable[[str, Health], None]) -> None:
    async with Engine(config) as engine:
        api.engine = engine
        ready(url, engine.health())
        try:
            await asyncio.Event().wait()
        finally:
            api.ending = True


async def until(stopping: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do the work until it fails or `stopping` is set."""
    doing, asked = asyncio.create_task(work), asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait({doing, asked}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        asked.cancel()
        doing.cancel()
        with suppress(asyncio.CancelledError):
            await doing


def _allow_files() -> None:
    """Let this process hold many connections, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Http(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the command."""
        yield


class _Patient(H11Protocol):
    """A connection that ends when its client neither asks nor takes what it asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._look: asyncio.TimerHandle | None = None
        self._seen: tuple[Any, int] = (None, 0)  # at the last look: its request, bytes not yet taken

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look = self.loop.call_later(PATIENCE, self._judge)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _judge(self) -> None:
        """Every so often: has the client done what it should since the last look?"""
        cycle, untaken = self.cycle, self.transport.get_write_buffer_size()
        before, left = self._seen
        takes_nothing = untaken >= left > 0
        asks_nothing = cycle is before and (cycle is None or cycle.response_complete) and not untaken
        if takes_nothing or asks_nothing:
            self.transport.abort()
        else:
            self._seen = (cycle, untaken)
            self._look = self.loop.call_later(PATIENCE, self._judge)
