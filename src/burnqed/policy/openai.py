"""Tactics sampled by a server with OpenAI's `/v1/completions`: vLLM, SGLang, llama.cpp, transformers.

Chat completions are not used: a chat template would put a conversation around the prompt that the model
was trained on. Servers that take but one prompt and give but one choice (`transformers serve`,
llama.cpp) are found out by `check` and asked so. Of servers without log-probabilities (`transformers
serve`) one has to say so (`logprobs=False`), and all samples of a state count the same.

Log-probabilities are to be those of temperature 1. vLLM gives these unless told otherwise
(--logprobs-mode), SGLang with SGLANG_RETURN_ORIGINAL_LOGPROB=1 in its environment. `check` finds out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from burnqed.core.errors import InputError, ServerError
from burnqed.core.tasks import together
from burnqed.policy.candidates import Sample
from burnqed.policy.http import path_of
from burnqed.policy.prompt import FORMATS
from burnqed.policy.sampled import Request
from burnqed.policy.served import (
    PROBE,
    SEEDS,
    Served,
    ServedSampler,
    Sleep,
    prompt_for,
    seed_for,
    unusable,
)

KEY = "OPENAI_API_KEY"  # the environment variable with the key, if the server wants one
_PATH = "/completions"
_AT_ONCE = 16  # requests of one batch when each has one prompt
_SAME = 0.01  # log-probabilities closer than this are the same
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIConfig(Served):
    """Where the server is (`/v1` is added to a URL without a path) and how its model is asked.

    `extra` goes into every request as it is, such as {"top_k": -1} for vLLM, which else takes
    it from the model's generation_config.json.
    """

    url: str = "http://127.0.0.1:8000/v1"
    batched: bool | None = None  # whether it takes several prompts at once; None: `check` finds out
    logprobs: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


class OpenAISampler(ServedSampler[OpenAIConfig]):
    """The `Sampler` over an OpenAI-compatible server."""

    models = "/models"

    def __init__(self, config: OpenAIConfig, *, sleep: Sleep = asyncio.sleep) -> None:
        url = config.url.rstrip("/")
        super().__init__(config, url if path_of(url) else f"{url}/v1", _PATH, KEY, sleep)
        self._model = config.model
        self._batched = config.batched is not False
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def _check(self) -> tuple[str, ...]:
        names = await self._find_model()
        samples = await self._probe(names)
        alike = (
            "the server says the same at every draw: it does not sample (transformers needs "
            '"do_sample": true in the model\'s generation_config.json)',
        )
        notes = alike if all(len({s.text for s in of_state}) == 1 for of_state in samples) else ()
        return notes + (await self._warnings() if self.config.logprobs else ())

    async def _probe(self, names: list[str]) -> list[list[Sample]]:
        """A few samples of two states: with one, it would not show if they are kept apart."""
        probe = [Request(PROBE, 4, 2.0, 0), Request(f"h : False\n{PROBE}", 4, 2.0, 0)]
        prompts = [prompt_for(self.config, request.state) for request in probe]
        ways = (True, False) if self.config.batched is None else (self.config.batched,)
        failures: list[InputError | ServerError] = []
        for self._batched in ways:
            try:
                return await self._ask(prompts, probe, {"max_tokens": 8})
            except (InputError, ServerError) as error:
                failures.append(error)
        last = failures[-1]  # to the plainest request
        if isinstance(last, InputError):
            hint = f"{last.hint} it serves {_listed(names)}"
            raise InputError(last.message, hint=hint) from last
        raise last

    async def _find_model(self) -> list[str]:
        """Which model is asked, if nobody said; and the names that the server lists."""
        self._model, names = await self._served_model()
        if self._model is None:
            hint = f"it serves {_listed(names)}"
            raise InputError(f"{self._client.url} needs the name of a model", hint=hint)
        return names

    async def _ask(
        self, prompts: Sequence[str], requests: Sequence[Request], more: Mapping[str, Any] = _NOTHING
    ) -> list[list[Sample]]:
        if self._model is None:
            await self._find_model()
        if not self._batched:
            return await self._one_by_one(prompts, requests, more)
        groups: dict[tuple[int, float], list[int]] = {}
        for index, request in enumerate(requests):
            groups.setdefault((request.n, request.temperature), []).append(index)
        answers = await together(
            *(
                self._group([prompts[i] for i in group], requests[group[0]], more)
                for group in groups.values()
            )
        )
        found: list[list[Sample]] = [[] for _ in requests]
        for group, answer in zip(groups.values(), answers, strict=True):
            for index, samples in zip(group, answer, strict=True):
                found[index] = samples
        return found

    async def _group(
        self, prompts: list[str], request: Request, more: Mapping[str, Any]
    ) -> list[list[Sample]]:
        """Prompts that are asked for the same: choice `i * n + j` is the j-th sample of the i-th.

        A request has one seed, and the states of several searches: it is the first one's.
        """
        n = request.n
        body = self._body(prompts, request) | {"n": n, "seed": request.seed % SEEDS, **more}
        choices = await self._choices(body, len(prompts) * n)
        samples = [self._one(choice) for choice in choices]
        return [samples[start : start + n] for start in range(0, len(samples), n)]

    async def _one_by_one(
        self, prompts: Sequence[str], requests: Sequence[Request], more: Mapping[str, Any]
    ) -> list[list[Sample]]:
        async def one(prompt: str, request: Request, draw: int) -> Sample:
            body = self._body(prompt, request) | {"seed": seed_for(request, draw), **more}
            async with self._free:  # its time begins when it is sent
                choices = await self._choices(body, 1)
            return self._one(choices[0])

        asked = zip(prompts, requests, strict=True)
        samples = iter(await together(*(one(p, r, draw) for p, r in asked for draw in range(r.n))))
        return [[next(samples) for _ in range(request.n)] for request in requests]

    def _body(self, prompt: str | list[str], request: Request) -> dict[str, Any]:
        return {
            "model": self._model,
            "prompt": prompt,
            "temperature": max(request.temperature, 0.0),
            "top_p": 1.0,
            "max_tokens": self.settings.tactic_tokens,
            "stop": list(FORMATS[self.settings.format].stops),
            **({"logprobs": 1} if self.config.logprobs else {}),
            **self.config.extra,
        }

    async def _choices(self, body: dict[str, Any], expected: int) -> list[dict[str, Any]]:
        """As many choices as are expected, by their index."""
        answer = await self._client.post(_PATH, body)
        hint = "is this a server of OpenAI's completions?"
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise unusable(self._url, f"choices were expected, not {answer!r:.100}", hint)
        if len(choices) != expected:
            what = f"{len(choices)} choices came where {expected} were asked for"
            raise unusable(self._url, what, hint)
        by_index = {choice.get("index"): choice for choice in choices}
        if by_index.keys() != set(range(expected)):
            raise unusable(
                self._url, f"choices are numbered {[c.get('index') for c in choices]!r:.100}"
            )
        return [by_index[index] for index in range(expected)]

    def _one(self, choice: dict[str, Any]) -> Sample:
        text, reason = choice.get("text"), choice.get("finish_reason")
        if not self.config.logprobs:
            return self._sampled(text, reason, [0.0])
        values = _logprobs(choice)
        if values is None and text == "":
            values = []  # llama.cpp tells nothing about a tactic that ends before it begins
        if values is None:
            raise unusable(
                self._url,
                "a completion came without log-probabilities",
                "turn them on in the server; or take all samples for equally likely: --no-logprobs",
            )
        return self._sampled(text, reason, values)

    async def _warnings(self) -> tuple[str, ...]:
        """Temperature 0 is computed as 1, so the likeliest token's log-probability tells them apart."""
        bodies = (
            self._body(prompt_for(self.config, PROBE), Request(PROBE, 1, temperature, 0))
            | {"max_tokens": 2}
            for temperature in (0.0, 2.0)
        )
        cold, warm = [_top((await self._choices(body, 1))[0]) for body in bodies]
        if cold is None or warm is None or abs(cold - warm) < _SAME:
            return ()
        return (
            "the server gives log-probabilities at the temperature of sampling, not at 1: "
            "vLLM wants --logprobs-mode raw_logprobs, SGLang SGLANG_RETURN_ORIGINAL_LOGPROB=1",
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "no model by name"


def _logprobs(choice: dict[str, Any]) -> Any:
    """OpenAI's own form, or llama.cpp's, which is that of chats; None where there are none."""
    about = choice.get("logprobs")
    if not isinstance(about, dict):
        return None
    tokens = about.get("content")
    if isinstance(tokens, list):
        return [token.get("logprob") if isinstance(token, dict) else None for token in tokens]
    return about.get("token_logprobs")


def _top(choice: dict[str, Any]) -> float | None:
    """The log-probability of the likeliest first token, if the server tells."""
    about: Any = choice.get("logprobs")
    try:
        if "content" in about:
            return max(float(token["logprob"]) for token in about["content"][0]["top_logprobs"])
        return max(float(value) for value in about["top_logprobs"][0].values())
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None
