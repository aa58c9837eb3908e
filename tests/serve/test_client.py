"""The client of a prover that runs: what it believes, what it calls wrong, and whom it names."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from burnqed.core.errors import BurnQedError, Busy, InputError, LeanError, ServerError, StatementError
from burnqed.core.guard import Guard
from burnqed.core.listening import listen, url_of
from burnqed.prover.suggesting import Position, Range, Suggestion, TextEdit
from burnqed.prover.task import Task
from burnqed.serve.answers import HoleAnswer, ProveAnswer, RefusedTheorem
from burnqed.serve.client import Client
from burnqed.serve.doubt import doubt
from burnqed.serve.events import Answered, Begun, JobEvent
from burnqed.serve.requests import ProofRequest
from tests.serve.servers import FOUND, Scripted, serving, until
from tests.serve.tls import certificate, proxy

TOKEN = "a token of 16 letters".replace(" ", "-")
TASK = Task("1 = 1")


def ask(url: str, token: str | None = None, said: list[JobEvent] | None = None) -> ProveAnswer:
    heard = [] if said is None else said
    return Client(url, token).prove(TASK, ProofRequest(text=TASK.text), heard.append)


async def error_of(url: str, token: str | None = None) -> BurnQedError:
    with pytest.raises(BurnQedError) as caught:
        await asyncio.to_thread(ask, url, token)
    assert url in caught.value.message, "an error names the server"
    assert caught.value.hint, "and says what to do"
    return caught.value


# -------------------------------------------------------------------------- our own server


async def test_the_answer_and_what_came_before_it() -> None:
    engine, said = Scripted(), list[JobEvent]()
    async with serving(engine) as (client, _):
        url = str(client.base_url)
        assert await asyncio.to_thread(ask, url, None, said) == FOUND
        health = await asyncio.to_thread(Client(url, None).health)
    assert health == engine.health()
    assert said == [Answered(answer=FOUND)]
    assert [asked.text for asked in engine.asked] == [TASK.text]


async def test_an_interrupt_cancels_the_job_at_the_server() -> None:
    engine = Scripted()
    engine.go.clear()

    def interrupt(event: JobEvent) -> None:
        assert event == Begun()
        raise KeyboardInterrupt

    async with serving(engine) as (client, _):
        url = str(client.base_url)

        def work() -> str:
            with pytest.raises(KeyboardInterrupt) as caught:
                Client(url, None).prove(TASK, ProofRequest(text=TASK.text), interrupt)
            assert engine.cancelled == 1, "it is free when this is said"
            return str(caught.value)

        asking = asyncio.create_task(asyncio.to_thread(work))
        await until(lambda: bool(engine.asked))
        engine.say(Begun())
        assert "is cancelled" in await asking


async def test_tokens() -> None:
    engine = Scripted()
    async with serving(engine, guard=Guard(local=False, token=TOKEN)) as (client, _):
        url = str(client.base_url)
        assert await asyncio.to_thread(ask, url, TOKEN) == FOUND
        wrong, absent = await error_of(url, TOKEN + "x"), await error_of(url)
        assert (await asyncio.to_thread(Client(url, None).health)).status == "ok"
    assert isinstance(wrong, InputError)
    assert "does not take the token in BURN_QED_TOKEN" in wrong.message
    assert "wants a token" in absent.message
    assert "export BURN_QED_TOKEN" in absent.hint
    assert TOKEN not in wrong.message + wrong.hint
    assert len(engine.asked) == 1


@pytest.mark.parametrize(
    ("broken", "kind"),
    [(StatementError("no such name"), InputError), (LeanError("Lean was lost"), ServerError)],
)
async def test_what_ends_without_an_outcome(broken: BurnQedError, kind: type[BurnQedError]) -> None:
    async with serving(Scripted(lambda _: broken)) as (client, _):
        with pytest.raises(kind, match=broken.message):
            await asyncio.to_thread(ask, str(client.base_url))


async def test_a_server_that_starts() -> None:
    async with serving(None) as (client, _):
        url = str(client.base_url)
        with pytest.raises(ServerError, match="the server is starting"):
            await asyncio.to_thread(Client(url, None).health)
        assert "the server is starting" in (await error_of(url)).message


async def test_a_body_that_is_too_large() -> None:
    long = Task(f"1 = 1 -- {'x' * 20_000}")
    async with serving(Scripted(), text_bytes=10) as (client, _):
        with pytest.raises(InputError, match="too large") as caught:
            await asyncio.to_thread(
                Client(str(client.base_url), None).prove, long, ProofRequest(text=long.text), print
            )
    assert "--text-bytes" in caught.value.hint


# ---------------------------------------------------------------------------- other servers

STREAM = "text/event-stream; charset=utf-8"


@contextmanager
def other(status: int, body: bytes, **headers: str) -> Iterator[str]:
    """The address of a server that answers everything alike, and then closes the connection."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def event(of: Any) -> bytes:
    return b"id: 1\ndata: " + msgspec.json.encode(of) + b"\n\n"


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind", "words"),
    [
        (200, event(Begun()), {"Content_Type": STREAM}, ServerError, "went away in the middle"),
        (200, b"data: {\n\n", {"Content_Type": STREAM}, ServerError, "not a prover of this burn-qed"),
        (200, b"data: \xff\n", {"Content_Type": STREAM}, ServerError, "not a prover of this burn-qed"),
        (200, b"{}", {"Content_Type": "application/json"}, ServerError, "not a stream of events"),
        (200, event(Begun()), {"Content_Type": STREAM, "Content_Length": "9999"}, ServerError, "went"),
        (302, b"", {"Location": "http://elsewhere/"}, InputError, "http://elsewhere/"),
        (404, b"<html>nothing here", {}, InputError, "404 Not Found"),
        (413, b"<html>nginx", {}, InputError, "too large"),
        (429, b'{"error": "no room", "kind": "Busy"}', {"Retry_After": "7"}, Busy, "no room"),
        (502, b"<html>Bad Gateway", {}, ServerError, "502 Bad Gateway"),
        (503, b'{"error": "Lean died", "kind": "LeanDied"}', {"Retry_After": "2"}, ServerError, "died"),
    ],
)  # fmt: skip
async def test_answers_that_are_none(
    status: int, body: bytes, headers: dict[str, str], kind: type[BurnQedError], words: str
) -> None:
    with other(status, body, **headers) as url:
        error = await error_of(url)
    assert isinstance(error, kind)
    assert words in error.message
    if "Retry_After" in headers:
        assert f"again in {headers['Retry_After']} s" in error.hint


