"""One JSON request against a server that misbehaves in every way it can."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from burnqed.core.errors import InputError, ServerError
from burnqed.core.tasks import together
from burnqed.policy.http import JsonClient, Limits, Refused, key_from, path_of
from tests.policy import servers
from tests.policy.servers import Reply, Server, in_turn, serve

FINE = Reply({"fine": True})
BUSY = Reply({"error": "busy"}, 503)


class Waits:
    """Instead of sleeping: what was slept, on a clock of its own."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def clock(self) -> float:
        return sum(self.slept)


@asynccontextmanager
async def client(url: str, limits: Limits | None = None, **more: Any) -> AsyncIterator[JsonClient]:
    this = JsonClient(url, limits or Limits(), **more)
    try:
        yield this
    finally:
        await this.close()


async def ask(handler: servers.Handler, limits: Limits | None = None) -> tuple[Any, Server, Waits]:
    waits = Waits()
    async with serve(handler) as server, client(server.url, limits, sleep=waits.sleep) as this:
        return await this.post("/x", {"state": "⊢ ∀ n"}), server, waits


async def refused(handler: servers.Handler, limits: Limits | None = None) -> tuple[Exception, int]:
    """The error, and after how many requests."""
    waits = Waits()
    async with serve(handler) as server, client(server.url, limits, sleep=waits.sleep) as this:
        with pytest.raises((ServerError, InputError)) as caught:
            await this.post("/x", {})
        assert server.url in caught.value.message
        assert caught.value.hint
        return caught.value, len(server.asked)


async def test_what_is_sent_and_what_comes_back() -> None:
    answer, server, waits = await ask(lambda asked: Reply({"back": asked.body}))
    assert answer == {"back": {"state": "⊢ ∀ n"}}
    assert server.asked[0].path == "/x"
    assert server.asked[0].headers["content-type"] == "application/json"
    assert "authorization" not in server.asked[0].headers
    assert not waits.slept


async def test_a_key_is_sent_along() -> None:
    async with serve(in_turn(FINE)) as server, client(server.url, key="secret") as this:
        assert await this.get("/models") == {"fine": True}
        assert server.asked[0].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_what_passes_is_tried_again(status: int) -> None:
    answer, server, waits = await ask(in_turn(Reply("no", status), Reply(b"<html>", status), FINE))
    assert answer == {"fine": True}
    assert len(server.asked) == 3
    first, second = waits.slept
    assert 0.25 <= first <= 0.5 <= second <= 1.0


async def test_a_server_that_stays_busy() -> None:
    error, requests = await refused(in_turn(BUSY))
    assert isinstance(error, ServerError)
    assert "5 attempts: 5 × 503 busy" in error.message
    assert requests == 5


async def test_every_kind_of_failure_is_told() -> None:
    error, _ = await refused(in_turn(BUSY, Reply(b"{..."), BUSY, Reply("gone", 502)))
    assert "2 × 503 busy; the answer is not JSON: {...; 2 × 502 gone" in str(error)


async def test_waits_grow_up_to_a_limit() -> None:
    waits = Waits()
    limits = Limits(attempts=12, first_wait=1.0, longest_wait=20.0)
    more: dict[str, Any] = {"sleep": waits.sleep, "chance": lambda: 1.0}
    async with serve(in_turn(BUSY)) as server, client(server.url, limits, **more) as this:
        with pytest.raises(ServerError):
            await this.post("/x", {})
    assert waits.slept == [1, 2, 4, 8, 16, 20, 20, 20, 20, 20, 20]


async def test_the_whole_is_limited_too() -> None:
    waits = Waits()
    limits = Limits(attempts=100, first_wait=1.0, longest_wait=10.0, whole=30.0)
    more: dict[str, Any] = {"sleep": waits.sleep, "clock": waits.clock, "chance": lambda: 1.0}
    async with serve(in_turn(BUSY)) as server, client(server.url, limits, **more) as this:
        with pytest.raises(ServerError, match="6 attempts"):
            await this.post("/x", {})
    assert sum(waits.slept) <= 30


