"""Sampling from a model in this process, against the plainest way of doing the same."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    BloomForCausalLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from burnqed.core.errors import SetupError
from burnqed.core.types import Goal
from burnqed.policy.candidates import Sample
from burnqed.policy.local import sampler as sampler_module
from burnqed.policy.local.decoder import Decoder, Run
from burnqed.policy.local.generate import Ending, Wanted, beam, draw, numbers_of
from burnqed.policy.local.graphs import Recorder, rounded
from burnqed.policy.local.sampler import LocalSampler
from burnqed.policy.models.load import Loaded, load
from burnqed.policy.prompt import PromptSettings
from burnqed.policy.sampled import Request, SampledPolicy
from tests.policy.tiny import tiny_llama

END = 2
LIMIT = 12


def text(tokens: Sequence[int]) -> str:
    return " ".join(map(str, tokens))


ENDING = Ending(frozenset({END}), LIMIT, text)
PROMPTS = [[5, 9, 11, 30], [7], [5, 9, 11, 30, 4, 18, 200, 3, 77], [8, 8, 8]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tiny_llama(tmp_path_factory.mktemp("llama"))
    model = AutoModelForCausalLM.from_pretrained(directory)
    with torch.no_grad():  # far from uniform, and it ends now and then
        for parameter in model.parameters():
            parameter.mul_(2.5)
    return model.eval()


def logprobs_after(model: Any, tokens: Sequence[int]) -> torch.Tensor:
    with torch.inference_mode():
        return torch.log_softmax(model(torch.tensor([tokens])).logits[0, -1].double(), -1)


def begun(model: Any, prompts: Sequence[Sequence[int]]) -> tuple[Run, torch.Tensor]:
    decoder = Decoder(model, 64)
    with torch.inference_mode():
        logits, kept = decoder.read(prompts, max(map(len, prompts)) + 3)
        return Run(decoder, kept, [len(prompt) for prompt in prompts]), logits


def drawn(model: Any, wanted: Sequence[Wanted], ending: Ending = ENDING) -> list[list[Sample]]:
    run, logits = begun(model, PROMPTS)
    with torch.inference_mode():
        return draw(run, logits, wanted, ending)


def plainly(model: Any, prompt: Sequence[int], want: Wanted) -> list[Sample]:
    """One sample after the other, one whole forward pass for each token."""
    samples = []
    for numbers in numbers_of(want, LIMIT):
        tokens: list[int] = []
        total = 0.0
        for number in numbers:
            logprobs = logprobs_after(model, [*prompt, *tokens])
            chances = torch.softmax(logprobs / want.temperature, -1).cumsum(-1)
            token = int(torch.searchsorted(chances, torch.tensor(number), right=True))
            tokens.append(token)
            total += float(logprobs[token])
            if token == END:
                break
        ended = tokens[-1] == END
        samples.append(Sample(text(tokens[:-1] if ended else tokens), total, len(tokens), ended))
    return samples


def as_set(samples: Sequence[Sample]) -> list[tuple[Any, ...]]:
    return sorted((s.text, s.length, s.ended, pytest.approx(s.logprob, abs=1e-3)) for s in samples)


def test_samples_are_what_the_plain_way_draws(model: Any) -> None:
    wanted = [Wanted(6, 1.0, 1), Wanted(1, 0.5, 2), Wanted(9, 0.7, 3), Wanted(4, 1.5, 4)]
    for found, prompt, want in zip(drawn(model, wanted), PROMPTS, wanted, strict=True):
        assert as_set(found) == as_set(plainly(model, prompt, want))


def test_samples_do_not_depend_on_what_else_is_asked(model: Any) -> None:
    wanted = [Wanted(5, 1.0, seed) for seed in range(len(PROMPTS))]
    together = drawn(model, wanted)
    for prompt, want, found in zip(PROMPTS, wanted, together, strict=True):
        run, logits = begun(model, [prompt])
        with torch.inference_mode():
            assert as_set(draw(run, logits, [want], ENDING)[0]) == as_set(found)
    more = drawn(model, [Wanted(7, 1.0, seed) for seed in range(len(PROMPTS))])
    for few, many in zip(together, more, strict=True):
        assert {s.text for s in few} <= {s.text for s in many}, "the first five are the same"


def test_equal_beginnings_are_computed_once(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    step = Run.step

    def counting(self: Run, tokens: Any, prompts: Any, parents: Any) -> torch.Tensor:
        rows.append(len(tokens))
        assert len({(p, t) for p, t in zip(parents or prompts, tokens, strict=True)}) == len(tokens)
        return step(self, tokens, prompts, parents)

    monkeypatch.setattr(Run, "step", counting)
    cold = drawn(model, [Wanted(8, 0.01, seed) for seed in range(len(PROMPTS))])
    assert max(rows) <= len(PROMPTS) + 2, "eight samples that are one"
    assert [len(samples) for samples in cold] == [8] * len(PROMPTS)
    rows.clear()
    drawn(model, [Wanted(8, 2.0, seed) for seed in range(len(PROMPTS))])
    assert max(rows) > 2 * len(PROMPTS)


def test_a_stop_in_the_text_ends_a_tactic(model: Any) -> None:
    wanted = [Wanted(20, 1.2, seed) for seed in range(len(PROMPTS))]
    plain = [s for samples in drawn(model, wanted) for s in samples]
    common = max(
        {t for s in plain for t in s.text.split()[1:-1]},
        key=[t for s in plain for t in s.text.split()[1:-1]].count,
    )
    ending = Ending(frozenset({END}), LIMIT, lambda x: f" {text(x)} ", stops=(f" {common} ",))
    found = [s for samples in drawn(model, wanted, ending) for s in samples]
    stopped = [s for s in found if s.ended and common in s.text.split()]
    assert stopped
    for sample in stopped:
        assert sample.text.split().index(common) == sample.length - 1, "it is the last token"


def test_the_end_is_found_in_what_went_on_after_it() -> None:
    ending = Ending(frozenset({END}), LIMIT, text, stops=("9 9",))
    logprobs = [-1.0, -2.0, -4.0, -8.0]
    assert ending.first([5, 6, END, 7], logprobs) == Sample("5 6", -7.0, 3, True)
    assert ending.first([5, 6, 7, 8], logprobs) == Sample("5 6 7 8", -15.0, 4, False)
    assert ending.first([5, 9, 9, END], logprobs) == Sample("5 9 9", -7.0, 3, True)
    assert ending.first([5, END, 9, 9], logprobs) == Sample("5", -3.0, 2, True)
    assert ending.first([5, 6, 7, END], logprobs) == Sample("5 6 7", -15.0, 4, True)


def again(go: Callable[[], torch.Tensor]) -> tuple[Callable[[], None], torch.Tensor]:
    """What a GPU's recording does, by doing it again."""
    result = go()

    def replay() -> None:
        result.copy_(go())

    return replay, result


