"""A request that gets no outcome: its status, and what is said.

Made of our errors, of what the guard says, or of HTTP's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from burnqed.core.errors import BurnQedError, Busy, InputError, RequestTimeout
from burnqed.core.guard import Guard, NotWelcome
from burnqed.serve.answers import Refusal

_SOON = 2  # seconds after which a machinery that failed may be asked again


class Refused(Exception):
    """Raised where a request is refused. `closes` also ends its connection."""

    def __init__(
        self,
        status: int,
        error: str,
        *,
        hint: str = "",
        kind: str = "Refused",
        retry_after: int | None = None,
        closes: bool = False,
    ) -> None:
        super().__init__(error)
        self.status, self.retry_after, self.closes = status, retry_after, closes
        self.answer = Refusal(error=error, kind=kind, hint=hint)


def meet(guard: Guard, headers: Mapping[str, str], *, open: bool = False) -> None:
    """Raises `Refused` for whom the guard does not let in."""
    try:
        guard.meet(headers, open=open)
    except NotWelcome as why:
        raise Refused(why.status, why.error, hint=why.hint, kind=why.kind) from why


def of_error(error: BurnQedError) -> Refused:
    """422 the text or a number in the request is wrong, 429 no room, 504 no verdict in time, 503 the
    machinery failed, so nothing is known of the text.
    """
    kind, said, hint = type(error).__name__, error.message or type(error).__name__, error.hint
    match error:
        case InputError():
            return Refused(422, said, hint=hint, kind=kind)
        case Busy():
            return Refused(429, said, hint=hint, kind=kind, retry_after=error.seconds)
        case RequestTimeout():
            return Refused(504, said, hint=hint, kind=kind)
        case _:
            return Refused(503, said, hint=hint, kind=kind, retry_after=_SOON)