@pytest.mark.parametrize(
    ("said", "waited"), [("7", 7.0), ("99999", 30.0), ("0.1", None), ("soon", None), ("-5", None)]
)
async def test_what_the_server_says_about_when(said: str, waited: float | None) -> None:
    _, _, waits = await ask(in_turn(Reply("slow down", 429, {"Retry-After": said}), FINE))
    assert waits.slept == [waited] if waited else waits.slept[0] <= 0.5


async def test_a_date_to_come_back_at() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    _, _, waits = await ask(in_turn(Reply("slow down", 503, {"Retry-After": date}), FINE))
    assert 15 < waits.slept[0] <= 20


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply({"error": {"message": "no such model"}}, 404), "404 no such model"),
        (Reply({"detail": "prompt must be a string."}, 422), "422 prompt must be a string."),
        (Reply({"object": "error", "message": "too long"}, 400), "400 too long"),
        (Reply({"error": ["what", 1]}, 400), '400 ["what", 1]'),
        (Reply(b"Not\n Found", 404), "404 Not Found"),
        (Reply(b"", 405), "405 Said"),
        (Reply({"error": "x" * 5000}, 400), "400 xxx"),
    ],
)
async def test_what_is_wrong_with_the_request_is_not_tried_again(reply: Reply, said: str) -> None:
    error, requests = await refused(in_turn(reply, FINE))
    assert isinstance(error, InputError)
    assert said in error.message
    assert len(error.message) < 500
    assert requests == 1


@pytest.mark.parametrize(
    ("status", "may_pass"),
    [(400, True), (413, True), (422, True), (404, False), (405, False), (401, False)],
)
async def test_what_another_request_may_not_be_refused_for(status: int, may_pass: bool) -> None:
    error, _ = await refused(in_turn(Reply("no", status)))
    assert isinstance(error, Refused) == may_pass


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_is_missing(status: int) -> None:
    error, requests = await refused(in_turn(Reply({"error": "who?"}, status)))
    assert isinstance(error, InputError)
    assert "key" in error.message
    assert requests == 1


async def test_a_server_that_moved_or_fails_for_good() -> None:
    error, _ = await refused(in_turn(Reply("", 301, {"Location": "http://elsewhere/x"})))
    assert isinstance(error, InputError)
    assert "http://elsewhere/x" in error.message
    error, requests = await refused(in_turn(Reply("cannot", 501)))
    assert isinstance(error, ServerError)
    assert requests == 1


# ----------------------------------------------------------------------- connections that fail


QUICK = Limits(connect=0.3, silence=0.2, whole=5.0, attempts=2, first_wait=0.0)


async def test_nobody_there() -> None:
    async with client(servers.nobody(), QUICK) as this:
        with pytest.raises(ServerError, match=r"2 attempts: 2 × no connection: ") as caught:
            await this.get("/models")
        assert "is the server running" in caught.value.hint


async def test_nobody_takes_the_connection() -> None:
    with servers.deaf() as url:
        async with client(url, QUICK) as this:
            with pytest.raises(ServerError, match=r"2 × no connection within 0\.3 s"):
                await this.get("/models")


@pytest.mark.parametrize("manner", ["frozen", "stuck"])
async def test_a_server_that_falls_silent(manner: Any) -> None:
    """Before the first byte, or in the middle."""
    began = time.monotonic()
    silent = Reply({"a": "b" * 100}, manner=manner)
    error, requests = await refused(in_turn(silent), QUICK)
    assert "2 × not a byte moved for 0.2 s" in str(error)
    assert requests == 2
    assert time.monotonic() - began < 3
    answer, _, _ = await ask(in_turn(silent, FINE), QUICK)
    assert answer == {"fine": True}


async def test_an_answer_that_breaks_off() -> None:
    cut = Reply({"a": "b" * 100}, manner="cut")
    error, _ = await refused(in_turn(cut), QUICK)
    assert "2 × the answer broke off: " in str(error)
    answer, server, _ = await ask(in_turn(cut, FINE), QUICK)
    assert (answer, len(server.asked)) == ({"fine": True}, 2)


async def test_a_server_that_is_too_slow() -> None:
    """It is never silent for long, but there is an end to it."""
    limits = Limits(silence=0.2, whole=0.5)
    error, requests = await refused(in_turn(Reply("x" * 1000, manner="drip")), limits)
    assert "the time for it, 0.5 s, was over" in str(error)
    assert requests == 1


