"""The engine over HTTP: the endpoints of `openapi`.

Requests and answers are the structs of `requests`, `answers`, `events` and `jobs`, as JSON. An outcome
has the status 200; what has no outcome has another status and a `Refusal`. Work ends when its client
leaves, unless it is a job in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, Literal, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from burnqed.core.errors import BurnQedError
from burnqed.core.guard import HEADERS, Guard
from burnqed.lean.highlight import coloured
from burnqed.serve.answers import Health, HighlightAnswer
from burnqed.serve.bodies import Bodies
from burnqed.serve.engine import Engine
from burnqed.serve.jobs import Job, Jobs
from burnqed.serve.openapi import ENDPOINTS, EVENTS, document
from burnqed.serve.page import POLICY, page
from burnqed.serve.refusal import Refused, meet, of_error
from burnqed.serve.requests import (
    CheckRequest,
    HighlightRequest,
    LemmasRequest,
    ProveRequest,
    StartRequest,
    StepRequest,
)
from burnqed.serve.responses import refused, said

T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]]

_STILL_HERE = 10.0  # seconds without an event after which a stream says something
_LOADING = 5  # seconds after which a client of a server that starts may ask again


class Api:
    """The endpoints, and pages that ask them: content and media type by path.

    It has an engine from the moment that one is open.
    """

    def __init__(
        self, guard: Guard, text_bytes: int, pages: Mapping[str, tuple[bytes, str]] | None = None
    ) -> None:
        self.engine: Engine | None = None
        self.ending = False
        self._guard = guard
        self._bodies, self._text_bytes = Bodies(text_bytes), text_bytes
        self._jobs = Jobs()
        self._pages = pages or {}

    def app(self) -> Starlette:
        routes = [
            Route(e.path, self._met(getattr(self, f"_{e.name}"), open=e.open), methods=[e.method])
            for e in ENDPOINTS
        ]
        for path, file in self._pages.items():
            routes.append(Route(path, self._met(_showing(*file), open=True), methods=["GET"]))
        return Starlette(
            routes=routes,
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
        engine = self._open
        if asked.mode == "wait":
            return self._say(200, await _while_there(request, engine.prove(asked)))
        job = self._jobs.begin(lambda say: engine.begin(asked, say))
        stream = asked.mode == "stream"
        answer = self._stream(job, ends=True) if stream else self._say(202, job.describe())
        answer.headers["Location"] = f"/jobs/{job.id}"
        return answer

    async def _check(self, request: Request) -> Response:
        asked = await self._bodies.read(request, CheckRequest)
        return self._say(200, await _while_there(request, self._open.check(asked)))

    async def _start(self, request: Request) -> Response:
        asked = await self._bodies.read(request, StartRequest)
        return self._say(200, await _while_there(request, self._open.start(asked)))

    async def _step(self, request: Request) -> Response:
        asked, id = await self._bodies.read(request, StepRequest), request.path_params["id"]
        return self._say(200, await _while_there(request, self._open.step(id, asked)))

    async def _forget(self, request: Request) -> Response:
        self._open.forget(request.path_params["id"])
        return Response(status_code=204, headers=dict(HEADERS))

    async def _lemmas(self, request: Request) -> Response:
        asked = await self._bodies.read(request, LemmasRequest)
        return self._say(200, await _while_there(request, self._open.lemmas(asked)))

    async def _highlight(self, request: Request) -> Response:
        asked = await self._bodies.read(request, HighlightRequest)
        size = sum(len(text.encode()) for text in asked.texts)
        if size > self._text_bytes:
            why = f"the texts have {size} bytes, at most {self._text_bytes} are allowed"
            raise Refused(422, why, kind="InputError", hint="send less at once")
        pieces = await asyncio.to_thread(lambda: tuple(tuple(coloured(text)) for text in asked.texts))
        return self._say(200, HighlightAnswer(pieces=pieces))

    async def _job(self, request: Request) -> Response:
        return self._say(200, self._found(request).describe())

    async def _end_job(self, request: Request) -> Response:
        job = self._found(request)
        await self._jobs.end(job)
        return self._say(200, job.describe())

    async def _follow_job(self, request: Request) -> Response:
        after = request.headers.get("last-event-id", "0")
        if not (after.isascii() and after.isdecimal() and len(after) < 10):
            raise Refused(400, "Last-Event-ID is the number of an event", kind="BadRequest")
        return self._stream(self._found(request), int(after))

    async def _openapi(self, request: Request) -> Response:
        return Response(
            msgspec.json.encode(document()), headers=dict(HEADERS), media_type="application/json"
        )

    async def _docs(self, request: Request) -> Response:
        headers = {**HEADERS, "Content-Security-Policy": POLICY}
        return Response(page(document()), headers=headers, media_type="text/html")

    # -------------------------------------------------------------------------------- inside

    @property
    def _open(self) -> Engine:
        if self.engine is None or self.ending:
            why = "the server is stopping" if self.ending else "the server is starting"
            raise Refused(503, why, kind="NotReady", retry_after=_LOADING)
        return self.engine

    def _found(self, request: Request) -> Job:
        return self._jobs.find(request.path_params["id"])

    def _stream(self, job: Job, after: int = 0, *, ends: bool = False) -> Response:
        """A job's events. `ends`: the job ends with the stream."""
        events = job.follow(after, _STILL_HERE)
        if events is None:
            return Response(status_code=204, headers=dict(HEADERS))  # it ends a browser's asking
        return _Stream(events, partial(self._jobs.end, job) if ends else None)

    def _met(self, endpoint: Endpoint, *, open: bool = False) -> Endpoint:
        """The endpoint for those whom the guard lets in."""

        async def guarded(request: Request) -> Response:
            meet(self._guard, request.headers, open=open)
            return await endpoint(request)

        return guarded

    async def _refuse(self, request: Request, why: Exception) -> Response:
        assert isinstance(why, Refused)
        return refused(why, ending=self.ending)

    async def _explain(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, BurnQedError)
        return await self._refuse(request, of_error(error))

    async def _nowhere(self, request: Request, why: Exception) -> Response:
        assert isinstance(why, HTTPException)
        what = f"{request.method} {request.url.path}"
        here = ", ".join(f"{e.method} {e.path}" for e in ENDPOINTS)
        return await self._refuse(
            request, Refused(why.status_code, f"there is no {what:.200}, only {here}", kind="NotFound")
        )

    async def _gone(self, request: Request, why: Exception) -> Response:
        return Response()  # nobody reads it

    async def _failed(self, request: Request, error: Exception) -> Response:
        why = Refused(500, f"{type(error).__name__}: {error}", kind="Internal", closes=True)
        return await self._refuse(request, why)

    def _say(
        self,
        status: int,
        content: msgspec.Struct,
        retry_after: int | None = None,
        *,
        closes: bool = False,
    ) -> Response:
        return said(status, content, retry_after, closes=closes or self.ending)


def _showing(content: bytes, kind: str) -> Endpoint:
    async def page(request: Request) -> Response:
        return Response(content, headers=dict(HEADERS), media_type=kind)

    return page


class _Stream(StreamingResponse):
    """Events as they come. `ended` is called when there are no more, or the client is gone."""

    def __init__(
        self,
        events: AsyncIterator[tuple[int, bytes] | None],
        ended: Callable[[], Awaitable[None]] | None,
    ) -> None:
        super().__init__(_sent(events), headers=dict(HEADERS), media_type=EVENTS)
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._ended is not None:
                await self._ended()


async def _sent(events: AsyncIterator[tuple[int, bytes] | None]) -> AsyncIterator[bytes]:
    async for event in events:
        if event is None:
            yield b": still here\n\n"
        else:
            number, content = event
            yield b"id: %d\ndata: %s\n\n" % (number, content)


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
