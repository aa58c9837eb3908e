"""The tools over HTTP, at one path: the protocol's "Streamable HTTP", behind `core/guard`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from burnqed.core.guard import Guard
from burnqed.core.listening import is_local, url_of
from burnqed.serve.answers import Health
from burnqed.serve.bodies import Bodies
from burnqed.serve.config import ServeConfig
from burnqed.serve.mcp.tools import Tools, opened_meanwhile
from burnqed.serve.refusal import Refused, meet
from burnqed.serve.responses import refused
from burnqed.serve.server import answering, until

PATH = "/mcp"
_CONNECTIONS = 400  # each client keeps one open
_SESSIONS = 200
_IDLE = 1800.0  # seconds after which a session ends


async def serve(
    config: ServeConfig,
    listening: socket.socket,
    token: str | None,
    ready: Callable[[str, Health], None],
    stopping: asyncio.Event,
) -> None:
    """Serve until `stopping` is set. `ready` is called once the prover has proved something."""

    async def work() -> None:
        async with opened_meanwhile(config) as opened:
            service = McpService(
                Tools(opened).server(), Guard(is_local(listening), token), config.text_bytes
            )
            async with answering(service, listening, _CONNECTIONS), service.sessions():
                ready(url_of(listening) + PATH, (await opened).health())
                try:
                    await asyncio.Event().wait()
                finally:
                    service.ending = True

    await until(stopping, work())


class McpService:
    """Who asks meets the guard first, and bodies are bounded; the rest is the SDK's."""

    def __init__(self, server: Server[Any], guard: Guard, text_bytes: int) -> None:
        self.ending = False
        self._guard = guard
        self._bodies = Bodies(text_bytes)
        self._sessions = StreamableHTTPSessionManager(
            server, max_request_body_size=self._bodies.most, session_idle_timeout=_IDLE,
            max_sessions=_SESSIONS,
        )  # fmt: skip

    def sessions(self) -> AbstractAsyncContextManager[None]:
        """Sessions of clients live meanwhile."""
        return self._sessions.run()

    def app(self) -> ASGIApp:
        return self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            self._meet(request)
            if request.method == "POST":
                receive = _again(await self._bodies.whole(request), receive)
        except Refused as why:
            await refused(why, ending=self.ending)(scope, receive, send)
        except ClientDisconnect:
            return
        else:
            await self._sessions.handle_request(scope, receive, send)

    def _meet(self, request: Request) -> None:
        meet(self._guard, request.headers)
        if request.url.path != PATH:
            raise Refused(404, f"there is only {PATH}", kind="NotFound")
        if self.ending:
            raise Refused(503, "the server is stopping", kind="NotReady", closes=True)


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read, and then what comes after it."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return parts.pop() if parts else await receive()

    return received
