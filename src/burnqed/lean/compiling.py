"""A file that anybody wrote, compiled in its time, also where Lean dies of it.

Some texts kill Lean: a number of a billion digits, a term that fills the memory. That Lean was lost
says nothing about a text, for a machine may be short of memory. That a fresh Lean dies again, by
itself and at the same command, does. Such a command is an error of the file like any other, and the
rest of the file is compiled without it.
"""

from __future__ import annotations

import asyncio
import math
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from burnqed.core.errors import (
    LeanDied,
    LeanLost,
    LeanMemoryExceeded,
    RequestTimeout,
    is_own_fault,
)
from burnqed.lean import protocol
from burnqed.lean.pool import Kind, Pool
from burnqed.lean.tokens import Token, tokenize

_GRACE = 0.25  # seconds in which Lean's own time-out says where it was, before ours says less
_OF_ITSELF = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_REASONS = (
    (re.compile(r"INTERNAL PANIC: (.+)"), "{}"),
    (re.compile(r"call stack|[Ss]tack overflow"), "it runs out of stack"),
    # What the C++ run-time throws when it is refused memory arrives as a number.
    (re.compile(r"runtime failed: (\d+|RuntimeError: divide by zero)$"), "it runs out of memory"),
)
_DECLARES = frozenset({
    "theorem", "lemma", "def", "abbrev", "example", "instance", "structure", "inductive", "class",
    "opaque", "axiom",
})  # fmt: skip
_BEGINS = _DECLARES | {
    "@[", "attribute", "deriving", "end", "export", "include", "local", "mutual", "namespace",
    "noncomputable", "omit", "open", "partial", "private", "protected", "scoped", "section",
    "set_option", "universe", "unsafe", "variable",
}  # fmt: skip


class Deadline:
    """One limit for all that is done for a verdict."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def over(self, where: str) -> RequestTimeout:
        said = f"no verdict within {self.seconds:.3g} s: {where}"
        return RequestTimeout(said, hint="--seconds gives it more", seconds=self.seconds)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Raises `RequestTimeout` when it is over, whatever is waited for."""
        try:
            async with asyncio.timeout(self.left + _GRACE):
                yield
        except TimeoutError:
            raise self.over("Lean was being started, or had others to answer") from None


@dataclass(frozen=True, slots=True)
class Death:
    """The bytes of a command that Lean dies of, and how."""

    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """What `qed.compile` answered for the text without the commands that Lean dies of."""

    reply: dict[str, Any]
    deaths: tuple[Death, ...] = ()


async def compile_file(
    pool: Pool, request: Callable[[str], str], source: str, deadline: Deadline
) -> Compiled:
    """Compile a text, each time in a Lean that has seen no other; `request` is the line for it."""
    deaths: list[Death] = []
    text = source.encode()
    while True:
        try:
            reply = await ask_twice(pool, "fresh", request(text.decode()), source, deadline)
            return Compiled(reply, tuple(sorted(deaths, key=lambda death: death.start)))
        except LeanLost as error:
            at = protocol.read_progress(error.diagnostics)
            if at is None or not is_of_the_text(error):
                raise
            death = Death(*_command(source, at), why_lost(error))
            text, before = _without(text, death), text
            if text == before:  # it dies of nothing that could be taken out
                raise
            deaths.append(death)


async def ask_twice(
    pool: Pool, kind: Kind, line: str, source: str, deadline: Deadline,
    *, trusted: bool = False, at_most: float = math.inf,
) -> dict[str, Any]:  # fmt: skip
    """A request that another Lean gets to answer if one is lost."""
    try:
        return await ask(pool, kind, line, source, deadline, trusted=trusted, at_most=at_most)
    except RequestTimeout:
        raise
    except LeanLost as first:
        try:
            return await ask(pool, kind, line, source, deadline, trusted=trusted, at_most=at_most)
        except LeanLost as second:
            places = {protocol.read_progress(error.diagnostics) for error in (first, second)}
            if len(places) > 1:  # nothing that the text does each time
                second.diagnostics = ""
            raise


async def ask(
    pool: Pool, kind: Kind, line: str, source: str, deadline: Deadline,
    *, trusted: bool = False, at_most: float = math.inf, texts: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """One request, for which Lean itself has `at_most` these seconds.

    Whoever has been asked about this many untrusted `texts` is asked about no other.
    """
    try:
        async with pool.lease(kind) as worker:
            reply = await worker.request(line, min(deadline.left, at_most), trusted=trusted)
            if not trusted and worker.requests >= texts:
                worker.retire()  # its successor starts meanwhile
    except RequestTimeout as error:
        if deadline.left:
            raise
        at = protocol.read_progress(error.diagnostics)
        if at is None:
            raise deadline.over("its kernel was at work" if trusted else "it was at work") from error
        start, _ = _command(source, at)
        raise deadline.over(f"Lean was in line {source.encode()[:start].count(10) + 1}") from error
    protocol.raise_if_refused(reply)
    return reply


def is_of_the_text(error: LeanLost) -> bool:
    """Whether Lean was lost of what it did, and not of somebody's kill or of a garbled pipe."""
    crashed = isinstance(error, LeanDied) and error.signal in _OF_ITSELF
    return crashed or is_own_fault(error)


def why_lost(error: LeanLost) -> str:
    """What Lean died of, in a few words."""
    if isinstance(error, LeanMemoryExceeded):
        return "it runs out of memory"
    for pattern, words in _REASONS:
        found = pattern.search(error.message)
        if found:
            return words.format(*found.groups())
    return error.message


def _without(text: bytes, death: Death) -> bytes:
    """Blanks in its place, so that the rest stays where it is."""
    blank = re.sub(rb"[^\n]", b" ", text[death.start : death.end])
    return text[: death.start] + blank + text[death.end :]


def _command(source: str, at: int) -> tuple[int, int]:
    """The bytes of the command that begins at or behind a byte, by its tokens: Lean has not read it."""
    first = len(source.encode()[:at].decode(errors="replace"))
    tokens = [token for token in tokenize(source) if token.start >= first]
    start = tokens[0].start if tokens else len(source)
    end = _end(source, tokens)
    return len(source[:start].encode()), len(source[:end].encode())


def _end(source: str, tokens: Sequence[Token]) -> int:
    """Where the next command begins: at a line's begin, behind what this one declares."""
    declared = not tokens or tokens[0].text not in _BEGINS
    for token in tokens:
        at_margin = token.start == 0 or source[token.start - 1] == "\n"
        begins = token.text in _BEGINS or (token.text.startswith("#") and len(token.text) > 1)
        if declared and at_margin and begins and token is not tokens[0]:
            return token.start
        declared |= token.text in _DECLARES
    return len(source)