async def test_slow_is_not_silent() -> None:
    answer, _, _ = await ask(in_turn(Reply(1, after=0.2)), Limits(silence=2.0))
    assert answer == 1


async def test_a_hurried_question_has_shorter_limits_and_only_it() -> None:
    async with serve(in_turn(BUSY)) as server:
        waits = Waits()
        async with client(server.url, sleep=waits.sleep) as this:
            with this.hurried(), pytest.raises(ServerError, match="3 attempts"):
                await this.get("/x")
            with pytest.raises(ServerError, match="5 attempts"):
                await this.get("/x")


async def test_a_request_can_be_cancelled() -> None:
    async with serve(in_turn(Reply(manner="frozen"), FINE)) as server, client(server.url) as this:
        task = asyncio.create_task(this.get("/x"))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(server.asked) == 1
        assert await this.get("/x") == {"fine": True}


async def test_a_server_that_is_lost_in_a_run() -> None:
    """Before its check went well it is not there; after that it was lost, and that costs nothing."""
    async with serve(in_turn(FINE, FINE, BUSY)) as server:
        async with client(server.url, QUICK) as this:
            with suppress(KeyError), this.hurried():
                await this.get("/x")
                raise KeyError("a check that did not go well")
            assert not this._well
            with this.hurried():
                await this.get("/x")
            with pytest.raises(ServerError) as caught:
                await this.get("/x")
        assert "start it again" in caught.value.hint
        assert caught.value.hint.endswith("what was finished is saved, --resume goes on")
        async with client(server.url, QUICK) as this:
            with this.hurried(), pytest.raises(ServerError) as caught:
                await this.get("/x")
        assert "--resume" not in caught.value.hint


def test_a_frozen_server_is_given_up_within_minutes() -> None:
    """The longest there can be: silence at every attempt. A second one fits in, should it be better."""
    limits = Limits()
    assert 2 * limits.silence + limits.longest_wait < limits.whole <= 300


WRONG_URLS = [
    "", "localhost:8000", "ftp://x", "http://", "8000",
    "http://[::1", "http://127.0.0.1:abc", "http://127.0.0.1:99999", "http://127.0.0.1:0",
    "http://a\x00b", "http://☠☠",
]  # fmt: skip


@pytest.mark.parametrize("url", WRONG_URLS)
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(InputError, match="not a URL") as caught:
        JsonClient(url, Limits())
    assert repr(url) in caught.value.message
    assert "http://127.0.0.1:8000" in caught.value.hint


def test_what_is_a_url() -> None:
    assert path_of("http://[::1]:8000") == ""
    assert path_of("https://models.example/v1") == "/v1"


@pytest.mark.parametrize("key", ["schlüssel", "secret\n", "two words", "“secret”"])
def test_a_key_that_cannot_be_sent(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", key)
    with pytest.raises(InputError, match="SOME_KEY") as caught:
        key_from("SOME_KEY")
    assert key.strip() not in caught.value.message + caught.value.hint
    monkeypatch.setenv("SOME_KEY", "secret")
    assert key_from("SOME_KEY") == "secret"
    monkeypatch.delenv("SOME_KEY")
    assert key_from("SOME_KEY") is None


async def test_no_proxy_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", servers.nobody())
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert (await ask(in_turn(FINE)))[0] == {"fine": True}


def test_without_httpx() -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "from burnqed.core.errors import SetupError\n"
        "try:\n    import burnqed.policy.openai\n"
        "except SetupError as error:\n    print(error.hint)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "pip install 'burn-qed[models]'\n"


@pytest.mark.parametrize("wrong", [{"silence": 0}, {"attempts": 0}, {"first_wait": -1}, {"whole": -1}])
def test_limits_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Limits(**wrong)


async def test_together_stops_the_others_when_one_fails() -> None:
    ended = []

    async def work(name: str, seconds: float, fails: bool = False) -> str:
        try:
            await asyncio.sleep(seconds)
        finally:
            ended.append(name)
        if fails:
            raise ServerError(name)
        return name

    assert await together(work("a", 0.02), work("b", 0.0)) == ["a", "b"]
    async with asyncio.timeout(5):
        with pytest.raises(ServerError, match="c"):
            await together(work("c", 0.01, fails=True), work("d", 60.0))
    assert ended == ["b", "a", "c", "d"]
