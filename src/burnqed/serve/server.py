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

from burnqed.core.guard import Guard
from burnqed.core.listening import is_local, url_of
from burnqed.serve.answers import Health
from burnqed.serve.config import ServeConfig
from burnqed.serve.engine import Engine
from burnqed.serve.http import Api
from burnqed.serve.patience import Patient

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
            service.app(), http=Patient, interface="asgi3", ws="none", lifespan="off",
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