@pytest.mark.parametrize("prompts", [PROMPTS, PROMPTS[:3], PROMPTS[2:]])
def test_what_is_played_back_is_the_same(model: Any, prompts: list[list[int]]) -> None:
    """In a grid that is larger than what is asked for, and for one batch after the other."""
    decoder = Decoder(model, 64)
    recorder = Recorder(decoder, again)
    for seed in range(2):
        wanted = [Wanted(4 + i, 0.8, seed + i) for i in range(len(prompts))]
        likeliest = [Wanted(3, 0.0, 0)] * len(prompts)
        shape = rounded(len(prompts), max(map(len, prompts)), 8, LIMIT)
        lengths = [len(prompt) for prompt in prompts]
        with torch.inference_mode():
            logits, kept = decoder.read(prompts, shape.width)
            drawn = recorder.run(kept, lengths, shape).draw(logits, wanted, ENDING)
            stepped = draw(recorder.run(kept, lengths, shape), logits, wanted, ENDING)
            best = beam(recorder.run(kept, lengths, shape), logits, likeliest, ENDING)
            run, logits = begun(model, prompts)
            plain = draw(run, logits, wanted, ENDING)
            run, logits = begun(model, prompts)
            plain_best = beam(run, logits, likeliest, ENDING)
        for ways in zip(drawn, stepped, plain, strict=True):
            assert as_set(ways[0]) == as_set(ways[1]) == as_set(ways[2])
        for one, other in zip(best, plain_best, strict=True):
            assert as_set(one) == as_set(other)


@pytest.mark.parametrize("width", [1, 3, 8])
def test_a_beam_finds_the_likeliest(model: Any, width: int) -> None:
    """Against all continuations of at most three tokens."""
    small = Ending(frozenset({END}), 3, text)
    run, logits = begun(model, PROMPTS[:2])
    with torch.inference_mode():
        found = beam(run, logits, [Wanted(width, 0.0, 0)] * 2, small)
    for prompt, samples in zip(PROMPTS[:2], found, strict=True):
        assert [s.logprob for s in samples] == sorted((s.logprob for s in samples), reverse=True)
        assert len({s.text for s in samples}) == len(samples) <= width
        for sample in samples:
            tokens = [*map(int, sample.text.split()), END]
            logprob = sum(
                float(logprobs_after(model, [*prompt, *tokens[:i]])[token])
                for i, token in enumerate(tokens)
            )
            assert sample.ended
            assert sample.logprob == pytest.approx(logprob, abs=1e-3)


def test_a_beam_as_wide_as_all_there_is_misses_nothing() -> None:
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=6,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
        )
    ).eval()
    run, logits = begun(model, [[0, 1, 3]])
    with torch.inference_mode():
        found = beam(run, logits, [Wanted(36, 0.0, 0)], Ending(frozenset({END}), 3, text))[0]
    every = {}
    for length in range(3):
        for tokens in itertools.product([0, 1, 3, 4, 5], repeat=length):
            whole = (*tokens, END)
            every[text(tokens)] = sum(
                float(logprobs_after(model, [0, 1, 3, *whole[:i]])[t]) for i, t in enumerate(whole)
            )
    assert {s.text: s.logprob for s in found} == pytest.approx(every, abs=1e-4)


