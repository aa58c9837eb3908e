"""A server in the test's own event loop, and an engine that does as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx

from burnqed.core.guard import Guard
from burnqed.core.listening import listen, url_of
from burnqed.serve.answers import CheckAnswer, Health, LemmasAnswer, ProveAnswer
from burnqed.serve.byhand import StepAnswer
from burnqed.serve.engine import Engine
from burnqed.serve.events import Say
from burnqed.serve.http import Api
from burnqed.serve.requests import (
    CheckRequest,
    LemmasRequest,
    ProofRequest,
    StartRequest,
    StepRequest,
)
from burnqed.serve.server import answering

FOUND = ProveAnswer(outcome="not_found", said="not found", limit="nodes")
CHECKED = CheckAnswer(accepted=False, theorems=(), errors=(), toolchain="none", hint="")


STEPPED = StepAnswer(proof="x", outcome="rejected")


class Scripted:
    """An engine without Lean: it waits when it is told to, and breaks at what it is told to."""

    def __init__(self, breaks: Callable[[str], Exception | None] = lambda _: None) -> None:
        self.asked: list[Any] = []
        self.cancelled = 0
        self.go = asyncio.Event()
        self.go.set()
        self.breaks = breaks

    async def prove(self, asked: ProofRequest, say: Say | None = None) -> ProveAnswer:
        await self._answer(asked)
        return FOUND

    async def start(self, asked: StartRequest) -> StepAnswer:
        await self._answer(asked)
        return STEPPED

    async def step(self, id: str, asked: StepRequest) -> StepAnswer:
        await self._answer(asked)
        return STEPPED

    async def lemmas(self, asked: LemmasRequest) -> LemmasAnswer:
        await self._answer(asked)
        return LemmasAnswer(lemmas=())

    def begin(self, asked: ProofRequest, say: Say) -> asyncio.Task[ProveAnswer]:
        self.say = say
        return asyncio.create_task(self.prove(asked))

    async def check(self, asked: CheckRequest) -> CheckAnswer:
        await self._answer(asked)
        return CHECKED

    async def _answer(self, asked: Any) -> None:
        self.asked.append(asked)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        broken = self.breaks(asked.tactic if isinstance(asked, StepRequest) else asked.text)
        if broken is not None:
            raise broken

    def health(self) -> Health:
        return Health(status="ok", version="0", workers=1)


class Client(httpx.AsyncClient):
    """Requests to one server, past any proxy."""

    def __init__(self, url: str) -> None:
        super().__init__(base_url=url, timeout=60, trust_env=False)

    async def ask(self, path: str, **content: Any) -> httpx.Response:
        return await self.post(path, json=content)


@asynccontextmanager
async def serving(
    engine: Engine | Scripted | None,
    *,
    text_bytes: int = 1000,
    guard: Guard | None = None,
    pages: Mapping[str, tuple[bytes, str]] | None = None,
) -> AsyncIterator[tuple[Client, Api]]:
    api = Api(guard or Guard(local=True), text_bytes, pages)
    api.engine = cast("Engine | None", engine)
    with listen("127.0.0.1", 0) as listening:
        url = url_of(listening)
        async with answering(api, listening), Client(url) as client:
            yield client, api


async def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  (what it waits for belongs to others)
            await asyncio.sleep(0.005)


def read_events(stream: str) -> list[tuple[int, dict[str, Any]]]:
    """The events of a stream, with their ids."""
    found = []
    for block in stream.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((int(lines["id"]), json.loads(lines["data"])))
    return found
