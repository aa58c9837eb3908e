"""Bodies of requests: of bounded size, within a time limit, and in bounded memory all together."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec
from starlette.requests import Request

from burnqed.core.errors import Busy
from burnqed.serve.refusal import Refused, of_error

T = TypeVar("T", bound=msgspec.Struct)

SECONDS = 20.0  # that a client may take to send a body
ALTOGETHER = 64 * 2**20  # bytes of all bodies that are being read
# Of a body that is refused, so much is read: a client that still sends reads no answer.
_READ_ANYWAY = 16 * 2**20
_ESCAPED = 6  # bytes that JSON may take for one byte of a text, as \u0041


def most_bytes(text_bytes: int, texts: int = 2) -> int:
    """Bytes of a request whose texts have at most so many."""
    return _ESCAPED * text_bytes * texts + 10_000


class Bodies:
    """Reads bodies whose texts have at most so many bytes."""

    def __init__(self, text_bytes: int) -> None:
        self.most = most_bytes(text_bytes)
        self._held = 0

    async def read(self, request: Request, kind: type[T]) -> T:
        """A request's body as a struct. Raises `Refused`."""
        body = await self.whole(request)
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.ValidationError as error:
            raise Refused(400, f"the request does not fit: {error}", kind="BadRequest") from error
        except (ValueError, RecursionError) as error:  # msgspec's errors and UTF-8's are both
            raise Refused(400, f"the request is not JSON: {error}", kind="BadRequest") from error

    async def whole(self, request: Request) -> bytes:
        """A request's body as it came. Raises `Refused`."""
        try:
            async with asyncio.timeout(SECONDS):
                return await self._read(request)
        except TimeoutError:
            raise Refused(
                408, f"the body did not come within {SECONDS:g} s", kind="Slow", closes=True
            ) from None

    async def _read(self, request: Request) -> bytes:
        parts: list[bytes] = []
        size = held = 0
        full = False
        try:
            async for part in request.stream():
                size += len(part)
                if size > _READ_ANYWAY:
                    break
                full = full or self._held + len(part) > ALTOGETHER
                if full or size > self.most:
                    parts.clear()
                    continue
                parts.append(part)
                held += len(part)
                self._held += len(part)
        finally:
            self._held -= held
        if size > self.most:
            raise Refused(413, f"a request has at most {self.most} bytes", kind="TooLarge", closes=True)
        if full:
            raise of_error(Busy("too many requests are being read", hint="ask again later"))
        return b"".join(parts)
