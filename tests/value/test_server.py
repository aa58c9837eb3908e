"""The encode server: what it answers, whatever it is asked and whatever its encoder does."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from burnqed.core.errors import InfrastructureError, InputError, ServerError
from burnqed.value import passes as passes_module
from burnqed.value import server as module
from burnqed.value.passes import Passes
from burnqed.value.served import ServedEncoder
from burnqed.value.server import EncodeServer
from tests.value.encode_servers import NAME, QUICK, Scripted, get, letters, post, until


def test_both_shapes_and_all_names_of_the_texts(server: EncodeServer) -> None:
    server.use(Scripted())
    rows = letters(["ab", "b"]).tolist()
    whole = {"embeddings": rows, "encoder": NAME.key}
    for key in ("text", "texts", "input"):
        assert post(server, {key: ["ab", "b"]}).json() == whole
    assert post(server, {"text": ["ab", "b"], "shape": "array"}).json() == rows
    assert post(server, {"text": ["ab", "b"], "shape": "object"}).json() == whole
    assert post(server, {"text": "ab"}).json()["embeddings"] == rows[:1]
    assert post(server, {"text": []}).json()["embeddings"] == []


def test_it_is_healthy_from_its_first_embedding_to_its_end() -> None:
    with EncodeServer() as server:
        for answer in (get(server, "/health"), get(server, "/info"), post(server, {"text": "a"})):
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "5"
        assert get(server, "/health").json() == {"status": "loading"}
        with pytest.raises(InfrastructureError, match="1 of 1 embeddings are zero"):
            server.use(Scripted(lambda _: np.zeros((1, 4), np.float32)))
        assert get(server, "/health").status_code == 503, "a model that does not work is none"
        server.use(Scripted())
        assert (get(server, "/health").status_code, get(server, "/health").json()["status"]) == (
            200,
            "ok",
        )
        about = get(server, "/info").json()
        assert about.pop("version")
        assert about == asdict(NAME)
    with pytest.raises(httpx.ConnectError):
        get(server, "/health")


def test_requests_that_wait_are_one_pass() -> None:
    scripted = Scripted()
    passes = Passes(scripted)
    scripted.go.clear()
    with ThreadPoolExecutor(6) as threads:
        first = threads.submit(passes.encode, ["first"])
        until(lambda: scripted.passes == [["first"]])
        others = [threads.submit(passes.encode, ["a" * i, "b" * i]) for i in range(5)]
        until(lambda: passes._waiting == 11)
        scripted.go.set()
        assert (first.result() == letters(["first"])).all()
        for i, other in enumerate(others):
            assert (other.result() == letters(["a" * i, "b" * i])).all()
    passes.close()
    assert [len(texts) for texts in scripted.passes] == [1, 10]


def test_a_pass_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes_module, "_PASS", 4)
    scripted = Scripted()
    passes = Passes(scripted)
    scripted.go.clear()
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(passes.encode, ["a", "b"]) for _ in range(6)]
        until(lambda: passes._waiting == 12)
        scripted.go.set()
        assert all(len(one.result()) == 2 for one in asked)
    passes.close()
    assert max(len(texts) for texts in scripted.passes) == 4


def test_what_breaks_one_request_does_not_break_those_beside_it() -> None:
    def breaks(state: str) -> Exception | None:
        return ValueError("no such state") if state == "bad" else None

    scripted = Scripted(breaks)
    passes = Passes(scripted)
    scripted.go.clear()
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(passes.encode, ["first"])
        until(lambda: len(scripted.passes) == 1)
        good, bad, better = (
            threads.submit(passes.encode, [text]) for text in ("good", "bad", "better")
        )
        until(lambda: passes._waiting == 4)
        scripted.go.set()
        assert all(len(one.result()) == 1 for one in (first, good, better))
        with pytest.raises(ValueError, match="no such state"):
            bad.result()
    passes.close()


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (np.zeros((1, 4), np.float32), "1 of 1 embeddings are zero"),
        (np.full((1, 4), np.nan, np.float32), "1 of 1 embeddings are not numbers"),
        (np.ones((1, 5), np.float32), "shape (1, 5)"),
        (np.ones((2, 4), np.float32), "2 embeddings were made of 1 texts"),
        (RuntimeError("out of memory"), "RuntimeError: out of memory"),
        (InfrastructureError("it overflows", hint="float32"), "it overflows (float32)"),
    ],
)
def test_an_encoder_that_fails_is_told_and_never_a_row_of_zeros(
    server: EncodeServer, broken: Any, told: str
) -> None:
    server.use(Scripted(lambda state: broken if state == "bad" else None))
    answer = post(server, {"text": "bad"})
    assert answer.status_code == 500
    assert told in answer.json()["error"]
    assert post(server, {"text": "good"}).status_code == 200, "and it goes on"
    with (
        ServedEncoder(server.url, limits=QUICK) as encoder,
        pytest.raises(ServerError, match="2 × 500"),
    ):
        encoder.encode(["bad"])


@pytest.mark.parametrize(
    ("content", "status", "told"),
    [
        (b"{", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        (b"", 400, "not JSON"),
        (["a"], 400, "not an object"),
        ({}, 400, 'needs "text"'),
        ({"text": "a", "input": "a"}, 400, 'needs "text"'),
        ({"text": 5}, 400, "a string, or a list of strings"),
        ({"texts": ["a", None]}, 400, '"texts" must be a string, or a list of strings'),
        ({"text": {"a": 1}}, 400, "a string, or a list of strings"),
        ({"text": "a\ud800"}, 400, "a lone surrogate"),
        ({"text": "a", "shape": "round"}, 400, '"shape" must be'),
        ({"text": "a", "shape": ["array"]}, 400, '"shape" must be'),
        ({"text": ["a"] * 4097}, 413, "4097 texts are too many"),
    ],
)
def test_bad_requests_are_told_what_is_wrong(
    server: EncodeServer, content: Any, status: int, told: str
) -> None:
    scripted = Scripted()
    server.use(scripted)
    answer = post(server, content)
    assert (answer.status_code, told in answer.json()["error"]) == (status, True), answer.text
    assert len(scripted.passes) == 1, "and the encoder was not asked"


def test_a_connection_goes_on_after_a_bad_request(server: EncodeServer) -> None:
    server.use(Scripted())
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        assert client.post("/nowhere", json={"text": "a"}).status_code == 404
        assert client.get("/encode").status_code == 404
        assert client.post("/encode", content=b"?").status_code == 400
        assert client.post("/encode", json={"text": "a"}).status_code == 200


def test_a_request_that_is_too_large_or_of_unknown_length(
    server: EncodeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.use(Scripted())
    monkeypatch.setattr(module, "MOST_BYTES", 2**20)
    answer = post(server, {"text": "a" * 2**23})
    assert (answer.status_code, answer.headers["Connection"]) == (413, "close")
    chunks = httpx.post(f"{server.url}/encode", content=iter([b'{"text"', b': "a"}']), trust_env=False)
    assert chunks.status_code == 411
    for length in ("-1", "1e3", "²", "9" * 5000):
        with connected(server) as wire:
            wire.sendall(
                f"POST /encode HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()
            )
            wire.shutdown(socket.SHUT_WR)
            assert wire.recv(100).split()[1] == b"400"
    assert post(server, {"text": "a"}).status_code == 200


def connected(server: EncodeServer) -> socket.socket:
    parts = urlsplit(server.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def test_clients_that_go_away_are_no_trouble(
    server: EncodeServer, capfd: pytest.CaptureFixture[str]
) -> None:
    scripted = Scripted()
    server.use(scripted)
    scripted.go.clear()
    ask = b"POST /encode HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
    body = json.dumps({"text": ["a"] * 4096}).encode()
    for sent in (ask % (len(body), body), ask % (len(body), body[:20]), b"GARBAGE\r\n\r\n", b"POST"):
        wire = connected(server)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
        wire.sendall(sent)
        if sent == ask % (len(body), body):
            until(lambda: len(scripted.passes) == 2)
        wire.close()
    scripted.go.set()
    assert post(server, {"text": "a"}).status_code == 200
    assert "Traceback" not in capfd.readouterr().err


def test_too_much_at_once_is_put_off(server: EncodeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes_module, "MOST_WAITING", 3)
    scripted = Scripted()
    server.use(scripted)
    assert post(server, {"text": ["a"] * 4}).status_code == 200, "nothing else was waiting"
    scripted.go.clear()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(post, server, {"text": ["a", "b"]})
        until(lambda: len(scripted.passes) == 3)
        answer = post(server, {"text": ["c", "d"]})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert "2 texts are already waiting" in answer.json()["error"]
        scripted.go.set()
        assert first.result().status_code == 200
    assert post(server, {"text": ["c", "d"]}).status_code == 200


def test_what_was_asked_before_the_end_is_answered() -> None:
    server, scripted = EncodeServer(), Scripted()
    server.use(scripted)
    scripted.go.clear()
    with (
        ThreadPoolExecutor(3) as threads,
        httpx.Client(base_url=server.url, trust_env=False) as client,
    ):
        assert client.get("/health").status_code == 200
        asked = [threads.submit(post, server, {"text": text}) for text in ("a", "b")]
        until(lambda: server._answering == 2)
        end = threads.submit(server.close)
        until(lambda: server.ending)
        late = client.post("/encode", json={"text": "c"})
        assert (late.status_code, late.headers["Connection"]) == (503, "close")
        assert not end.done()
        scripted.go.set()
        assert [one.result().status_code for one in asked] == [200, 200]
        end.result(20)


def test_a_port_that_is_taken_is_told(server: EncodeServer) -> None:
    port = urlsplit(server.url).port
    with pytest.raises(InputError, match=f"port {port}: .*in use") as caught:
        EncodeServer(port=port or 0)
    assert "--port" in caught.value.hint
    with pytest.raises(InputError, match="cannot listen on 192"):
        EncodeServer("192.0.2.1")
