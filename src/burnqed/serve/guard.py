"""Who may ask: programs of this machine, or whoever has the token; never another site's page.

A page in a browser can send requests to this machine, and by a name of its own that leads here (DNS
rebinding) even read the answers. So a request names the host that it means, and a browser says for
which site it asks.
"""

from __future__ import annotations

import hmac
import os
import re
from dataclasses import dataclass

from starlette.datastructures import Headers

from burnqed.core.errors import InputError
from burnqed.serve.refusal import Refused

TOKEN = "BURN_QED_TOKEN"
_SHORTEST = 16  # letters of a token
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/]+)(?::\d+)?")
_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})


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
    """`local`: only names of this machine are served. With a token, who asks must have it."""

    local: bool
    token: str | None = None

    def meet(self, headers: Headers, *, open: bool = False) -> None:
        """Raises `Refused`. What is `open` needs no token."""
        host = headers.get("host", "").lower()
        if self.local and _name(host) not in _LOCAL:
            raise Refused(
                403, "this server answers to the names of this machine only", kind="WrongHost",
                hint="ask http://localhost:PORT or http://127.0.0.1:PORT",
            )  # fmt: skip
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}":
            raise Refused(403, "another site's page may not ask this server", kind="WrongOrigin")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Refused(403, "another site's page may not ask this server", kind="WrongOrigin")
        if not open:
            self._know(headers.get("authorization", ""))

    def _know(self, given: str) -> None:
        if self.token is None:
            return
        scheme, _, token = given.partition(" ")
        known = hmac.compare_digest(token.strip().encode(), self.token.encode())
        if scheme.lower() != "bearer" or not known:
            raise Refused(
                401, "this server wants its token", kind="WrongToken",
                hint="send the header `Authorization: Bearer TOKEN`",
            )  # fmt: skip


def _name(host: str) -> str:
    """A host without its port; nothing if it is none."""
    found = _HOST.fullmatch(host)
    return found[1] if found else ""
