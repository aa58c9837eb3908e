"""An OpenAI-compatible server: ours in every shape, and a real one, `transformers serve`."""

from __future__ import annotations

import asyncio
import json
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError, PromptRefused, ServerError
from burnqed.core.types import Goal
from burnqed.policy.candidates import Sample
from burnqed.policy.openai import OpenAIConfig, OpenAISampler
from burnqed.policy.prompt import FORMATS, PromptSettings, prompt_text
from burnqed.policy.sampled import Request, SampledPolicy
from tests.policy import servers
from tests.policy.servers import Asked, Handler, Reply, Server, in_turn, serve

DEEPSEEK = FORMATS["deepseek"]


@asynccontextmanager
async def asking(handler: Handler, **config: Any) -> AsyncIterator[tuple[OpenAISampler, Server]]:
    async def at_once(_: float) -> None:
        pass

    async with serve(handler) as server:
        options = {"url": server.url, "model": "tiny", **config}
        sampler = OpenAISampler(OpenAIConfig(**options), sleep=at_once)
        try:
            yield sampler, server
        finally:
            await sampler.close()


def sample(state: str, *of: object) -> Sample:
    """What the well-behaved server must be understood to have said."""
    this = servers.said(prompt_text(DEEPSEEK, state), *of)
    return Sample(this.text, math.fsum(this.logprobs), len(this.logprobs), this.reason == "stop")


@pytest.mark.parametrize("form", ["openai", "llama.cpp"])
async def test_equal_wishes_share_a_request(form: Any) -> None:
    wishes = {"a": (3, 1.0), "b": (3, 1.0), "c": (2, 0.7), "d": (3, 1.0)}
    requests = [Request(state, n, temperature, 5) for state, (n, temperature) in wishes.items()]
    async with asking(servers.openai(form=form)) as (sampler, server):
        answers = await servers.samples_of(sampler, requests)
    assert answers == [[sample(r.state, 5, draw) for draw in range(r.n)] for r in requests]
    large, small = sorted(server.bodies("/v1/completions"), key=lambda body: -len(body["prompt"]))
    assert large["prompt"] == [prompt_text(DEEPSEEK, state) for state in "abd"]
    assert (large["n"], large["temperature"], large["seed"]) == (3, 1.0, 5)
    assert (small["n"], small["temperature"], len(small["prompt"])) == (2, 0.7, 1)
    assert large["stop"] == list(DEEPSEEK.stops)
    assert (large["max_tokens"], large["top_p"], large["logprobs"]) == (128, 1.0, 1)
    assert large["model"] == "tiny"


async def test_one_prompt_at_a_time() -> None:
    requests = [Request("a", 3, 1.0, 5), Request("b", 30, 0.5, 5)]
    async with asking(servers.openai(single=True), batched=False) as (sampler, server):
        answers = await servers.samples_of(sampler, requests)
        again = await servers.samples_of(sampler, requests)
    bodies = server.bodies("/v1/completions")
    assert [len(samples) for samples in answers] == [3, 30]
    assert len({body["seed"] for body in bodies}) == 33
    assert all(isinstance(body["prompt"], str) and "n" not in body for body in bodies)
    prompt = prompt_text(DEEPSEEK, "a")
    seeds = [body["seed"] for body in bodies if body["prompt"] == prompt][:3]
    assert sorted(answers[0], key=repr) == sorted((sample("a", seed, 0) for seed in seeds), key=repr)
    assert answers == again
    assert 1 < server.most <= 16


async def test_without_log_probabilities() -> None:
    async with asking(servers.openai(form="none"), logprobs=False) as (sampler, server):
        (answers,) = await servers.samples_of(sampler, [Request("a", 4, 1.0, 5)])
        policy = SampledPolicy(sampler)
        (found,) = await policy.propose([[Goal("g", "p")]], 8, 1.0, 5)
    assert [(s.text, s.ended) for s in answers] == [
        (sample("a", 5, draw).text, sample("a", 5, draw).ended) for draw in range(4)
    ]
    assert found
    assert [c.logprob for c in found] == pytest.approx([-math.log(len(found))] * len(found)), "alike"
    assert not any("logprobs" in body for body in server.bodies("/v1/completions"))


async def test_more_for_the_server() -> None:
    async with asking(servers.openai(), extra={"top_k": -1}) as (sampler, server):
        await servers.samples_of(sampler, [Request("a", 1, 1.0, 0)])
    assert server.bodies("/v1/completions")[0]["top_k"] == -1


