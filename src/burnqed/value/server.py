"""An encoder behind HTTP. Waiting requests are encoded in batches.

    GET  /health   200 once an embedding was computed; 503 before that and during shutdown
    GET  /info     the encoder's name, field by field, and our version
    POST /encode   {"text": [STATE, …]}: {"embeddings": [[…], …], "encoder": KEY},
                   with "shape": "array" only [[…], …]

`text` may be a single string, and may be called `texts` or `input`. A failed request gets
`{"error": …}` and a fitting status. A meaningless embedding is never sent.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from burnqed.core.errors import BurnQedError
from burnqed.core.listening import listening, url_of
from burnqed.value.embeddings import Encoder
from burnqed.value.encoder import Embeddings
from burnqed.value.passes import Passes, TooManyWaiting

MOST_BYTES = 64 * 2**20  # of a request
MOST_TEXTS = 4096  # in a request
_SILENCE = 60.0  # seconds that a client may take to send a part
_LOADING, _BUSY = 5, 1  # seconds after which a client should retry
_FEW = 16  # embeddings that are serialised at once; more take long, so a thread does it
_PROBE = "⊢ True"
_KEYS = ("text", "texts", "input")


class Unanswered(Exception):
    """A request that gets no embeddings: the status, the message, and when to retry.

    `closes` also ends the connection.
    """

    def __init__(
        self, status: int, message: str, retry_after: int | None = None, *, closes: bool = False
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after
        self.closes = closes


class EncodeServer:
    """It listens from the start, so that a port in use is noticed before a model is loaded."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self._passes: Passes | None = None
        self.ending = False
        self._answering = 0
        self._changed = threading.Condition()
        self._socket = listening(host, port)
        self.url = url_of(self._socket)
        config = uvicorn.Config(
            self._app(), http="h11", ws="none", lifespan="off", log_config=None, access_log=False,
            log_level="critical",  # errors go to the client
        )  # fmt: skip
        self._http = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._http.run, args=([self._socket],), name="serve", daemon=True
        )
        self._thread.start()

    def use(self, encoder: Encoder) -> None:
        """Answer with this encoder, after a test. Raises if it makes no embedding."""
        passes = Passes(encoder)
        try:
            passes.encode([_PROBE])
        except BaseException:
            passes.close()
            raise
        self._passes = passes

    def close(self) -> None:
        """Accept no more requests, and answer those that were accepted."""
        self.ending = True
        with self._changed:
            self._changed.wait_for(lambda: self._answering == 0)
        self._http.should_exit = self._http.force_exit = True  # the rest are not whole requests
        self._thread.join()
        self._socket.close()
        if self._passes is not None:
            self._passes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def answering(self) -> Iterator[Passes]:
        """Keep the server alive while a request is answered."""
        with self._changed:
            passes = self.ready()
            self._answering += 1
        try:
            yield passes
        finally:
            with self._changed:
                self._answering -= 1
                self._changed.notify_all()

    def ready(self) -> Passes:
        if self.ending:
            raise Unanswered(503, "ending", _LOADING)
        if self._passes is None:
            raise Unanswered(503, "loading", _LOADING)
        return self._passes

    # ------------------------------------------------------------------------------ over HTTP

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/health", self._health),
                Route("/info", self._info),
                Route("/encode", _Encode(self), methods=["POST"]),
            ],
            exception_handlers={
                Unanswered: self._refuse, HTTPException: self._nowhere, ClientDisconnect: self._gone,
                Exception: self._failed,
            },
        )  # fmt: skip

    async def _health(self, request: Request) -> Response:
        try:
            self.ready()
        except Unanswered as why:
            return self.say(why.status, {"status": why.message}, why.retry_after)
        return self.say(200, {"status": "ok"})

    async def _info(self, request: Request) -> Response:
        about = asdict(self.ready().encoder.name)
        return self.say(200, {**about, "version": version("burn-qed")})

    async def _refuse(self, request: Request, why: Exception) -> Response:
        assert isinstance(why, Unanswered)
        return self.say(why.status, {"error": why.message}, why.retry_after, why.closes)

    async def _nowhere(self, request: Request, why: Exception) -> Response:
        what = f"{request.method} {request.url.path}"
        return self.say(
            404, {"error": f"there is no {what}, only GET /health, GET /info, POST /encode"}
        )

    async def _gone(self, request: Request, why: Exception) -> Response:
        return Response()  # nobody reads it

    async def _failed(self, request: Request, error: Exception) -> Response:
        return self.say(500, {"error": f"{type(error).__name__}: {error}"}, closes=True)

    def say(
        self, status: int, content: Any, retry_after: int | None = None, closes: bool = False
    ) -> Response:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        if closes or self.ending:
            headers["Connection"] = "close"
        body = json.dumps(content, allow_nan=False).encode()
        return Response(body, status, headers, media_type="application/json")


