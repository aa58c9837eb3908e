"""The engine over HTTP.

    POST /prove    a statement, or a text with `sorry`s: the outcome
    POST /check    a text, alone or against a reference: the judge's verdicts
    GET  /health   200 once the prover has proved something; 503 before that and while it stops

Requests and answers are the structs of `requests` and `answers`, as JSON. An outcome has the status
200; what has no outcome has another status and a `Refusal`. Work ends when its client leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from importlib.metadata import version
from typing import Any, Literal, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from burnqed.core.errors import BurnQedError
from burnqed.serve.answers import Health
from burnqed.serve.bodies import Bodies
from burnqed.serve.engine import Engine
from burnqed.serve.guard import Guard
from burnqed.serve.refusal import Refused, of_error
from burnqed.serve.requests import CheckRequest, ProveRequest

T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]]

_LOADING = 5  # seconds after which a client of a server that starts may ask again


class Api:
    """The endpoints. It has an engine from the moment that one is open."""

    def __init__(self, guard: Guard, text_bytes: int) -> None:
        self.engine: Engine | None = None
        self.ending = False
        self._guard = guard
        self._bodies = Bodies(text_bytes)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/health", self._met(self._health, open=True)),
                Route("/prove", self._met(self._prove), methods=["POST"]),
                Route("/check", self._met(self._check), methods=["POST"]),
            ],
            exception_handlers={
                Refused: self._refuse, BurnQedError: self._explain, HTTPException: self._nowhere,
                ClientDisconnect: self._gone, Exception: self._failed,
            },
        )  # fmt: skip

    # ----------------------------------------------------------------------------- endpoints

    async def _health(self, request: Request) -> Response:
        if self.engine is None or self.ending:
            status: Literal["ending", "loading"] = "ending" if self.ending else "loading"
            return self._say(503, Health(status=status, version=version("burn-qed")), _LOADING)
        return self._say(200, self.engine.health())

    async def _prove(self, request: Request) -> Response:
        asked = await self._bodies.read(request, ProveRequest)
        return self._say(200, await _while_there(request, self._open.prove(asked)))

    async def _check(self, request: Request) -> Response:
        asked = await self._bodies.read(request, CheckRequest)
        return self._say(200, await _while_there(request, self._open.check(asked)))

    # -------------------------------------------------------------------------------- inside

    @property
    def _open(self) -> Engine:
        if self.engine is None or self.ending:
            said = "the server is stopping" if self.ending else "the server is starting"
            raise Refused(503, said, kind="NotReady", retry_after=_LOADING)
        return self.engine

    def _met(self, endpoint: Endpoint, *, open: bool = False) -> Endpoint:
        """The endpoint for those whom the guard lets in."""

        async def guarded(request: Request) -> Response:
            self._guard.meet(request.headers, open=open)
            return await endpoint(request)

        return guarded

    async def _refuse(self, request: Request, why: Exception) -> Response:
        assert isinstance(why, Refused)
        response = self._say(why.status, why.answer, why.retry_after, closes=why.closes)
        if why.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response

    async def _explain(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, BurnQedError)
        return await self._refuse(request, of_error(error))

    async def _nowhere(self, request: Request, why: Exception) -> Response:
        assert isinstance(why, HTTPException)
        what = f"{request.method} {request.url.path}"
        here = "POST /prove, POST /check, GET /health"
        return await self._refuse(
            request, Refused(why.status_code, f"there is no {what:.200}, only {here}", kind="NotFound")
        )

    async def _gone(self, request: Request, why: Exception) -> Response:
        return Response()  # nobody reads it

    async def _failed(self, request: Request, error: Exception) -> Response:
        refused = Refused(500, f"{type(error).__name__}: {error}", kind="Internal", closes=True)
        return await self._refuse(request, refused)

    def _say(
        self,
        status: int,
        content: msgspec.Struct,
        retry_after: int | None = None,
        *,
        closes: bool = False,
    ) -> Response:
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        if retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        if closes or self.ending:
            headers["Connection"] = "close"
        body = msgspec.json.encode(content)
        return Response(body, status, headers, media_type="application/json")


async def _while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do the work, but stop it when the client leaves."""
    doing = asyncio.create_task(work)
    # The body is read, so the next message says that the client is gone.
    leaving = asyncio.create_task(_receive(request))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise ClientDisconnect
    finally:
        for one in (doing, leaving):
            one.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def _receive(request: Request) -> None:
    await request.receive()
