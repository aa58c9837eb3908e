"""The tools of the protocol, with an engine that does as it is told: what a client reads, and when."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
import msgspec
import pytest
from mcp import Client as McpClient
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from burnqed.core.errors import Busy, InputError, LeanDied, LeanStartError
from burnqed.core.guard import Guard
from burnqed.core.listening import listen, url_of
from burnqed.serve.answers import CheckAnswer, HoleAnswer, ProveAnswer, TheoremAnswer
from burnqed.serve.byhand import StepAnswer
from burnqed.serve.engine import Engine
from burnqed.serve.mcp import tools
from burnqed.serve.mcp.http import PATH, McpService
from burnqed.serve.mcp.stdio import Wire, speak
from burnqed.serve.mcp.tools import OFFERS, Tools
from burnqed.serve.mcp.words import words
from burnqed.serve.refusal import Refused
from burnqed.serve.server import answering
from tests.serve.malformed import MALFORMED, NO_JSON, NO_MESSAGES
from tests.serve.servers import Scripted, until
from tests.web.samples import HOSTILE

TEXT = "1 + 1 = 2"
VISIBLE = HOSTILE.replace("\x1b", "\\u001b").replace("\u202e", "\\u202e").replace("\u200b", "\\u200b")
SECRET = "0123456789abcdef0123456789abcdef"
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "test", "version": "0"}},
}  # fmt: skip


def opened(engine: Scripted | BaseException | None) -> Awaitable[Engine]:
    """An engine that is open, cannot be opened, or is being opened."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    if isinstance(engine, BaseException):
        future.set_exception(engine)
    elif engine is not None:
        future.set_result(engine)
    return future


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def called(engine: Scripted | BaseException, name: str, **arguments: Any) -> CallToolResult:
    async with McpClient(Tools(opened(engine)).server()) as client:
        return await client.call_tool(name, arguments)


# ------------------------------------------------------------------------------- the tools


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_tools_are_listed_with_their_schemas(mode: Any) -> None:
    async with McpClient(Tools(opened(None)).server(), mode=mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert client.server_info is not None
        assert client.server_info.name == "burn-qed"
        assert "not_found" in (client.instructions or "")
    assert list(listed) == list(OFFERS) == ["prove", "check", "start", "step", "lemmas"]
    for tool in listed.values():
        assert tool.description
        assert tool.input_schema["type"] == "object"
        assert (tool.output_schema or {})["type"] == "object"
    assert listed["prove"].input_schema["required"] == ["text"]
    properties = {"text", "nodes", "seconds", "seed", "line", "column", "suggest"}
    assert set(listed["prove"].input_schema["properties"]) == properties
    assert set(listed["step"].input_schema["required"]) == {"proof", "state", "tactic"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("prove", {"text": TEXT, "nodes": 3}), ("check", {"text": TEXT}), ("start", {"text": TEXT}),
        ("step", {"proof": "x", "state": 0, "tactic": "simp"}), ("lemmas", {"text": TEXT}),
    ],
)  # fmt: skip
async def test_a_call_reaches_the_engine_and_its_answer_comes_back(
    name: str, arguments: dict[str, Any]
) -> None:
    engine = Scripted()
    found = await called(engine, name, **arguments)
    assert not found.is_error
    assert msgspec.convert(found.structured_content, OFFERS[name].gives)
    assert msgspec.to_builtins(engine.asked[0]).items() >= arguments.items()
    assert text_of(found)


@pytest.mark.parametrize(
    ("error", "said", "is_ours"),
    [
        (LeanDied("Lean died"), "LeanDied: Lean died", True),
        (Busy("no room", seconds=7), "Ask again in 7 s", True),
        (ValueError("a fault"), "ValueError: a fault", True),
        (InputError("too long", hint="send less"), "fix: send less", False),
        (Refused(404, "no such proof", kind="NotFound"), "NotFound: no such proof", False),
    ],
)
async def test_without_an_outcome_the_tool_has_an_error(
    error: Exception, said: str, is_ours: bool
) -> None:
    found = await called(Scripted(lambda _: error), "prove", text=TEXT)
    assert found.is_error
    assert found.structured_content is None
    assert said in text_of(found)
    assert ("says nothing of the theorem" in text_of(found)) == is_ours
    assert "proved" not in text_of(found)


async def test_hostile_text_is_text() -> None:
    """A client may show the words in a terminal. What is exact stands in the JSON."""

    class Hostile(Scripted):
        async def prove(self, asked: Any, say: Any = None) -> ProveAnswer:
            return ProveAnswer(outcome="failed", said="", reason="refused", detail=HOSTILE)

    found = await called(Hostile(), "prove", text=TEXT)
    failed = await called(Scripted(lambda _: InputError(HOSTILE)), "prove", text=TEXT)
    for one in (found, failed):
        assert VISIBLE in text_of(one)
        assert not {"\x1b", "\u202e", "\u200b"} & set(text_of(one))
    assert found.structured_content is not None
    assert found.structured_content["detail"] == HOSTILE


