"""An encoder behind HTTP: both sides against each other, and each against one that misbehaves."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from burnqed.core.errors import InfrastructureError, InputError, ServerError, SetupError
from burnqed.policy.http import Limits
from burnqed.policy.models.load import Loaded, load
from burnqed.policy.prompt import FORMATS, PromptSettings, prompt_text
from burnqed.value import served as client_module
from burnqed.value import server as module
from burnqed.value.encoder import Embeddings, EncoderName, LocalEncoder, Pooling
from burnqed.value.served import ServedEncoder
from burnqed.value.server import EncodeServer, Passes
from tests.policy import servers
from tests.policy.servers import Asked, Handler, Reply, in_turn, nobody, serve
from tests.policy.tiny import tiny_llama

STATES = [f"n : Nat\nh : n < {i}\n⊢ " + "n + " * (i % 7) + f"0 < {i}" for i in range(60)]
NAME = EncoderName("weights", "colons 96", "mean", "float32", 4)
QUICK = Limits(silence=0.3, whole=2.0, attempts=2, first_wait=0.01)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def models(directory: Path) -> tuple[Loaded, Loaded]:
    """One for the server's thread and one for the test's."""
    settings = PromptSettings("colons", 96, 8)
    one, other = (replace(load(directory, "cpu"), settings=settings) for _ in range(2))
    return one, other


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


@pytest.fixture
def server() -> Iterator[EncodeServer]:
    with EncodeServer() as this:
        yield this


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


# ------------------------------------------------------------------------- both together


@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_what_is_served_is_what_is_computed_here_bit_for_bit(
    server: EncodeServer, models: tuple[Loaded, Loaded], pooling: Pooling
) -> None:
    local = LocalEncoder(models[0], pooling)
    server.use(LocalEncoder(models[1], pooling))
    with ServedEncoder(server.url) as encoder:
        assert encoder.name == local.name
        rows = encoder.encode(STATES)
        assert rows.dtype == np.float32
        assert rows.tobytes() == local.encode(STATES).tobytes()
        assert encoder.encode([]).shape == (0, 32)
    with ServedEncoder(server.url, local.name) as encoder:
        assert encoder.encode(["⊢ True"]) == pytest.approx(local.encode(["⊢ True"]))


def test_more_states_than_a_request_has_come_back_in_their_order(
    server: EncodeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = Scripted()
    server.use(scripted)
    monkeypatch.setattr(client_module, "_BATCH", 7)
    monkeypatch.setattr(client_module, "_BYTES", 90)
    states = ["ab" * (i * 37 % 50) + "b" * i for i in range(100)]
    with ServedEncoder(server.url) as encoder:
        assert (encoder.encode(states) == letters(states)).all()
    sent = [len(texts) for texts in scripted.passes]
    assert len(sent) > 100 // 7, "in requests of few states each"


def test_several_threads_ask_one_client(server: EncodeServer) -> None:
    server.use(Scripted())
    with ServedEncoder(server.url) as encoder, ThreadPoolExecutor(8) as threads:
        asked = [["a" * i, "b" * i] for i in range(40)]
        answers = list(threads.map(encoder.encode, asked))
    assert all((rows == letters(a)).all() for rows, a in zip(answers, asked, strict=True))


def test_a_client_waits_for_a_server_that_loads(server: EncodeServer) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            server.use(Scripted())

    with ServedEncoder(server.url, sleep=sleep) as encoder:
        assert (encoder.encode(["ab"]) == letters(["ab"])).all()
    assert waits == [5, 5], "as long as the server says"
    with EncodeServer() as other:
        with pytest.raises(ServerError, match="3 × 503 loading") as caught:
            ServedEncoder(other.url, sleep=lambda _: asyncio.sleep(0))
        assert "running" in caught.value.hint


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (replace(NAME, dtype="bfloat16"), "dtype is float32, and bfloat16 is wanted"),
        (replace(NAME, pooling="last"), "pooling is mean, and last is wanted"),
        (replace(NAME, model="w2"), "model is weights, and w2 is wanted"),
        (replace(NAME, prompt="colons 64"), "prompt is colons 96, and colons 64 is wanted"),
        (replace(NAME, width=8, dtype="nf4"), "dtype is float32, and nf4 is wanted; width is 4"),
    ],
)
def test_another_encoder_than_in_training_is_refused(
    server: EncodeServer, other: EncoderName, told: str
) -> None:
    server.use(Scripted())
    with pytest.raises(InputError, match=told) as caught:
        ServedEncoder(server.url, other)
    assert "precision" in caught.value.hint


def test_a_server_that_is_another_one_later_is_noticed() -> None:
    with EncodeServer() as before:
        before.use(Scripted())
        encoder = ServedEncoder(before.url, sleep=lambda _: asyncio.sleep(0))
        encoder.encode(["a"])
    port = urlsplit(before.url).port or 0
    with EncodeServer(port=port) as same:
        same.use(Scripted())
        assert len(encoder.encode(["a"])) == 1
    with encoder, EncodeServer(port=port) as after:
        retrained = Scripted()
        retrained.name = replace(NAME, model="w2")
        after.use(retrained)
        with pytest.raises(ServerError, match="which was there first"):
            encoder.encode(["a"])


# ---------------------------------------------------------------------------- the server


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
    monkeypatch.setattr(module, "_PASS", 4)
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
        (np.full((1, 4), np.nan, np.float32), "1 of 1 embeddings are no numbers"),
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
        (b"{", 400, "no JSON"),
        (b"\xff\xfe", 400, "no JSON"),
        (b"[" * 100_000, 400, "no JSON"),
        (b"", 400, "no JSON"),
        (["a"], 400, "no object"),
        ({}, 400, 'needs "text"'),
        ({"text": "a", "input": "a"}, 400, 'needs "text"'),
        ({"text": 5}, 400, "a string, or a list of strings"),
        ({"texts": ["a", None]}, 400, '"texts" is a string, or a list of strings'),
        ({"text": {"a": 1}}, 400, "a string, or a list of strings"),
        ({"text": "a\ud800"}, 400, "half of a character"),
        ({"text": "a", "shape": "round"}, 400, '"shape" is'),
        ({"text": "a", "shape": ["array"]}, 400, '"shape" is'),
        ({"text": ["a"] * 4097}, 413, "4097 texts came"),
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
            wire.sendall(f"POST /encode HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode())
            wire.shutdown(socket.SHUT_WR)
            assert wire.recv(100).split()[1] in (b"411", b"413")
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
    ask = b"POST /encode HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s"
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
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    scripted = Scripted()
    server.use(scripted)
    assert post(server, {"text": ["a"] * 4}).status_code == 200, "nothing else was waiting"
    scripted.go.clear()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(post, server, {"text": ["a", "b"]})
        until(lambda: len(scripted.passes) == 3)
        answer = post(server, {"text": ["c", "d"]})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert "2 texts are waiting" in answer.json()["error"]
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


# ------------------------------------------------------------- the client, and other servers


def ours(*answers: Reply | Handler) -> Handler:
    """A server that says it is ours and answers as it is told, from the second request on."""
    encode = in_turn(lambda asked: fine(asked), *answers)
    return lambda asked: Reply(asdict(NAME)) if asked.path == "/info" else encode(asked)


def fine(asked: Asked) -> Reply:
    return Reply({"embeddings": letters(asked.body["text"]).tolist(), "encoder": NAME.key})


def said(rows: Any) -> Reply:
    return Reply({"embeddings": rows, "encoder": NAME.key})


async def encoded(
    handler: Handler, states: Sequence[str] = ("ab", "b"), name: EncoderName | None = None
) -> tuple[Embeddings, servers.Server]:
    def work(url: str) -> Embeddings:
        with ServedEncoder(url, name, QUICK) as encoder:
            return encoder.encode(states)

    async with serve(handler) as server:
        return await asyncio.to_thread(work, server.url), server


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (said([[0, 0, 0, 0], [1, 2, 3, 4]]), "1 of 2 embeddings are zero"),
        (said([[float("nan"), 0, 0, 0], [1, 2, 3, 4]]), "1 of 2 embeddings are no numbers"),
        (said([[1e300, 0, 0, 0], [1, 2, 3, 4]]), "1 of 2 embeddings are no numbers"),
        (said([[None, 0, 0, 0], [1, 2, 3, 4]]), "embeddings are no numbers"),
        (said([["1", "2", "3", "4"]] * 2), "embeddings are no numbers"),
        (said([[True] * 4] * 2), "embeddings are no numbers"),
        (said([[1, 2, 3]] * 2), "the shape"),
        (said([[1, 2, 3, 4], [1, 2, 3]]), "not of one width"),
        (said([1, 2]), "the shape"),
        (said([[1, 2, 3, 4]]), "1 embeddings came where 2 were asked for"),
        (said([[1, 2, 3, 4]] * 3), "3 embeddings came where 2 were asked for"),
        (said([]), "0 embeddings came"),
        (said("rows"), "a list of embeddings was expected"),
        (said([{"vector": [1, 2, 3, 4]}] * 2), "embeddings are no numbers"),
        (Reply({"embeddings": [[1, 2, 3, 4]] * 2}), "which was there first"),
        (Reply([[1, 2, 3, 4]] * 2), "which was there first"),
        (Reply({"error": "busy"}, 503), "2 × 503 busy"),
        (Reply(b"{..."), "2 × the answer is no JSON"),
        (Reply(manner="frozen"), "2 × not a byte moved for 0.3 s"),
        (replace(said([[1, 2, 3, 4]] * 2), manner="stuck"), "2 × not a byte moved"),
        (replace(said([[1, 2, 3, 4]] * 2), manner="cut"), "2 × the answer broke off"),
        (replace(said([[1 / 3] * 4] * 2), manner="drip"), "the time for it, 2 s, was over"),
    ],
)
async def test_a_server_that_misbehaves_is_an_error(answer: Reply, told: str) -> None:
    with pytest.raises(ServerError) as caught:
        await encoded(ours(answer))
    assert told in caught.value.message
    assert "/encode" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("trouble", [Reply("busy", 503), Reply(b"{}x"), Reply("x", manner="cut")])
async def test_trouble_that_passes_is_waited_for(trouble: Reply) -> None:
    rows, server = await encoded(ours(trouble, fine))
    assert (rows == letters(["ab", "b"])).all()
    assert len(server.bodies("/encode")) == 3


async def test_a_server_that_does_not_work_is_known_at_once() -> None:
    def zeros(asked: Asked) -> Reply:
        return Reply(asdict(NAME)) if asked.path == "/info" else said([[0, 0, 0, 0]])

    async with serve(zeros) as server:
        with pytest.raises(ServerError, match="zero"):
            await asyncio.to_thread(ServedEncoder, server.url, None, QUICK)
    for url, kind, told in (
        (nobody(), ServerError, "no connection"),
        ("localhost:8100", InputError, "no URL of a server"),
    ):
        with pytest.raises(kind, match=told):
            await asyncio.to_thread(ServedEncoder, url, None, QUICK)


async def test_a_request_that_is_refused_is_an_error_of_the_input() -> None:
    with pytest.raises(InputError, match="400 too long"):
        await encoded(ours(Reply({"error": "too long"}, 400)))


def foreign(shape: Callable[[list[list[float]]], Any], about: Reply | None = None) -> Handler:
    """A server that is not ours: it has no /info, or another one."""

    def handler(asked: Asked) -> Reply:
        if asked.path == "/info":
            return about or Reply({"detail": "Not Found"}, 404)
        return Reply(shape(letters(asked.body["text"]).tolist()))

    return handler


SHAPES: dict[str, Callable[[list[list[float]]], Any]] = {
    "ours": lambda rows: {"embeddings": rows},
    "array": lambda rows: rows,
    "sglang": lambda rows: [{"embedding": row, "meta_info": {"prompt_tokens": 7}} for row in rows],
    "openai": lambda rows: {"data": [{"embedding": r, "index": i} for i, r in enumerate(rows)][::-1]},
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_server_that_is_not_ours_is_sent_prompts(shape: str) -> None:
    rows, server = await encoded(foreign(SHAPES[shape]), name=NAME)
    prompts = [prompt_text(FORMATS["colons"], state) for state in ("ab", "b")]
    assert server.bodies("/encode")[-1] == {"text": prompts}
    assert (rows == letters(prompts)).all()


@pytest.mark.parametrize("about", [None, Reply({"model_id": "bert", "dtype": "float16"}), Reply([])])
async def test_a_server_that_is_not_ours_has_to_be_named(about: Reply | None) -> None:
    handler = foreign(SHAPES["sglang"], about)
    with pytest.raises(InputError, match="does not say which encoder it is") as caught:
        await encoded(handler)
    assert "serve encode" in caught.value.hint
    rows, _ = await encoded(handler, name=NAME)
    assert rows.shape == (2, 4)
    with pytest.raises(InputError, match="no way to ask"):
        await encoded(handler, name=replace(NAME, prompt="colons"))


@pytest.mark.parametrize("indices", [(0, 0), (1, 2), (0, None)])
async def test_embeddings_of_nobody_knows_what_are_refused(indices: tuple[Any, Any]) -> None:
    def shape(rows: list[list[float]]) -> Any:
        if len(rows) == 1:
            return {"data": [{"embedding": rows[0], "index": 0}]}
        return {"data": [{"embedding": r, "index": i} for i, r in zip(indices, rows, strict=True)]}

    with pytest.raises(ServerError, match="the indices"):
        await encoded(foreign(shape), name=NAME)


# ----------------------------------------------------------------------------- four bits


def test_four_bits_are_of_whole_weights_and_need_a_package(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(SetupError, match="needs bitsandbytes") as caught:
        load(directory, "cpu", "nf4")
    assert "pip install bitsandbytes" in caught.value.hint
    monkeypatch.setitem(sys.modules, "bitsandbytes", ModuleType("bitsandbytes"))
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="no directory of whole weights"):
        load(tmp_path, "cpu", "nf4")


@pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="bitsandbytes is not installed")
def test_four_bits_are_another_encoder(server: EncodeServer, tmp_path: Path) -> None:
    path = tiny_llama(tmp_path, hidden=64)  # blocks of 64 weights are what is quantised
    whole, four = (LocalEncoder(load(path, "cpu", dtype)) for dtype in ("float32", "nf4"))
    assert four.name == replace(whole.name, dtype="nf4")
    server.use(four)
    with pytest.raises(InputError, match="dtype is nf4, and float32 is wanted"):
        ServedEncoder(server.url, whole.name)
    with ServedEncoder(server.url, four.name) as encoder:
        ours, theirs = encoder.encode(STATES), whole.encode(STATES)
    alike = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert (alike > 0.8).all()
    assert not np.allclose(ours, theirs)
