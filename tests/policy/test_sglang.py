"""SGLang's `/generate`: one flat batch, answers in their places, and nothing wrong is believed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from burnqed.core.errors import InputError, PromptRefused, ServerError
from burnqed.core.types import Goal
from burnqed.policy.candidates import Sample
from burnqed.policy.prompt import FORMATS, PromptSettings, prompt_text
from burnqed.policy.sampled import Request, SampledPolicy
from burnqed.policy.sglang import SglangConfig, SglangSampler
from tests.policy import servers
from tests.policy.servers import Asked, Handler, Reply, Server, in_turn, serve

DEEPSEEK = FORMATS["deepseek"]


@asynccontextmanager
async def asking(handler: Handler, **config: Any) -> AsyncIterator[tuple[SglangSampler, Server]]:
    async def at_once(_: float) -> None:
        pass

    async with serve(handler) as server:
        sampler = SglangSampler(SglangConfig(url=server.url, **config), sleep=at_once)
        try:
            yield sampler, server
        finally:
            await sampler.close()


def expected(text: list[str], params: list[dict[str, Any]]) -> list[Sample]:
    """What the well-behaved server must be understood to have said."""
    found = []
    for prompt, one in zip(text, params, strict=True):
        this = servers.said(prompt, one["sampling_seed"])
        total = math.fsum(this.logprobs)
        found.append(Sample(this.text, total, len(this.logprobs), this.reason == "stop"))
    return found


async def test_a_batch_is_one_flat_request() -> None:
    requests = [Request("a", 3, 1.0, 5), Request("b", 1, 0.5, 5), Request("c", 2, 1.0, 6)]
    async with asking(servers.sglang()) as (sampler, server):
        answers = await servers.samples_of(sampler, requests)
    prefix, batch = server.bodies("/generate")
    prompts = {state: prompt_text(DEEPSEEK, state) for state in "abc"}
    assert prefix["text"] == [prompts["a"], prompts["c"]], (
        "those with several samples are computed once"
    )
    assert prefix["sampling_params"] == {"max_new_tokens": 0}
    assert batch["text"] == [prompts[state] for state in "aaabcc"]
    assert batch["return_logprob"] is True
    params = batch["sampling_params"]
    assert [one["temperature"] for one in params] == [1.0, 1.0, 1.0, 0.5, 1.0, 1.0]
    assert all(one["stop"] == list(DEEPSEEK.stops) for one in params)
    assert all(one["max_new_tokens"] == 128 for one in params)
    assert all((one["top_p"], one["top_k"], one["min_p"]) == (1.0, -1, 0.0) for one in params)
    flat = expected(batch["text"], params)
    assert answers == [flat[:3], flat[3:4], flat[4:]]
    assert {sample.ended for sample in flat} == {True, False}, "both are tested here"


async def test_seeds_differ_and_come_back() -> None:
    async with asking(servers.sglang()) as (sampler, server):
        first = await servers.samples_of(sampler, [Request("a", 8, 1.0, 5), Request("b", 8, 1.0, 5)])
        again = await servers.samples_of(sampler, [Request("b", 8, 1.0, 5), Request("a", 8, 1.0, 5)])
        other = await servers.samples_of(sampler, [Request("a", 8, 1.0, 6)])
    seeds = [one["sampling_seed"] for one in server.bodies("/generate")[1]["sampling_params"]]
    assert len(set(seeds)) == 16
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert first == again[::-1], "whatever else is in the batch"
    assert other[0] != first[0]


async def test_one_sample_each_needs_no_second_request() -> None:
    async with asking(servers.sglang()) as (sampler, server):
        assert (
            len(await servers.samples_of(sampler, [Request("a", 1, 0.0, 0), Request("b", 1, 1.0, 0)]))
            == 2
        )
    assert len(server.asked) == 1


async def test_several_at_temperature_0_are_refused() -> None:
    async with asking(servers.sglang()) as (sampler, server):
        with pytest.raises(InputError, match="one candidate") as caught:
            await servers.samples_of(sampler, [Request("a", 1, 0.0, 0), Request("b", 2, 0.0, 0)])
        assert "--temperature" in caught.value.hint
    assert not server.asked


async def test_a_state_that_is_too_long() -> None:
    settings = PromptSettings("colons", prompt_tokens=20)
    state = "h : 1 = 1\n⊢ 2 = 2\n\nh' : 3 = 3\n⊢ 4 = 4"
    async with asking(servers.sglang(), settings=settings, bytes_per_token=1.5) as (sampler, server):
        await servers.samples_of(sampler, [Request(state, 1, 1.0, 0)])
        await servers.samples_of(sampler, [Request("⊢ 1", 1, 1.0, 0)])
        await servers.samples_of(sampler, [Request("⊢ " + "x" * 90, 1, 1.0, 0)])
    sent = [body["text"][0] for body in server.bodies("/generate")]
    assert sent[:2] == ["h : 1 = 1\n⊢ 2 = 2:::", "⊢ 1:::"], "the first goal stays, whole"
    assert all(len(text.encode()) <= 30 and text.endswith(":::") for text in sent)
    assert len(sent[2].encode()) == 30


async def test_through_the_policy() -> None:
    """Two searches ask at once: one batch, and each gets its own."""
    async with asking(servers.sglang()) as (sampler, server):
        policy = SampledPolicy(sampler)
        goals = [Goal("g", "p"), Goal("g", "q")]
        found = await policy.propose([[goal] for goal in goals], 4, 1.0, 0)
    batch = server.bodies("/generate")[-1]
    assert len(server.asked) == 2
    said = expected(batch["text"], batch["sampling_params"])
    for candidates, samples in zip(found, (said[:4], said[4:]), strict=True):
        assert {c.tactic for c in candidates} == {s.text for s in samples if s.ended}
        assert math.fsum(math.exp(c.logprob) for c in candidates) == pytest.approx(1)


# ------------------------------------------------------------------- prompts that are refused


def digits(prompt: str) -> int:
    return sum(letter.isdigit() for letter in prompt)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_prompt_with_too_many_tokens_is_shortened(status: int) -> None:
    """The others get what they would have got without it."""
    dense = f"h : n = {'7' * 500}\n⊢ n < {'9' * 2000}"
    requests = [Request(state, 2, 1.0, 5) for state in ("⊢ a", "⊢ b", dense, "⊢ c", "⊢ d")]
    async with asking(servers.sglang()) as (sampler, _):
        alone = await servers.samples_of(sampler, [r for r in requests if r.state != dense])
    handler = servers.choosy(servers.sglang(), lambda prompt: digits(prompt) > 700, status)
    async with asking(handler) as (sampler, server):
        answers = await servers.samples_of(sampler, requests)
    assert answers[:2] + answers[3:] == alone
    assert len(answers[2]) == 2
    sent = {text for body in server.bodies("/generate") for text in body["text"]}
    (taken,) = [text for text in sent if digits(prompt_text(DEEPSEEK, "")) < digits(text) <= 700]
    assert "h : n" not in taken, "of a target that is too long without anything else"
    assert "⊢ n < 999" in taken
    assert digits(taken) > 300, "no less of it than has to be"
    assert len(server.asked) < 20


async def test_a_state_that_is_refused_however_short() -> None:
    handler = servers.choosy(servers.sglang(), lambda prompt: "☠" in prompt)
    async with asking(handler) as (sampler, server):
        states = ["⊢ a", "⊢ " + "☠" * 400, "⊢ b", "⊢ ☠"]
        answers = await sampler.sample([Request(state, 2, 1.0, 5) for state in states])
        assert [isinstance(answer, PromptRefused) for answer in answers] == [False, True, False, True]
        assert "400 input longer than context" in str(answers[1])
        (alone,) = await sampler.sample([Request("⊢ ☠☠", 1, 1.0, 5)])
        assert isinstance(alone, PromptRefused)
    empty = prompt_text(DEEPSEEK, "")
    assert all(empty not in body["text"] for body in server.bodies("/generate")), (
        "nothing is not a state"
    )


async def test_a_server_that_refuses_everything() -> None:
    """That is not about the states: it is said at once, with the server's first words."""
    handler = in_turn(Reply("the model is asleep", 400), Reply("still", 400))
    async with asking(handler) as (sampler, server):
        with pytest.raises(InputError, match="the model is asleep"):
            await servers.samples_of(sampler, [Request(f"⊢ {i}", 1, 1.0, 5) for i in range(8)])
        assert len(server.asked) == 2


