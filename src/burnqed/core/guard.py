"""Who may ask a server of ours: programs of this machine, or whoever has its token; never another
site's page.

A page in a browser can send requests to this machine, and by a name of its own that leads here (DNS
rebinding) even read the answers. So a request names the host that it means, and a browser says for
which site it asks.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from burnqed.core.errors import InputError

TOKEN = "BURN_QED_TOKEN"
_SHORTEST = 16  # letters of a token
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/]+)(?::\d+)?")
# Nothing is loaded from elsewhere, nothing in the text of a page runs, and no other page frames it.
_POLICY = "; ".join(
    [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ]
)  # fmt: skip
# Of every answer: it is for this server's own pages only, and nobody keeps it.
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class NotWelcome(Exception):
    """A request that the guard refuses, with its status in HTTP."""

    def __init__(self, status: int, error: str, kind: str, hint: str = "") -> None:
        super().__init__(error)
        self.status, self.error, self.kind, self.hint = status, error, kind, hint


def token_from_environment(*, needed: bool) -> str | None:
    """The token in BURN_QED_TOKEN. What is wrong with one is told without showing it."""
    token = os.environ.get(TOKEN)
    make = f"export {TOKEN}=$(openssl rand -hex 32)"
    if not token:
        if needed:
            raise InputError(f"a server that other machines reach needs a token in {TOKEN}", hint=make)
        return None
    if len(token) < _SHORTEST or not (token.isascii() and token.isprintable() and " " not in token):
        raise InputError(
            f"the token in {TOKEN} has less than {_SHORTEST} letters, or other than plain ones",
            hint=make,
        )
    return token


@dataclass(frozen=True, slots=True)
class Guard:
    """Which requests a server answers.

    `local`: it listens for this machine only. With a token, who asks must have it; a server that others
    reach has one.
    """

    local: bool
    token: str | None = None

    def __post_init__(self) -> None:
        if not self.local and self.token is None:
            raise ValueError("a server that other machines reach needs a token")

    def meet(self, headers: Mapping[str, str], *, open: bool = False) -> None:
        """Raises `NotWelcome`. `headers` have small letters. What is `open` needs no token, and a link
        on another site may lead there."""
        host = headers.get("host", "").lower()
        if not self._is_ours(_name(host)):
            raise NotWelcome(
                403, "this server answers to the names of this machine only", "WrongHost",
                "ask http://localhost:PORT or http://127.0.0.1:PORT",
            )  # fmt: skip
        origin = headers.get("origin")
        # Before a server that others reach there may be a proxy that encrypts.
        ours = {f"http://{host}"} if self.local else {f"http://{host}", f"https://{host}"}
        came_by_link = open and headers.get("sec-fetch-mode") == "navigate"
        site = headers.get("sec-fetch-site", "none")
        foreign = site not in ("none", "same-origin") and not came_by_link
        if foreign or (origin is not None and origin.lower() not in ours):
            raise NotWelcome(403, "another site's page may not ask this server", "WrongOrigin")
        if not open:
            self._know(headers.get("authorization", ""))

    def _is_ours(self, name: str) -> bool:
        """Only names can be pointed at somebody else's machine, addresses cannot."""
        if not name:
            return False
        if not self.local:
            return True  # a page that leads here by a name of its own does not have the token
        if name == "localhost":
            return True
        try:
            return ipaddress.ip_address(name.strip("[]")).is_loopback
        except ValueError:
            return False

    def _know(self, given: str) -> None:
        if self.token is None:
            return
        scheme, _, token = given.partition(" ")
        known = hmac.compare_digest(token.strip().encode(), self.token.encode())
        if scheme.lower() != "bearer" or not known:
            raise NotWelcome(
                401, "this server wants its token", "WrongToken",
                "send the header `Authorization: Bearer TOKEN`",
            )  # fmt: skip


def _name(host: str) -> str:
    """A host without its port; nothing if it is none."""
    found = _HOST.fullmatch(host)
    return found[1] if found else ""
