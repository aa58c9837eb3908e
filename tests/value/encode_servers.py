"""An encoder to serve that does as it is told, and requests to a server of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import numpy as np

from burnqed.policy.http import Limits
from burnqed.value.encoder import Embeddings, EncoderName
from burnqed.value.server import EncodeServer

NAME = EncoderName("weights", "colons 96", "mean", "float32", 4)
QUICK = Limits(silence=0.3, whole=2.0, attempts=2, first_wait=0.01)


class Scripted:
    """An encoder that counts letters, waits when it is told to, and breaks at what it is told to."""

    def __init__(self, breaks: Callable[[str], Embeddings | Exception | None] = lambda _: None) -> None:
        self.name = NAME
        self.passes: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()
        self._breaks = breaks

    def encode(self, states: Sequence[str]) -> Embeddings:
        self.passes.append(list(states))
        assert self.go.wait(20)
        for state in states:
            broken = self._breaks(state)
            if isinstance(broken, Exception):
                raise broken
            if broken is not None:
                return broken
        return letters(states)


def letters(states: Sequence[str]) -> Embeddings:
    rows = [[1, len(s), s.count("a"), s.count("b")] for s in states]
    return np.array(rows, np.float32).reshape(len(states), 4)


def post(server: EncodeServer, content: Any) -> httpx.Response:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return httpx.post(f"{server.url}/encode", content=body, timeout=20, trust_env=False)


def get(server: EncodeServer, path: str) -> httpx.Response:
    return httpx.get(server.url + path, timeout=20, trust_env=False)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)
