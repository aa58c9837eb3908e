"""What every answer has, and which requests get none: the page is for this machine's browser.

A web site that somebody visits can send requests to a server on their own machine, and, once it has
pointed its own name at that machine, read the answers. Such requests arrive with that name, so a name
that is not ours is refused.
"""

from __future__ import annotations

import ipaddress
import socket

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Nothing is loaded from elsewhere, nothing in the text of a page runs, and no other page frames this.
_POLICY = "; ".join(
    [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ]
)  # fmt: skip
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Guard:
    """Refuses foreign names, and adds the headers."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._names = {"localhost", socket.gethostname().lower(), host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the server's own beginning and end
            return await self._app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        app = self._app
        if not self._is_ours(Headers(scope=scope).get("host", "")):
            app = PlainTextResponse("this server has another name: use its address\n", 421)
        return await app(scope, receive, with_headers)

    def _is_ours(self, given: str) -> bool:
        """An address is always ours: only names can be pointed at somebody else's machine."""
        name = given.rsplit(":", 1)[0] if not given.endswith("]") else given
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.lower() in self._names
        return True