async def test_a_server_that_takes_smaller_batches_only() -> None:
    behaved = servers.sglang()

    def handler(asked: Asked) -> Reply:
        return behaved(asked) if len(asked.body["text"]) <= 3 else Reply("too many", 413)

    requests = [Request(f"⊢ {i}", 1, 1.0, 5) for i in range(8)]
    async with asking(behaved) as (sampler, _):
        expected = await servers.samples_of(sampler, requests)
    async with asking(handler) as (sampler, _):
        assert await servers.samples_of(sampler, requests) == expected


async def test_trouble_after_a_refusal_is_told() -> None:
    handler = in_turn(Reply("too long", 400), servers.sglang(), Reply("gone", 503))
    async with asking(handler) as (sampler, _):
        with pytest.raises(ServerError, match="503 gone"):
            await servers.samples_of(sampler, [Request("⊢ a", 1, 1.0, 5), Request("⊢ b", 1, 1.0, 5)])


# --------------------------------------------------------------------- answers that are not


def entry(**about: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "finish_reason": {"type": "stop"},
        "output_token_logprobs": [[-1.0, 3, None], [-0.5, 4, " x"]],
    }
    return {"text": "simp", "meta_info": {**meta, **about}}


WRONG: dict[str, tuple[Any, str]] = {
    "an object": ({"text": "simp"}, "a list of completions was expected"),
    "null": (None, "a list of completions was expected"),
    "a number": (3, "a list of completions was expected"),
    "too few": ([entry()], "1 completions came where 2 were asked for"),
    "too many": ([entry()] * 3, "3 completions came where 2 were asked for"),
    "none": ([], "0 completions"),
    "strings": (["simp", "rfl"], "a completion was expected"),
    "no meta": ([entry(), {"text": "simp"}], "a completion was expected"),
    "no text": ([entry(), {**entry(), "text": None}], "not text"),
    "no logprobs": ([entry(), entry(output_token_logprobs=None)], "without log-probabilities"),
    "other logprobs": ([entry(), entry(output_token_logprobs=[-1.0])], "without log-probabilities"),
    "empty logprobs": ([entry(), entry(output_token_logprobs=[])], "no log-probabilities for 'simp'"),
    "nan": ([entry(), entry(output_token_logprobs=[[math.nan, 1, ""]])], "token is nan"),
    "infinite": ([entry(), entry(output_token_logprobs=[[-math.inf, 1, ""]])], "token is -inf"),
    "positive": ([entry(), entry(output_token_logprobs=[[0.5, 1, ""]])], "token is 0.5"),
    "not a number": ([entry(), entry(output_token_logprobs=[["-1", 1, ""]])], "token is '-1'"),
    "null number": ([entry(), entry(output_token_logprobs=[[None, 1, ""]])], "token is None"),
    "truth": ([entry(), entry(output_token_logprobs=[[False, 1, ""]])], "token is False"),
    "aborted": (
        [entry(), entry(finish_reason={"type": "abort", "message": "out of memory"})],
        "out of memory",
    ),
    "unfinished": ([entry(), entry(finish_reason=None)], "ended with None"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_an_answer_that_nobody_can_use(case: str) -> None:
    answer, what = WRONG[case]
    async with asking(in_turn(Reply([]), Reply(answer))) as (sampler, server):
        with pytest.raises(ServerError) as caught:
            await servers.samples_of(sampler, [Request("a", 2, 1.0, 0)])
        assert what in caught.value.message
        assert f"{server.url}/generate" in caught.value.message
        assert len(server.asked) == 2, "it is not asked again"


async def test_rounding_is_no_error() -> None:
    answer = [entry(output_token_logprobs=[[1e-7, 1, ""]])]
    async with asking(in_turn(Reply(answer))) as (sampler, _):
        assert await servers.samples_of(sampler, [Request("a", 1, 1.0, 0)]) == [
            [Sample("simp", 0.0, 1)]
        ]


async def test_a_tactic_of_no_tokens() -> None:
    answer = [{**entry(output_token_logprobs=[]), "text": ""}]
    async with asking(in_turn(Reply(answer))) as (sampler, _):
        assert await servers.samples_of(sampler, [Request("a", 1, 1.0, 0)]) == [[Sample("", 0.0, 0)]]


async def test_trouble_that_passes() -> None:
    handler = in_turn(
        Reply("loading", 503), Reply(manner="cut", body=[1] * 50), Reply(b"[{"), servers.sglang()
    )
    async with asking(handler) as (sampler, server):
        assert len((await servers.samples_of(sampler, [Request("a", 1, 1.0, 0)]))[0]) == 1
    assert len(server.asked) == 4


# ----------------------------------------------------------------------- before a search begins


async def test_a_server_that_is_well() -> None:
    async with asking(servers.sglang(), model="tiny") as (sampler, server):
        assert await sampler.check() == ()
    assert [asked.path for asked in server.asked] == ["/v1/models", "/generate"]


async def test_log_probabilities_at_the_temperature_are_noticed() -> None:
    async with asking(servers.sglang(scaled=True)) as (sampler, _):
        (note,) = await sampler.check()
    assert "SGLANG_RETURN_ORIGINAL_LOGPROB=1" in note


async def test_another_model() -> None:
    async with asking(servers.sglang(), model="large") as (sampler, _):
        with pytest.raises(InputError, match="does not serve large") as caught:
            await sampler.check()
        assert caught.value.hint == "it serves tiny"


async def test_a_context_that_is_too_short() -> None:
    models = {"data": [{"id": "tiny", "max_model_len": 1024}]}
    async with asking(servers.sglang(models=models)) as (sampler, _):
        with pytest.raises(InputError, match=r"served for 1024 tokens at most; .* 2048") as caught:
            await sampler.check()
        assert "--prompt-tokens and --tactic-tokens" in caught.value.hint


@pytest.mark.parametrize("answer", [[], {"data": 1}, {"data": ["x"]}, "models"])
async def test_something_else_is_there(answer: Any) -> None:
    async with asking(lambda _: Reply(answer)) as (sampler, _):
        with pytest.raises(ServerError, match="a list of models was expected"):
            await sampler.check()


async def test_a_server_without_log_probabilities() -> None:
    def handler(asked: Asked) -> Reply:
        if asked.path == "/v1/models":
            return Reply(servers.MODELS)
        return Reply([entry(output_token_logprobs=None)] * 2)

    async with asking(handler) as (sampler, _):
        with pytest.raises(ServerError, match="without log-probabilities"):
            await sampler.check()


async def test_nobody_there() -> None:
    async def at_once(_: float) -> None:
        pass

    for model in (None, "tiny"):
        sampler = SglangSampler(SglangConfig(url=servers.nobody(), model=model), sleep=at_once)
        with pytest.raises(ServerError, match="no connection"):
            await sampler.check()
        await sampler.close()


async def test_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_API_KEY", "secret")
    async with asking(servers.sglang()) as (sampler, server):
        await sampler.check()
    assert all(asked.headers["authorization"] == "Bearer secret" for asked in server.asked)


def test_what_it_says_of_itself() -> None:
    config = SglangConfig()
    assert (config.url, config.concurrency, config.largest) == ("http://127.0.0.1:30000", 8, 64)
    with pytest.raises(InputError):
        dataclasses.replace(config, largest=0)
