"""Embeddings from a server: `burn-qed serve encode`, or another one with a known encoder.

Our server receives states and makes the same prompts as training. Another one (SGLang's `/encode`)
receives prompts. What it computes cannot be checked here, so its user must name its encoder, and must
not use the name of a different one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Self, TypeVar

import numpy as np

from burnqed.core.errors import InfrastructureError, InputError, ServerError
from burnqed.core.tasks import together
from burnqed.policy.http import JsonClient, Limits, key_from
from burnqed.policy.served import PROBE, Served, prompt_for, unusable
from burnqed.policy.sglang import KEY
from burnqed.value.encoder import Embeddings, EncoderName, checked

T = TypeVar("T")
_BATCH = 64  # states in a request
_BYTES = 4 * 2**20  # of a request with more than one state
_AT_ONCE = 4  # requests in parallel, so that a server computes while answers are read
_PATH = "/encode"
_START = "burn-qed serve encode --model DIR starts one"


class ServedEncoder:
    """An encoder behind a server. Several threads may call it, and each waits.

    Limits, retries and errors are those of model servers (`policy.http`), whose requests run on an
    event loop. It has a thread with such a loop, so that it can be called like any other encoder.
    `sleep` is for tests.
    """

    def __init__(
        self,
        url: str,
        name: EncoderName | None = None,
        limits: Limits | None = None,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._client = JsonClient(url, limits or Limits(), key=key_from(KEY), sleep=sleep)
        self._url = self._client.url + _PATH
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="served", daemon=True)
        self._thread.start()
        try:
            self.name, self._ours = self._wait(self._meet(name))
        except BaseException:
            self.close()
            raise

    def encode(self, states: Sequence[str]) -> Embeddings:
        """One row for each state. Raises instead of returning a meaningless embedding."""
        if not states:
            return np.empty((0, self.name.width), dtype=np.float32)
        return self._wait(self._encode(states))

    def close(self) -> None:
        """Cancel open requests, and close the connection."""
        self._wait(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # Ctrl-C, too: then nobody waits for it anymore
            future.cancel()
            raise

    async def _finish(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.close()

    async def _meet(self, wanted: EncoderName | None) -> tuple[EncoderName, bool]:
        """The name of the server's encoder, after a test, and whether the server is ours."""
        with self._client.hurried():
            own = await self._own_name(wanted is None)
            name = own or wanted
            assert name is not None
            if wanted is not None and wanted != name:
                raise InputError(
                    f"{self._client.url} is another encoder: {_differences(name, wanted)}",
                    hint="states must be encoded as in training: start the server with the same "
                    "model, --pooling, --layer, --prompt and --dtype",
                )
            await self._ask([PROBE], name, own is not None)
        return name, own is not None

    async def _own_name(self, needed: bool) -> EncoderName | None:
        """The name that the server reports; None if it is not ours."""
        try:
            about = await self._client.get("/info")
            name = _name_in(about)
            answer = f"it answers {about!r:.100}"
        except InputError as error:  # it has no such page
            name, answer = None, error.message
        if name is None and needed:
            raise InputError(f"{self._client.url} does not report its encoder: {answer}", hint=_START)
        return name

    async def _encode(self, states: Sequence[str]) -> Embeddings:
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(batch: Sequence[str]) -> Embeddings:
            async with room:
                return await self._ask(batch, self.name, self._ours)

        return np.concatenate(await together(*(one(batch) for batch in _batches(states))))

    async def _ask(self, states: Sequence[str], name: EncoderName, ours: bool) -> Embeddings:
        texts = list(states) if ours else _prompts(self._client.url, name, states)
        answer = await self._client.post(_PATH, {"text": texts})
        key = answer.get("encoder") if isinstance(answer, dict) else None
        if ours and key != name.key:
            raise unusable(
                self._url,
                f"an answer is of the encoder {key!r:.60}, but it was {name.key} before",
                "the server has another model now: start it with the previous one",
            )
        rows = _rows(self._url, answer)
        if len(rows) != len(states):
            raise unusable(self._url, f"{len(rows)} embeddings came for {len(states)} states")
        try:
            return checked(_array(self._url, rows), name.width)
        except InfrastructureError as error:
            raise ServerError(f"{self._url}: {error.message}", hint=error.hint) from error


def _batches(states: Sequence[str]) -> Iterator[Sequence[str]]:
    batch: list[str] = []
    size = 0
    for state in states:
        length = len(state.encode(errors="replace"))
        if batch and (len(batch) == _BATCH or size + length > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(state)
        size += length
    yield batch


def _prompts(url: str, name: EncoderName, states: Sequence[str]) -> list[str]:
    """The prompts for a server that cannot make them from states, in the format of the name."""
    try:
        settings = name.settings
    except ValueError as error:
        raise InputError(
            f"{name.prompt!r} is not a prompt format", hint="such as: deepseek 1920"
        ) from error
    served = Served(url=url, settings=settings)
    return [prompt_for(served, state) for state in states]


def _name_in(about: Any) -> EncoderName | None:
    match about:
        case {
            "model": str(model),
            "prompt": str(prompt),
            "pooling": "mean" | "last" as pooling,
            "dtype": str(dtype),
            "width": int(width),
            "layer": int(layer),
        }:
            return EncoderName(model, prompt, pooling, dtype, width, layer)
        case _:
            return None


def _differences(there: EncoderName, wanted: EncoderName) -> str:
    theirs, ours = asdict(there), asdict(wanted)
    return "; ".join(
        f"{key} is {theirs[key]}, but should be {ours[key]}"
        for key in theirs
        if theirs[key] != ours[key]
    )


def _rows(url: str, answer: Any) -> list[Any]:
    """The embeddings of an answer of any shape, in the order of the states."""
    match answer:
        case {"embeddings": list(rows)}:
            pass
        case {"data": list(rows)}:
            rows = _in_order(url, rows)
        case list(rows):
            pass
        case _:
            raise unusable(url, f"a list of embeddings was expected, not {answer!r:.100}")
    return [row.get("embedding") if isinstance(row, dict) else row for row in rows]


def _in_order(url: str, rows: list[Any]) -> list[Any]:
    """Those of OpenAI's format, which may come in any order."""
    places = {row.get("index"): row for row in rows if isinstance(row, dict)}
    if places.keys() != set(range(len(rows))):
        raise unusable(url, f"embeddings came with the indices {list(places)!r:.100}")
    return [places[place] for place in range(len(rows))]


def _array(url: str, rows: list[Any]) -> Embeddings:
    try:
        found = np.array(rows)
    except (ValueError, OverflowError) as error:
        raise unusable(url, f"embeddings differ in width: {error}") from error
    if found.dtype.kind not in "fi":
        raise unusable(url, f"embeddings are not numbers: {rows!r:.100}")
    with np.errstate(over="ignore"):  # numbers that are too large become infinite
        return found.astype(np.float32)
