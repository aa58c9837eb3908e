"""The HTTP side, over a scripted engine: whatever it is sent, and however slowly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import Any

import httpx
import pytest

from burnqed.core.errors import (
    Busy,
    InputError,
    LeanDied,
    LeanStartError,
    PoolClosed,
    RequestTimeout,
    StatementError,
)
from burnqed.core.guard import Guard
from burnqed.serve import bodies, patience
from tests.serve.servers import Client, Scripted, serving, until

TEXT = "∀ n : Nat, n + 0 = n"
PATHS = ("/prove", "/check", "/step", "/lemmas")


@pytest.fixture(scope="module")
async def engine() -> Scripted:
    return Scripted()


@pytest.fixture(scope="module")
async def client(engine: Scripted) -> AsyncIterator[Client]:
    """For what leaves the server as it was."""
    async with serving(engine) as (opened, _):
        yield opened


async def test_it_is_healthy_while_there_is_an_engine() -> None:
    async with serving(None) as (client, api):
        for answer in (await client.get("/health"), await client.ask("/prove", text=TEXT)):
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "5"
        assert (await client.get("/health")).json()["status"] == "loading"
        api.engine = Scripted()  # type: ignore[assignment]
        assert (await client.get("/health")).json()["status"] == "ok"
        api.ending = True
        answer = await client.ask("/prove", text=TEXT)
        assert (answer.status_code, answer.json()["error"]) == (503, "the server is stopping")
        assert answer.headers["Connection"] == "close"


async def test_requests_reach_the_engine_as_they_are(engine: Scripted, client: Client) -> None:
    asked = {"text": TEXT, "nodes": 7, "seconds": 1.5, "seed": 3}
    answer = await client.ask("/prove", **asked)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json()["outcome"] == "not_found"
    assert (await client.ask("/check", text=TEXT, against="x")).json()["accepted"] is False
    first, second = engine.asked[-2:]
    assert {name: getattr(first, name) for name in asked} == asked
    assert (second.text, second.against, second.seconds) == (TEXT, "x", None)


MALFORMED: list[tuple[Any, str]] = [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"\xff\xfe", "not JSON"),
    (b'{"text": "\xed\xa0\x80"}', "not JSON"),
    (b'{"text": "a\\ud800"}', "not JSON"),
    (b"[" * 5000, "does not fit"),
    (b'{"text":' * 800, "does not fit"),
    (b"null", "does not fit"),
    (["a"], "does not fit"),
    ({}, "missing required field `text`"),
    ({"text": ""}, "length >= 1"),
    ({"text": 5}, "Expected `str`"),
    ({"text": None}, "Expected `str`"),
    ({"text": ["a"]}, "Expected `str`"),
    ({"text": "a", "path": "/etc/passwd"}, "unknown field `path`"),
    (b'{"text": NaN}', "not JSON"),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("content", "told"), MALFORMED)
async def test_a_malformed_body_is_told_and_reaches_nothing(
    engine: Scripted, client: Client, path: str, content: Any, told: str
) -> None:
    before = len(engine.asked)
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = await client.post(path, content=body)
    assert answer.status_code == 400
    assert told in answer.json()["error"]
    assert len(engine.asked) == before
    assert (await client.ask(path, text="fine")).status_code == 200, "and it goes on"


@pytest.mark.parametrize("path", ["/prove", "/check"])
@pytest.mark.parametrize("seconds", ['"5"', "-1", "1e999"])
async def test_seconds_are_a_number_of_some_size(client: Client, path: str, seconds: str) -> None:
    answer = await client.post(path, content=f'{{"text": "a", "seconds": {seconds}}}'.encode())
    assert (answer.status_code, "$.seconds" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"state": 0},
        {"tactic": "simp"},
        {"state": -1, "tactic": "simp"},
        {"state": 0.5, "tactic": "simp"},
        {"state": 0, "tactic": ""},
        {"state": 0, "tactic": ["simp"]},
        {"state": 0, "tactic": "simp", "proof": "x"},
    ],
)
async def test_a_step_has_a_state_and_a_tactic(client: Client, content: dict[str, Any]) -> None:
    assert (await client.ask("/step/x", **content)).status_code == 400
    assert (await client.ask("/step/x", state=0, tactic="simp")).status_code == 200


@pytest.mark.parametrize(
    "content",
    [{"text": "a", "nodes": 0}, {"text": "a", "nodes": 1.5}, {"text": "a", "seed": -1}],
)
async def test_numbers_of_a_search_are_whole_and_not_negative(
    client: Client, content: dict[str, Any]
) -> None:
    assert (await client.ask("/prove", **content)).status_code == 400


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InputError("nothing to prove", hint="write something"), 422, "InputError"),
        (StatementError("it does not compile"), 422, "StatementError"),
        (Busy("no room", seconds=7), 429, "Busy"),
        (RequestTimeout("no verdict within 1 s"), 504, "RequestTimeout"),
        (LeanDied("Lean died"), 503, "LeanDied"),
        (LeanStartError("Lean did not become ready"), 503, "LeanStartError"),
        (PoolClosed("the server is stopping"), 503, "PoolClosed"),
        (RuntimeError("a bug"), 500, "Internal"),
    ],
)
@pytest.mark.parametrize("path", PATHS)
async def test_what_has_no_outcome_has_another_status(
    engine: Scripted, client: Client, path: str, error: Exception, status: int, kind: str
) -> None:
    engine.breaks = lambda text: error if text == "bad" else None
    answer = await client.ask(path, text="bad")
    assert (answer.status_code, answer.json()["kind"]) == (status, kind)
    assert str(error) in answer.json()["error"]
    assert ("Retry-After" in answer.headers) == (status in (429, 503))
    if isinstance(error, Busy):
        assert answer.headers["Retry-After"] == "7"
    assert "outcome" not in answer.json()
    assert (await client.ask(path, text="good")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/jobs", 404),
        ("POST", "/docs", 405),
        ("GET", "/../../etc/passwd", 404),
        ("GET", "/prove", 405),
        ("PUT", "/prove", 405),
        ("POST", "/health", 405),
        ("POST", "/prove/" + "a" * 5000, 404),
    ],
)
async def test_elsewhere_there_is_nothing(client: Client, method: str, path: str, status: int) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == status
    assert len(answer.content) < 500
    assert "/prove" in answer.json()["error"]


async def test_the_guard_stands_before_everything() -> None:
    engine = Scripted()
    guard = Guard(local=True, token="t" * 32)
    async with serving(engine, guard=guard) as (client, _):
        for path in PATHS:
            answer = await client.ask(path, text=TEXT)
            assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
            for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
                answer = await client.post(path, json={"text": TEXT}, headers=headers)
                assert answer.status_code == 403
        assert (await client.get("/health", headers={"Host": "evil.example"})).status_code == 403
        assert (await client.get("/health")).status_code == 200
        assert not engine.asked
        known = {"Authorization": f"Bearer {guard.token}"}
        assert (await client.post("/prove", json={"text": TEXT}, headers=known)).status_code == 200


async def test_pages_need_no_token_and_stand_behind_the_guard() -> None:
    guard, given = Guard(local=True, token="t" * 32), {"/": (b"<p>", "text/html")}
    async with serving(Scripted(), guard=guard, pages=given) as (client, _):
        answer = await client.get("/")
        assert (answer.status_code, answer.content) == (200, b"<p>")
        assert answer.headers["Content-Type"].startswith("text/html")
        for path in ("/", "/health", "/docs", "/nowhere"):
            policy = (await client.get(path)).headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
        assert (await client.post("/")).status_code == 405
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            assert (await client.get("/", headers=headers)).status_code == 403
        linked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert (await client.get("/", headers=linked)).status_code == 200


# ------------------------------------------------------------------------- large, slow, gone


async def chunks(count: int, size: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"a" * size


@pytest.mark.parametrize("path", PATHS)
async def test_a_body_that_is_too_large_is_refused_also_in_chunks(path: str) -> None:
    engine = Scripted()
    async with serving(engine) as (client, _):  # 1000 bytes of text
        for body in (b"a" * 30_000, chunks(30, 1000), chunks(3, 1_000_000)):
            answer = await client.post(path, content=body)
            assert answer.status_code == 413
            assert "at most 22000 bytes" in answer.json()["error"]
        assert not engine.asked
        assert (await client.ask(path, text=TEXT)).status_code == 200


async def test_a_text_may_be_escaped_in_every_letter() -> None:
    engine = Scripted()
    async with serving(engine) as (client, _):
        text = "∧" * 333
        whole = json.dumps({"text": text, "against": text}, ensure_ascii=True).encode()
        assert (await client.post("/check", content=whole)).status_code == 200
        whole = ('{"text": "' + "\\u0061" * 1000 + '"}').encode()
        assert (await client.post("/check", content=whole)).status_code == 200
        assert engine.asked[1].text == "a" * 1000


async def test_a_body_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_READ_ANYWAY", 100_000)
    engine = Scripted()
    async with serving(engine) as (client, _):
        reader, writer = await _connected(client)
        writer.write(b"POST /prove HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        with suppress(ConnectionError):
            for _ in range(10_000):
                writer.write(b"3e8\r\n" + b"a" * 1000 + b"\r\n")
                await writer.drain()
        assert await _is_cut_off(reader)
        writer.transport.abort()
        assert not engine.asked


async def test_all_bodies_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "ALTOGETHER", 10_000)
    async with serving(Scripted()) as (client, api):
        slow = [await _connected(client) for _ in range(2)]
        for _, writer in slow:
            writer.write(b"POST /prove HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n")
            writer.write(b"a" * 4800)
        await until(lambda: api._bodies._held == 9600)
        answer = await client.ask("/prove", text="a" * 900)
        assert answer.status_code == 429
        assert answer.headers["Retry-After"] == "1"
        for _, writer in slow:
            writer.transport.abort()
        await until(lambda: api._bodies._held == 0)
        assert (await client.ask("/prove", text="a" * 900)).status_code == 200


async def test_a_slow_body_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "SECONDS", 0.2)
    async with serving(Scripted()) as (client, _):
        reader, writer = await _connected(client)
        writer.write(b"POST /prove HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        said = await asyncio.wait_for(reader.read(), 10)
        assert said.startswith(b"HTTP/1.1 408 ")
        writer.close()


@pytest.mark.parametrize("sent", [b"", b"POST /prove HTTP/1.1\r\nHost: local"])
async def test_a_slow_head_is_cut_off(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 0.2)
    async with serving(Scripted()) as (client, _):
        reader, writer = await _connected(client)
        writer.write(sent)
        assert await _is_cut_off(reader)
        writer.close()


async def test_who_waits_for_an_answer_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 0.05)
    engine = Scripted()
    engine.go.clear()
    async with serving(engine) as (client, _):
        asking = asyncio.create_task(client.ask("/prove", text=TEXT))
        await asyncio.sleep(0.5)
        engine.go.set()
        assert (await asking).status_code == 200


async def test_who_takes_no_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 0.2)
    engine = Scripted(lambda _: InputError("x" * 30_000_000))
    async with serving(engine) as (client, _):
        reader, writer = await _connected(client)
        body = b'{"text": "a"}'
        head = f"POST /prove HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await until(lambda: bool(engine.asked))
        await asyncio.sleep(1)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(reader.readexactly(30_000_000), 10)
        writer.close()


@pytest.mark.parametrize("path", PATHS)
async def test_work_stops_when_its_client_leaves(path: str) -> None:
    engine = Scripted()
    engine.go.clear()
    async with serving(engine) as (client, _):
        with pytest.raises(httpx.ReadTimeout):
            await client.post(path, json={"text": TEXT}, timeout=0.2)
        await until(lambda: engine.cancelled == 1)
        engine.go.set()
        assert (await client.ask(path, text=TEXT)).status_code == 200


async def test_what_is_on_its_way_is_answered_when_the_server_stops() -> None:
    engine = Scripted()
    engine.go.clear()
    async with AsyncExitStack() as server_of:
        client, _ = await server_of.enter_async_context(serving(engine))
        async with Client(str(client.base_url)) as own:
            asking = asyncio.create_task(own.ask("/prove", text=TEXT))
            await until(lambda: bool(engine.asked))
            asyncio.get_running_loop().call_later(0.3, engine.go.set)
            await server_of.aclose()
            assert (await asking).status_code == 200
            with pytest.raises(httpx.ConnectError):
                await own.ask("/prove", text=TEXT)


async def _is_cut_off(reader: asyncio.StreamReader) -> bool:
    """Whether the connection ends, with or without an answer."""
    async with asyncio.timeout(10):
        with suppress(ConnectionError):
            await reader.read()
        return True


async def _connected(client: Client) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(client.base_url.host, client.base_url.port)