async def test_what_is_no_prover() -> None:
    for status, body in ((200, b"<html>"), (200, b'{"status": "ok"}'), (404, b"")):
        with other(status, body) as url, pytest.raises(ServerError, match="not a prover") as caught:
            await asyncio.to_thread(Client(url, None).health)
        assert url in caught.value.message


async def test_a_server_behind_a_proxy_with_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a certificate that is known, and for this name, makes a connection."""
    good, other_name = (tmp_path / name for name in ("good", "other"))
    for folder in (good, other_name):
        folder.mkdir()
    known, strange = certificate(good, "localhost"), certificate(other_name, "elsewhere.example")
    guard = Guard(local=True, token=TOKEN)
    async with serving(Scripted(), guard=guard) as (client, _):
        port = client.base_url.port
        assert port is not None
        async with proxy(port, known) as url:
            assert "no safe connection" in (await error_of(url, TOKEN)).message
            monkeypatch.setenv("SSL_CERT_FILE", str(known[0]))
            assert await asyncio.to_thread(ask, url, TOKEN) == FOUND
            assert "wants a token" in (await error_of(url)).message
            plain = url.replace("https", "http")
            assert "went away" in (await error_of(plain, TOKEN)).message
        async with proxy(port, strange) as url:
            monkeypatch.setenv("SSL_CERT_FILE", str(strange[0]))
            assert "no safe connection" in (await error_of(url, TOKEN)).message


async def test_nobody_is_there() -> None:
    with listen("127.0.0.1", 0) as listening:
        url = url_of(listening)
    assert "nobody answers" in (await error_of(url)).message
    no_name = f"http://{'a' * 64}.example:1"  # nothing to look up
    assert "nobody answers" in (await error_of(no_name)).message


async def test_events_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    body = event(Begun()) * 3 + event(Answered(answer=FOUND))
    monkeypatch.setattr("burnqed.serve.client._STREAM", len(body))
    with other(200, body, Content_Type=STREAM) as url:
        assert await asyncio.to_thread(ask, url) == FOUND
    for more in (body, b": still there\n" * len(body)):
        with other(200, more + body, Content_Type=STREAM) as url:
            monkeypatch.setattr("burnqed.serve.client._STREAM", len(more) // 2)
            error = await error_of(url)
        assert isinstance(error, ServerError)
        assert "its events have more than" in error.message


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://[2001:db8::5:443]", "2001:db8::5:443", 443),
        ("http://[2001:db8::5:443]", "2001:db8::5:443", 80),
        ("https://[2001:db8::5]:8200/lean", "2001:db8::5", 8200),
        ("https://there", "there", 443),
    ],
)
def test_where_a_request_goes(monkeypatch: pytest.MonkeyPatch, url: str, host: str, port: int) -> None:
    gone: list[tuple[str, int]] = []

    def nobody(address: tuple[str, int], *_: Any, **__: Any) -> Any:
        gone.append(address)
        raise OSError("nobody")

    monkeypatch.setattr("socket.create_connection", nobody)
    with pytest.raises(ServerError, match="nobody answers"):
        Client(url, None).health()
    assert gone == [(host, port)]


@pytest.mark.parametrize(
    "url",
    ["localhost:8200", "ftp://a", "http://", "http://a:b", "http://a:99999", "http://u:p@a", "http://a?b",
     "http://a b", "http://ä", "http://a:0", ""],
)  # fmt: skip
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError, match="not an address of a server"):
        Client(url, None)


# ------------------------------------------------------------------------ what is believed

PROVED = ProveAnswer(outcome="proved", said="", proof="theorem qed_goal : 1 = 1 := by\n  rfl\n")
HOLE = HoleAnswer(
    line=1, column=25, declaration="a", goal="", outcome="found", reason="", tactics=("rfl",), nodes=1,
    seconds=0, accepted=True, verdict="",
)  # fmt: skip
TEXT = "theorem a : 1 = 1 := by sorry\ntheorem b : 2 = 2 := sorry -- so\n"
FILLED = "theorem a : 1 = 1 := by\n  rfl\ntheorem b : 2 = 2 := by\n  rfl -- so\n"
FILE = ProveAnswer(outcome="proved", said="", proof=FILLED, draft=FILLED, holes=(HOLE, HOLE))
change = msgspec.structs.replace


def test_answers_that_fit() -> None:
    assert doubt(TASK, PROVED) == ""
    raised = f"set_option maxHeartbeats 400000 in\n{PROVED.proof}"
    assert doubt(TASK, change(PROVED, proof=raised)) == ""
    assert doubt(Task(TEXT), FILE) == ""
    assert doubt(Task(TEXT), change(FILE, outcome="failed", proof=None, draft=TEXT)) == ""


@pytest.mark.parametrize(
    ("proof", "words"),
    [
        (None, "no whole proof"),
        ("", "no whole proof"),
        ("theorem qed_goal : 1 = 1 := by\n  sorry\n", "no whole proof"),
        ("theorem qed_goal : 2 = 2 := by\n  rfl\n", "another statement"),
        ("axiom a : False\ntheorem qed_goal : 1 = 1 := by\n  rfl\n", "would run code"),
        ("def a := 1\ntheorem qed_goal : 1 = 1 := by\n  rfl\n", "another statement"),
        ("theorem qed_goal : 1 = 1 := by rfl\n#eval 1\n", "would run code"),
        ("theorem qed_goal : 1 = 1 := by run_tac pure ()\n", "would run code"),
        ("theorem qed_goal : 1 = 1 := by\n  native_decide\n", "would run code"),
    ],
)
def test_no_proof_of_a_statement(proof: str | None, words: str) -> None:
    assert words in doubt(TASK, change(PROVED, proof=proof))


@pytest.mark.parametrize("where", ["axioms", "axioms_seen"])
def test_axioms_that_no_proof_may_use(where: str) -> None:
    usual, more = ("propext", "Classical.choice", "Quot.sound"), ("propext", "sorryAx")
    assert doubt(TASK, change(PROVED, **{where: usual})) == ""
    assert "rests on sorryAx" in doubt(TASK, change(PROVED, **{where: more}))
    for axioms in (usual, more):
        holes = (HOLE, change(HOLE, **{where: axioms}))
        assert bool(doubt(Task(TEXT), change(FILE, holes=holes))) == (axioms == more)


@pytest.mark.parametrize("outcome", ["not_found", "failed", "refuted"])
def test_a_proof_with_another_outcome(outcome: Any) -> None:
    for task, answer in ((TASK, PROVED), (Task(TEXT), FILE)):
        found = change(answer, outcome=outcome, negation_proof="decide")
        assert f'it has a proof, and says "{outcome}"' in doubt(task, found)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"holes": ()}, "did not accept"),
        ({"holes": (HOLE, change(HOLE, accepted=False))}, "did not accept"),
        ({"holes": (HOLE, change(HOLE, outcome="exhausted"))}, "did not accept"),
        ({"refused": (RefusedTheorem(theorem="c", reason="no"),)}, "did not accept"),
        ({"proof": FILLED + "\n-- more\n"}, "did not accept"),
        ({"draft": FILLED.replace("2 = 2", "3 = 3")}, "not the one that it was sent"),
        ({"draft": FILLED + "#eval 1\n"}, "not the one that it was sent"),
        ({"draft": FILLED.replace("rfl\nth", "rfl\n#eval 1\nth")}, "would run code"),
        ({"outcome": "refuted"}, "no proof of the negation"),
    ],
)
def test_no_proof_of_a_text(changes: dict[str, Any], words: str) -> None:
    assert words in doubt(Task(TEXT), change(FILE, **changes))


def suggestion(new: str, *tactics: str, at: tuple[int, int] = (24, 29)) -> Suggestion:
    where = Range(*(Position(0, character) for character in at))
    return Suggestion(
        title="", range=where, declaration="a", goals=(), proved=True, reason="", tactics=(tactics,),
        edits=(TextEdit(where, new),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        (suggestion("rfl", "rfl"), ""),
        (suggestion("run_tac pure ()", "rfl"), "run code"),
        (suggestion("rfl", "run_tac pure ()"), "run code"),
        (suggestion("rfl", "rfl", at=(10, 15)), "another text"),
        (suggestion("rfl", "rfl", at=(24, 99)), "another text"),
        (suggestion("rfl", "rfl", at=(29, 24)), "another text"),
    ],
)
def test_suggestions_fill_the_text_and_run_no_code(offered: Suggestion, words: str) -> None:
    task = Task("theorem a : 1 = 1 := by sorry\n")
    answer = msgspec.structs.replace(FOUND, suggestions=(offered,))
    assert words in doubt(task, answer)
    assert bool(words) == bool(doubt(task, answer))


async def test_what_is_doubted_is_not_passed_on() -> None:
    false = change(PROVED, proof="theorem qed_goal : True := by\n  trivial\n")
    with other(200, event(Answered(answer=false)), Content_Type=STREAM) as url:
        assert "another statement" in (await error_of(url)).message