class _Encode:
    """POST /encode: an ASGI application, so that the server ends only after all of it was sent."""

    def __init__(self, server: EncodeServer) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(Request(scope, receive))
        with self._server.answering() as passes:
            texts, shape = _parsed(body)
            rows = await _rows(passes, texts)
            key = None if shape == "array" else passes.encoder.name.key
            few = len(rows) <= _FEW
            make = self._response
            response = make(rows, key) if few else await run_in_threadpool(make, rows, key)
            await response(scope, receive, send)

    def _response(self, rows: Embeddings, key: str | None) -> Response:
        """The answer. Its numbers equal the embeddings to the last bit."""
        found = rows.tolist()
        return self._server.say(200, found if key is None else {"embeddings": found, "encoder": key})


async def _body(request: Request) -> bytes:
    """The whole body, read to its end even if it is refused: a client that sends reads no answer."""
    length = request.headers.get("Content-Length")
    parts: list[bytes] = []
    size = 0
    stream = request.stream()
    try:
        while part := await asyncio.wait_for(anext(stream, b""), _SILENCE):
            size += len(part)
            if size <= MOST_BYTES:
                parts.append(part)
    except TimeoutError:
        raise Unanswered(408, f"nothing came for {_SILENCE:g} s", closes=True) from None
    if length is None:
        raise Unanswered(411, "a request needs a Content-Length", closes=True)
    if size > MOST_BYTES:
        raise Unanswered(413, f"a request may have at most {MOST_BYTES} bytes", closes=True)
    return b"".join(parts)


async def _rows(passes: Passes, texts: Sequence[str]) -> Embeddings:
    try:
        return await asyncio.wrap_future(passes.submit(texts))
    except TooManyWaiting as error:
        raise Unanswered(503, str(error), _BUSY) from error
    except BurnQedError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise Unanswered(500, error.message + hint) from error
    except Exception as error:  # torch's own, such as a GPU without memory
        raise Unanswered(500, f"{type(error).__name__}: {error}") from error


def _parsed(body: bytes) -> tuple[list[str], str]:
    """The texts of a request, and the shape of its answer."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unanswered(400, f"the request is not JSON: {error}") from error
    if not isinstance(content, Mapping):
        raise Unanswered(400, 'the request is not an object, such as {"text": ["…"]}')
    found = [key for key in _KEYS if key in content]
    if len(found) != 1:
        raise Unanswered(400, 'the request needs "text": a string, or a list of strings')
    given = content[found[0]]
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Unanswered(400, f'"{found[0]}" must be a string, or a list of strings')
    if len(texts) > MOST_TEXTS:
        raise Unanswered(
            413, f"{len(texts)} texts are too many: a request may have at most {MOST_TEXTS}"
        )
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise Unanswered(400, f"a text has a lone surrogate: {error.reason}") from error
    shape = content.get("shape", "object")
    if shape not in ("object", "array"):
        raise Unanswered(400, '"shape" must be "object" or "array"')
    return texts, shape
