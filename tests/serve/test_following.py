"""Jobs over HTTP: followed while they run, asked for later, stopped; and the description of it all."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from html.parser import HTMLParser
from typing import Any

import httpx
import msgspec
import pytest

from burnqed.core.errors import Busy, InputError, LeanDied
from burnqed.core.guard import Guard
from burnqed.serve import http
from burnqed.serve.answers import ProveAnswer
from burnqed.serve.events import Begun, Say, Searching
from burnqed.serve.jobs import JobAnswer
from burnqed.serve.openapi import ENDPOINTS
from burnqed.serve.requests import ProofRequest
from tests.serve.servers import FOUND, Client, Scripted, read_events, serving, until

TEXT = "∀ n : Nat, n + 0 = n"


async def streamed(client: Client) -> list[tuple[int, dict[str, Any]]]:
    answer = await client.ask("/prove", text=TEXT, mode="stream")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    return read_events(answer.text)


async def begun(client: Client) -> str:
    """A job in the background, as a path."""
    answer = await client.ask("/prove", text=TEXT, mode="background")
    assert answer.status_code == 202
    path = answer.headers["Location"]
    assert path == f"/jobs/{answer.json()['id']}"
    return path


class Talking(Scripted):
    """Says something before it waits, and something after."""

    def begin(self, asked: ProofRequest, say: Say) -> asyncio.Task[ProveAnswer]:
        async def work() -> ProveAnswer:
            say(Begun())
            await self._answer(asked)
            say(Searching(search=0, theorem="a\n\nb", nodes=()))
            return FOUND

        return asyncio.create_task(work())


async def test_a_stream_ends_with_the_outcome() -> None:
    async with serving(Talking()) as (client, api):
        found = await streamed(client)
        assert [event["event"] for _, event in found] == ["begun", "searching", "answer"]
        assert [number for number, _ in found] == [1, 2, 3]
        assert found[-1][1]["answer"]["outcome"] == "not_found"
        assert found[1][1]["theorem"] == "a\n\nb", "a line ends no event"
        await until(lambda: not api._jobs._jobs)


async def test_a_stream_comes_while_the_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_STILL_HERE", 0.02)
    engine = Talking()
    engine.go.clear()
    async with serving(engine) as (client, _):
        content = {"text": TEXT, "mode": "stream"}
        async with client.stream("POST", "/prove", json=content) as answer:
            parts = answer.aiter_text()
            early = await anext(parts)
            assert [event["event"] for _, event in read_events(early)] == ["begun"]
            while ": still here" not in early:
                early += await anext(parts)
            engine.go.set()
            rest = "".join([part async for part in parts])
        assert [event["event"] for _, event in read_events(early + rest)][1:] == ["searching", "answer"]


async def test_a_stream_says_where_its_job_can_be_stopped() -> None:
    engine = Talking()
    engine.go.clear()
    async with serving(engine) as (client, api):
        content = {"text": TEXT, "mode": "stream"}
        async with client.stream("POST", "/prove", json=content) as answer:
            await until(lambda: bool(engine.asked))
            stopped = (await client.delete(answer.headers["Location"])).json()
            assert (stopped["state"], stopped["refusal"]["kind"]) == ("done", "Stopped")
            assert engine.cancelled == 1, "its place is free when it is answered"
            events = read_events("".join([part async for part in answer.aiter_text()]))
        assert [event["event"] for _, event in events] == ["begun", "refusal"]
        assert not api._jobs._jobs


async def test_what_is_refused_at_once_is_no_stream() -> None:
    engine = Scripted()

    def begin(asked: ProofRequest, say: Say) -> asyncio.Task[ProveAnswer]:
        raise refusal

    engine.begin = begin  # type: ignore[method-assign]
    async with serving(engine) as (client, api):
        for refusal, status in ((Busy("no room", seconds=3), 429), (InputError("nodes is 7"), 422)):
            for mode in ("stream", "background"):
                answer = await client.ask("/prove", text=TEXT, mode=mode)
                assert (answer.status_code, answer.json()["error"]) == (status, refusal.message)
                assert answer.headers["Content-Type"] == "application/json"
        assert not api._jobs._jobs
        assert (await client.ask("/prove", text=TEXT, mode="other")).status_code == 400


async def test_trouble_in_a_stream_is_told_apart_from_an_outcome() -> None:
    async with serving(Talking(lambda _: LeanDied("it died"))) as (client, _):
        *_, (_, last) = await streamed(client)
        assert (last["event"], last["refusal"]["kind"]) == ("refusal", "LeanDied")
        path = await begun(client)
        await until_done(client, path)
        job = (await client.get(path)).json()
        assert (job["answer"], job["refusal"]["kind"]) == (None, "LeanDied")


async def until_done(client: Client, path: str) -> None:
    await client.get(f"{path}/events")


async def test_a_stream_that_is_left_stops_the_work() -> None:
    engine = Talking()
    engine.go.clear()
    async with serving(engine) as (client, api):
        with pytest.raises(httpx.ReadTimeout):
            await client.post("/prove", json={"text": TEXT, "mode": "stream"}, timeout=0.2)
        await until(lambda: engine.cancelled == 1)
        await until(lambda: not api._jobs._jobs)


async def test_a_job_in_the_background_is_there_until_somebody_asks() -> None:
    engine = Talking()
    engine.go.clear()
    async with serving(engine) as (client, _):
        path = await begun(client)
        await until(lambda: bool(engine.asked))
        job = msgspec.json.decode((await client.get(path)).content, type=JobAnswer)
        assert (job.state, job.answer, job.refusal) == ("running", None, None)
        with pytest.raises(httpx.ReadTimeout):  # following it and leaving stops nothing
            await client.get(f"{path}/events", timeout=0.2)
        engine.go.set()
        whole = read_events((await client.get(f"{path}/events")).text)
        assert [event["event"] for _, event in whole] == ["begun", "searching", "answer"]
        headers = {"Last-Event-ID": "2"}
        assert read_events((await client.get(f"{path}/events", headers=headers)).text) == whole[2:]
        headers = {"Last-Event-ID": "3"}
        assert (await client.get(f"{path}/events", headers=headers)).status_code == 204
        for strange in ("x", "-1", "1" * 50, "²"):
            headers = {"Last-Event-ID": strange.encode("utf-8")}  # type: ignore[dict-item]
            assert (await client.get(f"{path}/events", headers=headers)).status_code == 400
        job = msgspec.json.decode((await client.get(path)).content, type=JobAnswer)
        assert (job.state, job.answer) == ("done", FOUND)
        assert engine.cancelled == 0


async def test_a_job_is_stopped_and_forgotten() -> None:
    engine = Talking()
    engine.go.clear()
    async with serving(engine) as (client, _):
        path, other = await begun(client), await begun(client)
        await until(lambda: len(engine.asked) == 2)
        following = asyncio.create_task(client.get(f"{path}/events"))
        await asyncio.sleep(0.1)
        stopped = (await client.delete(path)).json()
        assert (stopped["state"], stopped["refusal"]["kind"]) == ("done", "Stopped")
        assert read_events((await following).text)[-1][1]["event"] == "refusal"
        assert engine.cancelled == 1
        for method, where in (("GET", path), ("DELETE", path), ("GET", f"{path}/events")):
            answer = await client.request(method, where)
            assert (answer.status_code, answer.json()["error"]) == (404, "there is no such job")
        engine.go.set()
        await until_done(client, other)
        assert (await client.delete(other)).json()["answer"]["outcome"] == "not_found"


async def test_without_the_token_there_are_no_jobs() -> None:
    guard = Guard(local=True, token="t" * 32)
    known = {"Authorization": f"Bearer {guard.token}"}
    async with serving(Talking(), guard=guard) as (client, _):
        content = {"text": TEXT, "mode": "background"}
        path = (await client.post("/prove", json=content, headers=known)).headers["Location"]
        for method, where in (("GET", path), ("DELETE", path), ("GET", f"{path}/events")):
            assert (await client.request(method, where)).status_code == 401
        assert (await client.get(path, headers=known)).status_code == 200


async def test_streams_end_when_the_server_stops() -> None:
    engine = Talking()
    engine.go.clear()
    tasks = []
    begin = engine.begin

    def noted(asked: ProofRequest, say: Say) -> asyncio.Task[ProveAnswer]:
        tasks.append(begin(asked, say))
        return tasks[-1]

    engine.begin = noted  # type: ignore[method-assign]
    async with AsyncExitStack() as stack:
        client, _ = await stack.enter_async_context(serving(engine))
        async with Client(str(client.base_url)) as own:
            following = asyncio.create_task(streamed(own))
            await until(lambda: bool(engine.asked))
            asyncio.get_running_loop().call_later(0.1, tasks[0].cancel)  # as an engine does at its end
            await stack.aclose()
            assert (await following)[-1][1]["refusal"]["kind"] == "Stopped"


# ------------------------------------------------------------------------------- the description


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(references, value.values()))
    if isinstance(value, list):
        return set().union(*map(references, value))
    return set()


async def test_what_is_described_is_there_and_what_is_there_is_described() -> None:
    async with serving(Scripted(), guard=Guard(local=True, token="t" * 32)) as (client, api):
        described = (await client.get("/openapi.json")).json()
        known = {(m.upper(), path) for path, methods in described["paths"].items() for m in methods}
        routes = {(m, r.path) for r in api.app().routes for m in r.methods - {"HEAD"}}  # type: ignore[attr-defined]
        assert known == routes == {(e.method, e.path) for e in ENDPOINTS}
        schemas = described["components"]["schemas"]
        names = {name.removeprefix("#/components/schemas/") for name in references(described)}
        assert names == schemas.keys()
        asked = schemas["ProveRequest"]
        assert (asked["required"], asked["additionalProperties"]) == (["text"], False)
        assert all("description" in one for one in asked["properties"].values())
        assert described["openapi"] == "3.1.0"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


async def test_the_page_shows_it_and_loads_nothing() -> None:
    async with serving(Scripted()) as (client, _):
        answer = await client.get("/docs")
        assert answer.headers["Content-Type"].startswith("text/html")
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        read = Tags()
        read.feed(answer.text)
        assert not {tag for tag, _ in read.tags} & {"script", "link", "img", "iframe"}
        links = {about["href"] for tag, about in read.tags if tag == "a"}
        ids = {f"#{about['id']}" for _, about in read.tags if about.get("id")}
        assert links == (links & ids) | {"/openapi.json"}, "every link leads somewhere on the page"
        for endpoint in ENDPOINTS:
            assert f"{endpoint.method} {endpoint.path}" in answer.text