SMALL: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
}


@pytest.mark.parametrize(
    "other",
    [
        lambda: GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4)),
        lambda: GPTNeoXForCausalLM(GPTNeoXConfig(**SMALL, intermediate_size=64)),
        lambda: Qwen2ForCausalLM(Qwen2Config(**SMALL, num_key_value_heads=2, intermediate_size=64)),
    ],
    ids=["gpt2", "neox", "qwen2"],
)
def test_other_architectures(other: Any) -> None:
    torch.manual_seed(1)
    model = other().eval()
    prompts = [[5, 9, 11], [7, 30]]
    run, logits = begun(model, prompts)
    wanted = [Wanted(3, 1.0, 0), Wanted(2, 1.0, 1)]
    with torch.inference_mode():
        found = draw(run, logits, wanted, ENDING)
    for prompt, want, samples in zip(prompts, wanted, found, strict=True):
        assert as_set(samples) == as_set(plainly(model, prompt, want))


@pytest.mark.parametrize(
    "strange",
    [
        lambda: BloomForCausalLM(BloomConfig(vocab_size=64, hidden_size=32, n_layer=2, n_head=4)),
        lambda: Gemma2ForCausalLM(
            Gemma2Config(
                **SMALL,
                num_key_value_heads=2,
                intermediate_size=64,
                head_dim=8,
                attn_logit_softcapping=0.01,
            )
        ),
    ],
    ids=["bloom", "gemma2"],
)
def test_an_attention_of_another_kind_is_refused(strange: Any) -> None:
    torch.manual_seed(1)
    model = strange().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(20)
    with pytest.raises(SetupError, match="attention") as raised:
        Decoder(model, 64)
    assert "openai" in raised.value.hint
    assert model.config._attn_implementation in ("eager", "sdpa"), "as it was"


def test_a_window_that_is_too_short_is_refused() -> None:
    config = Qwen2Config(**SMALL, num_key_value_heads=2, intermediate_size=64, sliding_window=32)
    config.sliding_window = 32
    model = Qwen2ForCausalLM(config).eval()
    Decoder(model, 32)
    with pytest.raises(SetupError, match="32 tokens back, and 64"):
        Decoder(model, 64)


def testnumbers_of_are_even() -> None:
    numbers = np.concatenate([numbers_of(Wanted(8, 1.0, seed), 32).ravel() for seed in range(200)])
    counts, _ = np.histogram(numbers, bins=10, range=(0, 1))
    assert abs(counts / len(numbers) - 0.1).max() < 0.01


# ------------------------------------------------------------------------------------ the sampler


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    found = load(tiny_llama(tmp_path_factory.mktemp("loaded")), "cpu")
    return replace(found, settings=PromptSettings("colons", 64, 8))


def by_text(samples: Sequence[Sample]) -> dict[str, Any]:
    return {sample.text: pytest.approx(sample.logprob, abs=1e-3) for sample in samples}


def test_batches_that_fit_into_memory_give_the_same(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = LocalSampler(loaded)
    requests = [
        Request("n : Nat\n⊢ " + "n + " * i + "0 = n", 3, float(i % 2), seed=i) for i in range(7)
    ]
    together = sampler.sample_now(requests)
    monkeypatch.setitem(sampler_module._MEMORY, "cpu", 1)  # one prompt at a time
    apart = sampler.sample_now(requests)
    assert [len(samples) for samples in together[1::2]] == [3] * 3, "those at temperature 1"
    for one, other in zip(together, apart, strict=True):
        assert by_text(one) == by_text(other)


def test_the_limit_is_in_tokens_and_what_is_cut_off_says_so(loaded: Loaded) -> None:
    samples = LocalSampler(loaded).sample_now([Request("⊢ " + "p ∧ " * 300 + "p", 20, 1.0, 0)])[0]
    assert len(samples) == 20
    assert max(sample.length for sample in samples) == 8
    assert {sample.ended for sample in samples if sample.length == 8} >= {False}


async def test_searches_that_ask_at_once_are_one_batch(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = LocalSampler(loaded)
    sizes: list[int] = []
    now = sampler.sample_now

    def counting(requests: Sequence[Request]) -> list[list[Sample]]:
        sizes.append(len(requests))
        return now(requests)

    monkeypatch.setattr(sampler, "sample_now", counting)
    policy = SampledPolicy(sampler)
    goals = [[Goal("g", f"n + {i} = {i} + n")] for i in range(5)]
    first = await asyncio.gather(*(policy.propose([goal], 4, 1.0, 3) for goal in goals))
    again = await policy.propose(goals, 4, 1.0, 3)
    assert sizes == [5], "and what was asked is not asked again"
    assert [answer for (answer,) in first] == again
    await policy.close()
