"""Embeddings from a server: ours, others, and those that misbehave."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from burnqed.core.errors import InputError, ServerError, SetupError
from burnqed.policy.models.load import Loaded, load
from burnqed.policy.prompt import FORMATS, PromptSettings, prompt_text
from burnqed.value import served as client_module
from burnqed.value.encoder import Embeddings, EncoderName, LocalEncoder, Pooling
from burnqed.value.served import ServedEncoder
from burnqed.value.server import EncodeServer
from tests.policy import servers
from tests.policy.servers import Asked, Handler, Reply, in_turn, nobody, serve
from tests.policy.tiny import tiny_llama
from tests.value.encode_servers import NAME, QUICK, Scripted, letters

STATES = [f"n : Nat\nh : n < {i}\n⊢ " + "n + " * (i % 7) + f"0 < {i}" for i in range(60)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def models(directory: Path) -> tuple[Loaded, Loaded]:
    """One for the server's thread and one for the test's."""
    settings = PromptSettings("colons", 96, 8)
    one, other = (replace(load(directory, "cpu"), settings=settings) for _ in range(2))
    return one, other


# -------------------------------------------------------------------------------- both together


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
        (replace(NAME, dtype="bfloat16"), "dtype is float32, but should be bfloat16"),
        (replace(NAME, pooling="last"), "pooling is mean, but should be last"),
        (replace(NAME, model="w2"), "model is weights, but should be w2"),
        (replace(NAME, prompt="colons 64"), "prompt is colons 96, but should be colons 64"),
        (replace(NAME, width=8, dtype="nf4"), "dtype is float32, but should be nf4; width is 4, but"),
    ],
)
def test_another_encoder_than_in_training_is_refused(
    server: EncodeServer, other: EncoderName, told: str
) -> None:
    server.use(Scripted())
    with pytest.raises(InputError, match=told) as caught:
        ServedEncoder(server.url, other)
    assert "--dtype" in caught.value.hint


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
        with pytest.raises(ServerError, match="but it was"):
            encoder.encode(["a"])


# ---------------------------------------------------------------- the client, and other servers


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
        (said([[float("nan"), 0, 0, 0], [1, 2, 3, 4]]), "1 of 2 embeddings are not numbers"),
        (said([[1e300, 0, 0, 0], [1, 2, 3, 4]]), "1 of 2 embeddings are not numbers"),
        (said([[None, 0, 0, 0], [1, 2, 3, 4]]), "embeddings are not numbers"),
        (said([["1", "2", "3", "4"]] * 2), "embeddings are not numbers"),
        (said([[True] * 4] * 2), "embeddings are not numbers"),
        (said([[1, 2, 3]] * 2), "the shape"),
        (said([[1, 2, 3, 4], [1, 2, 3]]), "differ in width"),
        (said([1, 2]), "the shape"),
        (said([[1, 2, 3, 4]]), "1 embeddings came for 2 states"),
        (said([[1, 2, 3, 4]] * 3), "3 embeddings came for 2 states"),
        (said([]), "0 embeddings came"),
        (said("rows"), "a list of embeddings was expected"),
        (said([{"vector": [1, 2, 3, 4]}] * 2), "embeddings are not numbers"),
        (Reply({"embeddings": [[1, 2, 3, 4]] * 2}), "but it was"),
        (Reply([[1, 2, 3, 4]] * 2), "but it was"),
        (Reply({"error": "busy"}, 503), "2 × 503 busy"),
        (Reply(b"{..."), "2 × the answer is not JSON"),
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
        ("localhost:8100", InputError, "not a URL of a server"),
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
    with pytest.raises(InputError, match="does not report its encoder") as caught:
        await encoded(handler)
    assert "serve encode" in caught.value.hint
    rows, _ = await encoded(handler, name=NAME)
    assert rows.shape == (2, 4)
    with pytest.raises(InputError, match="is not a prompt format"):
        await encoded(handler, name=replace(NAME, prompt="colons"))


@pytest.mark.parametrize("indices", [(0, 0), (1, 2), (0, None)])
async def test_embeddings_of_nobody_knows_what_are_refused(indices: tuple[Any, Any]) -> None:
    def shape(rows: list[list[float]]) -> Any:
        if len(rows) == 1:
            return {"data": [{"embedding": rows[0], "index": 0}]}
        return {"data": [{"embedding": r, "index": i} for i, r in zip(indices, rows, strict=True)]}

    with pytest.raises(ServerError, match="the indices"):
        await encoded(foreign(shape), name=NAME)


# ------------------------------------------------------------------------------------ four bits


def test_four_bits_are_of_whole_weights_and_need_a_package(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(SetupError, match="needs bitsandbytes") as caught:
        load(directory, "cpu", "nf4")
    assert "pip install bitsandbytes" in caught.value.hint
    monkeypatch.setitem(sys.modules, "bitsandbytes", ModuleType("bitsandbytes"))
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="not a directory of whole weights"):
        load(tmp_path, "cpu", "nf4")


@pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="bitsandbytes is not installed")
def test_four_bits_are_another_encoder(server: EncodeServer, tmp_path: Path) -> None:
    path = tiny_llama(tmp_path, hidden=64)  # blocks of 64 weights are what is quantised
    whole, four = (LocalEncoder(load(path, "cpu", dtype)) for dtype in ("float32", "nf4"))
    assert four.name == replace(whole.name, dtype="nf4")
    server.use(four)
    with pytest.raises(InputError, match="dtype is nf4, but should be float32"):
        ServedEncoder(server.url, whole.name)
    with ServedEncoder(server.url, four.name) as encoder:
        ours, theirs = encoder.encode(STATES), whole.encode(STATES)
    alike = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert (alike > 0.8).all()
    assert not np.allclose(ours, theirs)