async def test_the_only_model_needs_no_name() -> None:
    async with asking(servers.openai(), model=None) as (sampler, server):
        await servers.samples_of(sampler, [Request("a", 1, 1.0, 0)])
    assert server.bodies("/v1/completions")[0]["model"] == "tiny"
    two = {"data": [{"id": "tiny"}, {"id": "large"}]}
    async with asking(servers.openai(models=two), model=None) as (sampler, _):
        with pytest.raises(InputError, match="needs the name of a model") as caught:
            await sampler.check()
        assert caught.value.hint == "it serves tiny, large"


async def test_several_at_temperature_0_are_refused() -> None:
    async with asking(servers.openai()) as (sampler, _):
        assert len((await servers.samples_of(sampler, [Request("a", 1, 0.0, 0)]))[0]) == 1
        with pytest.raises(InputError, match="one candidate"):
            await servers.samples_of(sampler, [Request("a", 2, 0.0, 0)])


async def test_where_the_server_is() -> None:
    async with serve(servers.openai()) as server:
        for url in (server.url, f"{server.url}/", f"{server.url}/v1", f"{server.url}/v1/"):
            sampler = OpenAISampler(OpenAIConfig(url=url))
            assert await sampler.check() == ()
            await sampler.close()
    assert {asked.path for asked in server.asked} == {"/v1/models", "/v1/completions"}


async def test_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    async with asking(servers.openai()) as (sampler, server):
        await sampler.check()
    assert all(asked.headers["authorization"] == "Bearer secret" for asked in server.asked)


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:abc"])
def test_a_url_that_is_none(url: str) -> None:
    with pytest.raises(InputError, match="not a URL"):
        OpenAISampler(OpenAIConfig(url=url))


def test_a_key_that_cannot_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "schlüssel")
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        OpenAISampler(OpenAIConfig())


@pytest.mark.parametrize("batched", [True, False])
async def test_prompts_that_are_refused(batched: bool) -> None:
    """One is taken when it is shorter, one never; the others are not concerned."""
    long = "⊢ " + "x" * 1000
    requests = [Request(state, 2, 1.0, 5) for state in ("⊢ a", long, "⊢ ☠", "⊢ b")]
    handler = servers.choosy(
        servers.openai(single=not batched), lambda prompt: "☠" in prompt or len(prompt) > 600
    )
    async with serve(handler) as server:
        config = OpenAIConfig(url=server.url, model="tiny", batched=batched)
        sampler = OpenAISampler(config)
        answers = await sampler.sample(requests)
        assert isinstance(answers[2], PromptRefused)
        assert [len(a) for a in answers if not isinstance(a, PromptRefused)] == [2, 2, 2]
        if batched:
            assert answers[0] == [sample("⊢ a", 5, draw) for draw in range(2)]
        await sampler.close()


async def test_what_is_refused_whatever_the_state() -> None:
    """Three samples are too many for it: a state without them would be none the better."""
    behaved = servers.openai()

    def handler(asked: Asked) -> Reply:
        return Reply("n is too large", 400) if asked.body["n"] > 2 else behaved(asked)

    async with asking(handler) as (sampler, _):
        assert len((await servers.samples_of(sampler, [Request("a", 2, 1.0, 0)]))[0]) == 2
        with pytest.raises(InputError, match="n is too large"):
            await servers.samples_of(sampler, [Request("a", 2, 1.0, 0), Request("b", 3, 1.0, 0)])


# --------------------------------------------------------------------- answers that are not


def choice(index: Any = 0, **other: Any) -> dict[str, Any]:
    logprobs = {"token_logprobs": [-1.0, -0.5]}
    return {"index": index, "text": "simp", "finish_reason": "stop", "logprobs": logprobs, **other}


def with_logprobs(*values: Any) -> dict[str, Any]:
    return choice(1, logprobs={"token_logprobs": list(values)})


WRONG: dict[str, tuple[Any, str]] = {
    "a list": ([choice(), choice(1)], "choices were expected"),
    "no choices": ({"error": "?"}, "choices were expected"),
    "strings": ({"choices": ["simp", "rfl"]}, "choices were expected"),
    "too few": ({"choices": [choice()]}, "1 choices came where 2 were asked for"),
    "too many": ({"choices": [choice(i) for i in range(3)]}, "3 choices came"),
    "the same twice": ({"choices": [choice(), choice()]}, "numbered [0, 0]"),
    "other numbers": ({"choices": [choice(1), choice(2)]}, "numbered [1, 2]"),
    "no numbers": ({"choices": [choice(None), choice(1)]}, "numbered [None, 1]"),
    "no text": ({"choices": [choice(), choice(1, text=None)]}, "not text"),
    "filtered": ({"choices": [choice(), choice(1, finish_reason="content_filter")]}, "content_filter"),
    "no logprobs": ({"choices": [choice(), choice(1, logprobs=None)]}, "without log-probabilities"),
    "null logprobs": (
        {"choices": [choice(), choice(1, logprobs={"token_logprobs": None})]},
        "without log-probabilities",
    ),
    "empty logprobs": ({"choices": [choice(), with_logprobs()]}, "no log-probabilities for 'simp'"),
    "nan": ({"choices": [choice(), with_logprobs(-1.0, math.nan)]}, "token is nan"),
    "positive": ({"choices": [choice(), with_logprobs(0.7)]}, "token is 0.7"),
    "null": ({"choices": [choice(), with_logprobs(None)]}, "token is None"),
    "odd content": (
        {"choices": [choice(), choice(1, logprobs={"content": ["x"]})]},
        "token is None",
    ),
}