async def test_arguments_that_do_not_fit_are_explained() -> None:
    engine = Scripted()
    found = await called(engine, "step", proof="x", state=-1, tactic="simp")
    assert found.is_error
    assert "`$.state`" in text_of(found)
    async with McpClient(Tools(opened(engine)).server()) as client:
        with pytest.raises(MCPError, match="there is no tool nothing, only prove"):
            await client.call_tool("nothing", {})
    assert not engine.asked


async def test_a_call_waits_for_an_engine_that_opens() -> None:
    future: asyncio.Future[Engine] = asyncio.get_running_loop().create_future()
    async with McpClient(Tools(future).server()) as client:
        calls = [asyncio.create_task(client.call_tool("prove", {"text": TEXT})) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert not calls[0].done()
        calls[0].cancel()
        await asyncio.gather(calls[0], return_exceptions=True)
        future.set_result(cast(Engine, Scripted()))
        assert not (await calls[1]).is_error, "one that is cancelled leaves the engine to the others"


async def test_an_engine_that_does_not_open_is_told() -> None:
    found = await called(LeanStartError("no memory", hint="burn-qed doctor"), "prove", text=TEXT)
    assert found.is_error
    assert "no memory" in text_of(found)
    assert "burn-qed doctor" in text_of(found)


async def test_who_waits_is_told_that_there_is_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_TELL", 0.01)
    engine, told = Scripted(), []
    engine.go.clear()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if len(told) == 3:
            engine.go.set()

    async with McpClient(Tools(opened(engine)).server(), mode="legacy") as client:
        await client.call_tool("prove", {"text": TEXT}, progress_callback=note)
    assert told == sorted(set(told)), "progress grows"


# ------------------------------------------------------------------------------- in words


@pytest.mark.parametrize("outcome", ["not_found", "refuted", "failed"])
def test_only_the_outcome_makes_proved(outcome: Any) -> None:
    answer = ProveAnswer(outcome=outcome, said="proved: nonsense", proof="theorem a : p", limit="nodes")
    assert not words(answer).startswith("proved")
    assert words(msgspec.structs.replace(answer, outcome="proved")).startswith("proved: the judge")


@pytest.mark.parametrize("outcome", ["goals", "refused", "rejected", "timeout"])
def test_only_the_outcome_of_a_step_makes_proved(outcome: Any) -> None:
    verdict = TheoremAnswer(
        theorem="a", accepted=False, reason="uses an axiom", type="p", axioms=(), axioms_seen=(),
        seconds=0,
    )  # fmt: skip
    answer = StepAnswer(
        proof="x", outcome=outcome, state=1, error="unknown", verdict=verdict,
        messages=("unused variable",), suggestions=("exact h",),
    )  # fmt: skip
    said = words(answer)
    assert not said.startswith("proved")
    assert "refused, uses an axiom" in said
    assert "Lean says: unused variable" in said
    assert "Lean suggests: exact h" in said


def test_words_say_all_that_an_answer_has() -> None:
    hole = HoleAnswer(
        line=2, column=4, declaration="a", goal="⊢ p", outcome="found", reason="", tactics=("simp",),
        nodes=1, seconds=0, accepted=False, verdict="sorry remains",
    )  # fmt: skip
    said = words(
        ProveAnswer(
            outcome="failed", said="", draft="theorem a : p := by simp", reason="refused",
            detail="of the other", holes=(hole,),
        )
    )  # fmt: skip
    for part in (
        "line 2, column 4",
        "its theorem is not proved (sorry remains)",
        "simp",
        "of the other",
    ):
        assert part in said
    error = "error at line 3, column 1: unknown identifier"
    checked = CheckAnswer(accepted=False, theorems=(), errors=(), toolchain="", hint="import it")
    assert words(checked).startswith("not accepted")
    assert "import it" in words(checked)
    assert error not in words(checked)


# ------------------------------------------------------------------------------- over pipes


@asynccontextmanager
async def talking(engine: Scripted, most: int = 300_000) -> AsyncIterator[tuple[Any, Any, Any]]:
    """A conversation: `say` bytes, `hear` a message, and the task that ends with it."""
    (their_end, we_write), (we_read, their_sink) = os.pipe(), os.pipe()
    talk = asyncio.create_task(speak(Tools(opened(engine)).server(), Wire(their_end, their_sink), most))
    with os.fdopen(we_read, "rb") as answers:

        async def say(line: bytes) -> None:
            await asyncio.to_thread(os.write, we_write, line)

        async def hear() -> dict[str, Any]:
            async with asyncio.timeout(20):
                return cast("dict[str, Any]", json.loads(await asyncio.to_thread(answers.readline)))

        try:
            yield say, hear, talk
        finally:
            os.close(we_write)
            async with asyncio.timeout(20):
                await talk
            os.close(their_end)
            os.close(their_sink)


async def test_malformed_lines_are_answered_and_the_next_call_works() -> None:
    assert len(MALFORMED) == 50
    engine = Scripted()
    async with talking(engine) as (say, hear, _):
        await say(json.dumps(HELLO).encode() + b"\n")
        assert (await hear())["result"]["serverInfo"]["name"] == "burn-qed"
        await say(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n\n \n')
        for line in MALFORMED:
            await say(line + b"\n")
            answer = await hear()
            if line in NO_JSON:
                assert (answer["id"], answer["error"]["code"]) in [(None, -32700), (None, -32600)]
            elif line in NO_MESSAGES:
                assert answer["error"]["code"] == -32600
            else:
                assert answer["id"] == 7
                assert "error" in answer or answer["result"]["isError"]
        assert not engine.asked
        await say(_call(2, "prove", text=TEXT))
        assert (await hear())["result"]["structuredContent"]["outcome"] == "not_found"


async def test_a_line_without_an_end_is_not_kept() -> None:
    async with talking(Scripted(), most=1000) as (say, hear, _):
        for _ in range(100):
            await say(b"x" * 60_000)
        await say(b"\n" + json.dumps(HELLO).encode() + b"\n")
        assert "at most 1000 bytes" in (await hear())["error"]["message"]
        assert (await hear())["id"] == 1


async def test_the_end_of_stdin_stops_what_runs() -> None:
    engine = Scripted()
    engine.go.clear()
    async with talking(engine) as (say, hear, _):
        await say(json.dumps(HELLO).encode() + b"\n")
        await hear()
        await say(_call(2, "prove", text=TEXT))
        await until(lambda: len(engine.asked) == 1)
    assert engine.cancelled == 1


async def test_a_call_is_cancelled_by_its_client() -> None:
    engine = Scripted()
    engine.go.clear()
    async with talking(engine) as (say, hear, _):
        await say(json.dumps(HELLO).encode() + b"\n")
        await hear()
        await say(_call(2, "prove", text=TEXT))
        await until(lambda: len(engine.asked) == 1)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        await say(json.dumps(cancel).encode() + b"\n")
        await until(lambda: engine.cancelled == 1)


def _call(id: int, name: str, **arguments: Any) -> bytes:
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    return json.dumps(message).encode() + b"\n"


# ------------------------------------------------------------------------------- over HTTP


@asynccontextmanager
async def serving(engine: Scripted, guard: Guard | None = None) -> AsyncIterator[str]:
    service = McpService(Tools(opened(engine)).server(), guard or Guard(local=True), 1000)
    with listen("127.0.0.1", 0) as listening:
        async with answering(service, listening), service.sessions():
            yield url_of(listening) + PATH


@asynccontextmanager
async def connected(url: str, mode: Any, token: str = "") -> AsyncIterator[McpClient]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
        McpClient(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_calls_over_http(mode: Any) -> None:
    async with serving(Scripted()) as url, connected(url, mode) as client:
        assert len((await client.list_tools()).tools) == 5
        found = await client.call_tool("prove", {"text": TEXT})
        assert found.structured_content["outcome"] == "not_found"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_that_is_cancelled_over_http_stops(mode: Any) -> None:
    engine = Scripted()
    engine.go.clear()
    async with serving(engine) as url, connected(url, mode) as client:
        call = asyncio.create_task(client.call_tool("prove", {"text": TEXT}))
        await until(lambda: len(engine.asked) == 1)
        call.cancel()
        await until(lambda: engine.cancelled == 1)
        await asyncio.gather(call, return_exceptions=True)


async def test_only_who_may_ask_is_answered() -> None:
    guard = Guard(local=True, token=SECRET)
    async with serving(Scripted(), guard) as url, httpx2.AsyncClient(trust_env=False) as http:
        accept = {"Accept": "application/json, text/event-stream"}
        known = {**accept, "Authorization": f"Bearer {SECRET}"}

        async def status(path: str = "", **headers: str) -> int:
            given = {**known, **{name.replace("_", "-"): value for name, value in headers.items()}}
            return (await http.post(url + path, json=HELLO, headers=given)).status_code

        assert await status() == 200
        assert await status(Authorization="Bearer wrong") == 401
        assert await status(Host="evil.example") == 403
        assert await status(Origin="http://evil.example") == 403
        assert await status("/more") == 404
        assert (await http.post(url, content=b"x" * 30_000, headers=known)).status_code == 413
        assert (await http.get(url.removesuffix(PATH), headers=known)).status_code == 404
        async with connected(url, "auto", SECRET) as client:
            assert not (await client.call_tool("check", {"text": TEXT})).is_error


async def test_malformed_bodies_leave_the_session_alive() -> None:
    engine = Scripted()
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    async with serving(engine) as url, httpx2.AsyncClient(trust_env=False, timeout=20) as http:
        hello = await http.post(url, json=HELLO, headers=headers)
        session = {**headers, "Mcp-Session-Id": hello.headers["Mcp-Session-Id"]}
        for body in MALFORMED:
            answer = await http.post(url, content=body, headers=session)
            assert answer.status_code < 500, body[:80]
            assert answer.status_code >= 400 or "error" in answer.text.lower() or answer.text == ""
        assert not engine.asked
        answer = await http.post(url, content=_call(2, "prove", text=TEXT), headers=session)
        assert '"outcome":"not_found"' in answer.text.replace(" ", "")
