"""Answers and refusals as responses of HTTP."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from burnqed.core.guard import HEADERS
from burnqed.serve.refusal import Refused


def said(
    status: int, content: msgspec.Struct, retry_after: int | None = None, *, closes: bool = False
) -> Response:
    """A struct as JSON. `closes` also ends the connection."""
    headers = dict(HEADERS)
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    if closes:
        headers["Connection"] = "close"
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")


def refused(why: Refused, *, ending: bool = False) -> Response:
    response = said(why.status, why.answer, why.retry_after, closes=why.closes or ending)
    if why.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