@pytest.mark.parametrize("case", WRONG)
async def test_an_answer_that_nobody_can_use(case: str) -> None:
    answer, what = WRONG[case]
    async with asking(in_turn(Reply(answer))) as (sampler, server):
        with pytest.raises(ServerError) as caught:
            await servers.samples_of(sampler, [Request("a", 2, 1.0, 0)])
        assert what in caught.value.message
        assert f"{server.url}/v1/completions" in caught.value.message
        assert len(server.asked) == 1, "it is not asked again"


async def test_a_tactic_that_ends_before_it_begins() -> None:
    async with asking(in_turn(Reply({"choices": [choice(text="", logprobs=None)]}))) as (sampler, _):
        assert await servers.samples_of(sampler, [Request("a", 1, 1.0, 0)]) == [[Sample("", 0.0, 0)]]


async def test_one_group_that_fails_stops_the_others() -> None:
    def handler(asked: Asked) -> Reply:
        return Reply(manner="frozen") if asked.body["n"] == 2 else Reply("wrong", 404)

    async with asking(handler) as (sampler, _), asyncio.timeout(5):
        with pytest.raises(InputError, match="404 wrong"):
            await servers.samples_of(sampler, [Request("a", 2, 1.0, 0), Request("b", 3, 1.0, 0)])


# ----------------------------------------------------------------------- before a search begins


@pytest.mark.parametrize("form", ["openai", "llama.cpp"])
async def test_a_server_that_is_well(form: Any) -> None:
    async with asking(servers.openai(form=form)) as (sampler, _):
        assert await sampler.check() == ()


@pytest.mark.parametrize("form", ["openai", "llama.cpp"])
async def test_log_probabilities_at_the_temperature_are_noticed(form: Any) -> None:
    async with asking(servers.openai(form=form, scaled=True)) as (sampler, _):
        (note,) = await sampler.check()
    assert "at the temperature of sampling" in note


async def test_a_server_that_does_not_sample_is_noticed() -> None:
    def handler(asked: Asked) -> Reply:
        if asked.path == "/v1/models":
            return Reply(servers.MODELS)
        return Reply({"choices": [choice()]})

    async with asking(handler, batched=False) as (sampler, _):
        (note,) = await sampler.check()
    assert "do_sample" in note


async def test_another_model() -> None:
    async with asking(servers.openai(), model="large") as (sampler, _):
        with pytest.raises(InputError, match=r"404 The model `large` does not exist") as caught:
            await sampler.check()
        assert "it serves tiny" in caught.value.hint


async def test_a_server_for_one_prompt_at_a_time_is_told_from_others() -> None:
    requests = [Request("a", 2, 1.0, 5), Request("b", 1, 1.0, 5)]
    async with asking(servers.openai(single=True)) as (sampler, _):
        await sampler.check()
        assert [len(samples) for samples in await servers.samples_of(sampler, requests)] == [2, 1]
    async with asking(servers.openai(single=True), batched=True) as (sampler, _):
        with pytest.raises(InputError, match=r"prompt must be a string"):
            await sampler.check()


async def test_a_server_without_log_probabilities() -> None:
    async with asking(servers.openai(form="none")) as (sampler, _):
        with pytest.raises(ServerError, match="without log-probabilities") as caught:
            await sampler.check()
        assert "--no-logprobs" in caught.value.hint
    async with asking(servers.openai(form="none"), logprobs=False) as (sampler, _):
        assert await sampler.check() == ()


async def test_a_server_that_cannot_list_its_models() -> None:
    behaved = servers.openai()

    def handler(asked: Asked) -> Reply:
        return Reply("oops", 500) if asked.path == "/v1/models" else behaved(asked)

    async with asking(handler) as (sampler, _):
        assert await sampler.check() == (), "the name was given"
    async with asking(handler, model=None) as (sampler, _):
        with pytest.raises(ServerError, match="500 oops"):
            await sampler.check()


