"""Model servers of our own, on this test's event loop: two that behave, and every way not to.

The answers of those that behave are made from what was asked, so a test can say what must come back.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from burnqed.core.errors import PromptRefused
from burnqed.policy.candidates import Sample
from burnqed.policy.sampled import Request, Sampler


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back, `after` some seconds. `manner` says how much of it, and how.

    All of it; nothing at all; half and then no more; half and then the end; byte by byte.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    manner: Literal["whole", "frozen", "stuck", "cut", "drip"] = "whole"
    after: float = 0.0

    @property
    def bytes(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Handler = Callable[[Asked], Reply]


@dataclass(slots=True)
class Server:
    """A running server: where it is, what it was asked, and how many it answered at once at most."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    now: int = 0
    most: int = 0

    def bodies(self, path: str) -> list[Any]:
        return [asked.body for asked in self.asked if asked.path == path]


@asynccontextmanager
async def serve(handler: Handler) -> AsyncIterator[Server]:
    """A server on a free port of this machine. Connections still open at the end are dropped."""
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            # Cancelled is how it ends here; a task that says so would be logged as an error.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await _exchange(server, handler, reader, writer):
                    pass
        finally:
            running.discard(task)
            writer.close()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    server = Server(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
    try:
        yield server
    finally:
        listener.close()
        waiting = list(running)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _exchange(
    server: Server, handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Answer one request; whether the connection goes on after it."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {
        name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)
    }
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    asked = Asked(head[0].split(" ")[1], headers, json.loads(content) if content else None)
    server.asked.append(asked)
    server.now += 1
    server.most = max(server.most, server.now)
    try:
        reply = handler(asked)
        await asyncio.sleep(reply.after)
        if reply.manner == "frozen":
            await asyncio.sleep(3600)
        lines = [f"HTTP/1.1 {reply.status} Said", f"Content-Length: {len(reply.bytes)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        body = reply.bytes if reply.manner == "whole" else reply.bytes[: len(reply.bytes) // 2]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        pieces = [body[i : i + 1] for i in range(len(body))] if reply.manner == "drip" else [body]
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.05 if reply.manner == "drip" else 0)
        if reply.manner == "stuck":
            await asyncio.sleep(3600)
        return reply.manner == "whole"
    finally:
        server.now -= 1


def in_turn(*replies: Reply | Handler) -> Handler:
    """One after the other, and the last one from then on."""
    left = list(replies)

    def handler(asked: Asked) -> Reply:
        this = left.pop(0) if len(left) > 1 else left[0]
        return this if isinstance(this, Reply) else this(asked)

    return handler


def nobody() -> str:
    """The URL of a port where nothing listens."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@contextmanager
def deaf() -> Iterator[str]:
    """The URL of a port where no connection is accepted: its queue is full already."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        for one in waiting:
            one.close()


# ------------------------------------------------------------------ what those that behave say


@dataclass(frozen=True, slots=True)
class Said:
    """A completion that follows from a prompt and a seed or number, and from nothing else."""

    text: str
    logprobs: tuple[float, ...]
    reason: str = "stop"


def said(prompt: str, *of: object) -> Said:
    digest = hashlib.sha256(repr((prompt, *of)).encode()).digest()
    count = 1 + digest[0] % 5
    logprobs = tuple(-digest[i + 1] / 64 for i in range(count))
    return Said(f"tactic_{digest.hex()[:12]}", logprobs, "length" if digest[9] % 3 == 0 else "stop")


MODELS = {"object": "list", "data": [{"id": "tiny", "object": "model", "max_model_len": 4096}]}


def sglang(*, models: Any = MODELS, scaled: bool = False) -> Handler:
    """SGLang's `/generate`, one answer for each text; `scaled` as it is without its variable set."""

    def entry(text: str, params: dict[str, Any], top: int) -> dict[str, Any]:
        assert set(params) <= _SGLANG_PARAMS, "SGLang refuses what it does not know"
        if params.get("max_new_tokens") == 0:
            return {"text": "", "meta_info": {"finish_reason": {"type": "length", "length": 0}}}
        this = said(text, params["sampling_seed"])
        likeliest = -0.5 / (params["temperature"] or 1.0) if scaled else -0.5
        about = {
            "finish_reason": {"type": this.reason, "matched": 2},
            "output_token_logprobs": [[value, 7, None] for value in this.logprobs],
            **({"output_top_logprobs": [[[likeliest, 7, None]]]} if top else {}),
        }
        return {"text": this.text, "meta_info": about}

    def handler(asked: Asked) -> Reply:
        if asked.path == "/v1/models":
            return Reply(models)
        body = asked.body
        params = body["sampling_params"]
        each = params if isinstance(params, list) else [params] * len(body["text"])
        assert len(each) == len(body["text"])
        top = body.get("top_logprobs_num", 0)
        return Reply([entry(text, one, top) for text, one in zip(body["text"], each, strict=True)])

    return handler


_SGLANG_PARAMS = {
    "temperature", "top_p", "top_k", "min_p", "max_new_tokens", "stop", "sampling_seed",
}  # fmt: skip


def openai(
    *,
    models: Any = MODELS,
    single: bool = False,
    form: Literal["openai", "llama.cpp", "none"] = "openai",
    scaled: bool = False,
) -> Handler:
    """`/v1/completions`, choices in no order; `single`: one prompt, one choice, as transformers."""

    def logprobs(this: Said, temperature: float) -> Any:
        likeliest = -0.5 / (temperature or 1.0) if scaled else -0.5
        if form == "none":
            return None
        if form == "llama.cpp":
            top = [{"token": "t", "logprob": likeliest}]
            return {"content": [{"logprob": v, "top_logprobs": top} for v in this.logprobs]}
        tops = [{"t": likeliest, "u": -9.0} for _ in this.logprobs]
        return {"token_logprobs": list(this.logprobs), "top_logprobs": tops}

    def handler(asked: Asked) -> Reply:
        if asked.path == "/v1/models":
            return Reply(models)
        body = asked.body
        if body["model"] != "tiny":
            missing = f"The model `{body['model']}` does not exist."
            return Reply({"error": {"message": missing, "code": 404}}, 404)
        if single and not isinstance(body["prompt"], str):
            return Reply({"detail": "prompt must be a string."}, 400)
        prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        n = 1 if single else body.get("n", 1)
        choices = [
            {
                "index": i * n + j,
                "text": (this := said(prompt, body.get("seed"), j)).text,
                "finish_reason": this.reason,
                "logprobs": logprobs(this, body["temperature"]) if body.get("logprobs") else None,
            }
            for i, prompt in enumerate(prompts)
            for j in range(n)
        ]
        return Reply({"object": "text_completion", "choices": choices[::-1]})

    return handler


def choosy(handler: Handler, refuses: Callable[[str], bool], status: int = 400) -> Handler:
    """The same, but a request with a prompt that it refuses is refused, with whatever else is in it."""

    def chosen(asked: Asked) -> Reply:
        body = asked.body or {}
        prompts = body.get("text", body.get("prompt", []))
        prompts = [prompts] if isinstance(prompts, str) else prompts
        if any(refuses(prompt) for prompt in prompts):
            return Reply({"error": {"message": "input longer than context"}}, status)
        return handler(asked)

    return chosen


async def samples_of(sampler: Sampler, requests: Sequence[Request]) -> list[list[Sample]]:
    """The samples, where none is refused."""
    answers = await sampler.sample(requests)
    assert not any(isinstance(answer, PromptRefused) for answer in answers), answers
    return [answer for answer in answers if not isinstance(answer, PromptRefused)]
