"""The settings of a prover that serves: what one request may cost, and how many may wait."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from burnqed.core.config import AtLeast0, AtLeast1, about
from burnqed.prover.config import Config, Seconds

LIMITS = "Limits"
TEXT_BYTES = 100_000


class ServeConfig(Config, frozen=True, kw_only=True):
    """A prover whose texts come from anybody who reaches it."""

    nodes: Annotated[
        AtLeast1,
        about(
            "Most nodes that a request may ask for, for each theorem; also what it gets that asks "
            "for none.",
            LIMITS,
        ),
    ] = 300
    seconds: Annotated[
        Seconds,
        about(
            "Most seconds of search that a request may ask for; also what it gets that asks for none.",
            LIMITS,
        ),
    ] = 60.0
    queue: Annotated[
        AtLeast0, about("Requests that may wait; more of them are refused with 429.", LIMITS)
    ] = 64
    text_bytes: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)],
        about("Longest text of a request, in bytes of UTF-8.", LIMITS),
    ] = TEXT_BYTES


class McpConfig(ServeConfig, frozen=True, kw_only=True):
    """The same for agents. Their clients often give up on a tool after a minute."""

    seconds: Annotated[
        Seconds,
        about(
            "Most seconds of search that a call may ask for; also what it gets that asks for none. "
            "Many clients give up on a tool after 60 seconds, and the judge needs some as well.",
            LIMITS,
        ),
    ] = 30.0
