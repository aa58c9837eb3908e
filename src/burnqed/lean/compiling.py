"""Compiles an untrusted file within a time limit, even if it crashes Lean.

Some texts crash Lean: a number of a billion digits, a term that fills the memory. One crash is not
evidence against a text, because the machine may be short of memory. But if a fresh Lean crashes again,
at the same command, that command counts as an error of the file, and the rest is compiled without it.
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

from burnqed.core.errors import (
    LeanDied,
    LeanLost,
    LeanMemoryExceeded,
    RequestTimeout,
    is_own_fault,
)
from burnqed.lean import replies
from burnqed.lean.pool import Kind, Pool
from burnqed.lean.protocol import read_progress
from burnqed.lean.replies import Reply
from burnqed.lean.tokens import Token, tokenize

_GRACE = 0.25  # seconds for Lean's own timeout, which tells where it was, before ours
_OF_ITSELF = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_REASONS = (
    (re.compile(r"INTERNAL PANIC: (.+)"), "{}"),
    (re.compile(r"call stack|[Ss]tack overflow"), "it runs out of stack"),
    # When the C++ run-time gets no memory, its exception arrives as a number.
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
    """One time limit for everything that a verdict needs."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def over(self, where: str) -> RequestTimeout:
        message = f"no verdict within {self.seconds:.3g} s: {where}"
        return RequestTimeout(message, hint="give it more --seconds", seconds=self.seconds)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Raises `RequestTimeout` when the time is over, even while waiting for a process."""
        try:
            async with asyncio.timeout(self.left + _GRACE):
                yield
        except TimeoutError:
            raise self.over("Lean was starting, or busy with other requests") from None


@dataclass(frozen=True, slots=True)
class Death:
    """A command that crashes Lean: its first byte, the byte after its last, and how Lean died."""

    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """The answer of `qed.compile` for the text without the commands that crash Lean."""

    reply: replies.Compiled
    deaths: tuple[Death, ...] = ()


async def compile_file(
    pool: Pool, request: Callable[[str], str], source: str, deadline: Deadline
) -> Compiled:
    """Compile a text, always in a Lean that has seen no other. `request` makes the request line."""
    deaths: list[Death] = []
    text = source.encode()
    while True:
        try:
            reply = await ask_twice(pool, "fresh", request(text.decode()), source, deadline)
            told = replies.read(reply, replies.Compiled)
            return Compiled(told, tuple(sorted(deaths, key=lambda death: death.start)))
        except LeanLost as error:
            at = read_progress(error.diagnostics)
            if at is None or not is_of_the_text(error):
                raise
            death = Death(*_command(source, at), why_lost(error))
            text, before = _without(text, death), text
            if text == before:  # it crashes without a command that could be removed
                raise
            deaths.append(death)


async def ask_twice(
    pool: Pool, kind: Kind, line: str, source: str, deadline: Deadline,
    *, trusted: bool = False, at_most: float = math.inf,
) -> Reply:  # fmt: skip
    """Send a request, and if Lean is lost, send it to another one."""
    try:
        return await ask(pool, kind, line, source, deadline, trusted=trusted, at_most=at_most)
    except RequestTimeout:
        raise
    except LeanLost as first:
        try:
            return await ask(pool, kind, line, source, deadline, trusted=trusted, at_most=at_most)
        except LeanLost as second:
            places = {read_progress(error.diagnostics) for error in (first, second)}
            if len(places) > 1:  # not the same crash twice
                second.diagnostics = ""
            raise


async def ask(
    pool: Pool, kind: Kind, line: str, source: str, deadline: Deadline,
    *, trusted: bool = False, at_most: float = math.inf, texts: int = 1,
) -> Reply:  # fmt: skip
    """Send one request, for which Lean has `at_most` these seconds.

    A process that has seen this many untrusted `texts` is retired.
    """
    try:
        async with pool.lease(kind) as worker:
            reply = await worker.request(line, min(deadline.left, at_most), trusted=trusted)
            if not trusted and worker.requests >= texts:
                worker.retire()  # its successor starts meanwhile
    except RequestTimeout as error:
        if deadline.left:
            raise
        at = read_progress(error.diagnostics)
        if at is None:
            raise deadline.over("its kernel was busy" if trusted else "Lean was busy") from error
        start, _ = _command(source, at)
        raise deadline.over(f"Lean was in line {source.encode()[:start].count(10) + 1}") from error
    replies.raise_if_refused(reply)
    return reply


def is_of_the_text(error: LeanLost) -> bool:
    """Whether Lean crashed by its own work, and not by a kill from outside or a garbled pipe."""
    crashed = isinstance(error, LeanDied) and error.signal in _OF_ITSELF
    return crashed or is_own_fault(error)


def why_lost(error: LeanLost) -> str:
    """Why Lean crashed, in a few words."""
    if isinstance(error, LeanMemoryExceeded):
        return "it runs out of memory"
    for pattern, words in _REASONS:
        found = pattern.search(error.message)
        if found:
            return words.format(*found.groups())
    return error.message


def _without(text: bytes, death: Death) -> bytes:
    """The text with blanks in place of a command, so that the rest keeps its position."""
    blank = re.sub(rb"[^\n]", b" ", text[death.start : death.end])
    return text[: death.start] + blank + text[death.end :]


def _command(source: str, at: int) -> tuple[int, int]:
    """The bytes of the command that begins at or after a byte, by tokens: Lean has not parsed it."""
    first = len(source.encode()[:at].decode(errors="replace"))
    tokens = [token for token in tokenize(source) if token.start >= first]
    start = tokens[0].start if tokens else len(source)
    end = _end(source, tokens)
    return len(source[:start].encode()), len(source[:end].encode())


def _end(source: str, tokens: Sequence[Token]) -> int:
    """Where the next command begins: at the beginning of a line, after this one's declaration."""
    declared = not tokens or tokens[0].text not in _BEGINS
    for token in tokens:
        at_margin = token.start == 0 or source[token.start - 1] == "\n"
        begins = token.text in _BEGINS or (token.text.startswith("#") and len(token.text) > 1)
        if declared and at_margin and begins and token is not tokens[0]:
            return token.start
        declared |= token.text in _DECLARES
    return len(source)