async def test_a_server_with_chats_only() -> None:
    async with asking(in_turn(Reply(servers.MODELS), Reply({"detail": "Not Found"}, 404))) as (
        sampler,
        _,
    ):
        with pytest.raises(InputError, match="/v1/completions refuses the request: 404 Not Found"):
            await sampler.check()


# ------------------------------------------------------------------------------ a real server


@pytest.fixture(scope="module")
def transformers_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """`transformers serve` with a tiny random model, in a process of its own: its URL and the model."""
    from tests.policy.tiny import tiny_llama

    folder = tmp_path_factory.mktemp("served")
    model = tiny_llama(folder / "model")
    settings = model / "generation_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "do_sample": True, "top_k": 0}))
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", *options]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder), "OMP_NUM_THREADS": "1"}
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        _wait_for(port, process, log)
        yield f"http://127.0.0.1:{port}", str(model)
    finally:
        process.kill()
        process.wait(10)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        with closing(socket.socket()) as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"transformers serve did not start: {log.read_text()[-2000:]}")


@asynccontextmanager
async def asking_transformers(served: tuple[str, str], **config: Any) -> AsyncIterator[OpenAISampler]:
    url, model = served
    options: dict[str, Any] = {
        "url": url,
        "model": model,
        "logprobs": False,
        **config,
    }
    sampler = OpenAISampler(OpenAIConfig(settings=PromptSettings(tactic_tokens=24), **options))
    try:
        yield sampler
    finally:
        await sampler.close()


def likeliest(model: str, state: str) -> str:
    """What the same model says in this process, token by token the likeliest."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    inputs = tokenizer(prompt_text(DEEPSEEK, state), return_tensors="pt")
    length = inputs["input_ids"].shape[-1]
    network: Any = AutoModelForCausalLM.from_pretrained(model)
    ids = network.generate(**inputs, do_sample=False, max_new_tokens=24, pad_token_id=0)
    return str(tokenizer.decode(ids[0, length:], skip_special_tokens=True))


@pytest.mark.torch
async def test_a_real_server_says_what_the_model_says(transformers_server: tuple[str, str]) -> None:
    text = likeliest(transformers_server[1], "⊢ p")
    async with asking_transformers(transformers_server) as sampler:
        assert await sampler.check() == ()
        requests = [Request("⊢ p", 3, 1.0, 0), Request("⊢ q", 2, 1.0, 0), Request("⊢ p", 1, 0.0, 0)]
        answers = await servers.samples_of(sampler, requests)
    assert [len(samples) for samples in answers] == [3, 2, 1]
    assert len({s.text for s in answers[0]}) > 1
    assert answers[2] == [Sample(text, 0.0, 1, ended=False)], "cut off after so many tokens"


@pytest.mark.torch
async def test_a_real_server_behind_the_policy(transformers_server: tuple[str, str]) -> None:
    """A stop that comes soon, as a random model hardly ever ends by itself."""
    text = likeliest(transformers_server[1], "⊢ p")
    stop = next(letter for letter in text if letter.isascii() and letter.isalpha())
    config = {"extra": {"stop": [stop]}, "batched": False}
    async with asking_transformers(transformers_server, **config) as sampler:
        policy = SampledPolicy(sampler)
        (found,) = await policy.propose([[Goal("g", "p")]], 1, 0.0, 0)
        assert stop in found[0].tactic
        assert text.startswith(found[0].tactic)
        assert len(found[0].tactic) < len(text)
        many = await policy.propose([[Goal("g", "p ∨ q")], [Goal("g", "p ∧ q")]], 6, 1.0, 0)
    assert len(many) == 2
    assert policy.asked == 3


@pytest.mark.torch
@pytest.mark.parametrize(
    ("config", "said", "hint"),
    [
        ({"batched": True}, "prompt must be a string", "it serves"),
        ({"model": "other"}, "Server is pinned to", "it serves"),
    ],
)
async def test_what_a_real_server_refuses(
    transformers_server: tuple[str, str], config: dict[str, Any], said: str, hint: str
) -> None:
    async with asking_transformers(transformers_server, **config) as sampler:
        with pytest.raises(InputError, match=said) as caught:
            await sampler.check()
        assert hint in caught.value.hint


@pytest.mark.torch
async def test_a_real_server_has_no_log_probabilities(transformers_server: tuple[str, str]) -> None:
    config = {"logprobs": True, "batched": False}
    async with asking_transformers(transformers_server, **config) as sampler:
        with pytest.raises(ServerError, match="without log-probabilities"):
            await sampler.check()
