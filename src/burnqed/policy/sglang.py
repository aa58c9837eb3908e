"""Tactics sampled by an SGLang server over its own `/generate`; one that knows `sampling_seed`.

A batch is one flat request: each state's prompt stands in it n times, each time with a seed of its own,
so states may ask for different n and temperatures. SGLang's own `n` is not used: it gives all n samples
the same seed, which makes them one where seeds count (`--enable-deterministic-inference`), and it
computes the prompts one after the other. Here a first request, for no tokens at all, leaves them all in
the prefix cache, from where the n samples of a state take them.

SGLang gives log-probabilities at the temperature of sampling, unless it was started with
SGLANG_RETURN_ORIGINAL_LOGPROB=1 in its environment; a request cannot ask for it. `check` finds out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from burnqed.core.errors import InputError
from burnqed.policy.candidates import Sample
from burnqed.policy.prompt import FORMATS
from burnqed.policy.sampled import Request
from burnqed.policy.served import PROBE, Served, ServedSampler, Sleep, prompt_for, seed_for, unusable

KEY = "SGLANG_API_KEY"  # the environment variable with what the server's --api-key wants
_PATH = "/generate"
_SAME = 0.01  # log-probabilities closer than this are the same


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangConfig(Served):
    """Where an SGLang server is and how its model is asked."""

    url: str = "http://127.0.0.1:30000"


class SglangSampler(ServedSampler[SglangConfig]):
    """The `Sampler` over an SGLang server."""

    def __init__(self, config: SglangConfig, *, sleep: Sleep = asyncio.sleep) -> None:
        super().__init__(config, config.url, _PATH, KEY, sleep)

    async def _check(self) -> tuple[str, ...]:
        wanted = self.config.model
        _, names = await self._served_model()
        if wanted is not None and names and wanted not in names:
            raise InputError(
                f"{self._client.url} does not serve {wanted}", hint=f"it serves {', '.join(names)}"
            )
        # Temperature 0 is computed as 1 by SGLang, so both have the same log-probabilities if any has
        # those of temperature 1.
        prompt = prompt_for(self.config, PROBE)
        request = Request(PROBE, 1, 0.0, 0)
        params = [self._params(request, 0), self._params(request, 0) | {"temperature": 2.0}]
        short = [one | {"max_new_tokens": 2} for one in params]
        answers = await self._generate([prompt, prompt], short, {"top_logprobs_num": 1})
        for answer in answers:
            self._sample(answer)
        cold, warm = (_top(answer) for answer in answers)
        if cold is None or warm is None or abs(cold - warm) < _SAME:
            return ()
        return (
            "the server gives log-probabilities at the temperature of sampling, not at 1: start it "
            "with SGLANG_RETURN_ORIGINAL_LOGPROB=1 in its environment",
        )

    async def _ask(self, prompts: Sequence[str], requests: Sequence[Request]) -> list[list[Sample]]:
        shared = [prompt for prompt, request in zip(prompts, requests, strict=True) if request.n > 1]
        if shared:
            nothing = {"max_new_tokens": 0}
            await self._client.post(_PATH, {"text": shared, "sampling_params": nothing})
        text = [p for p, request in zip(prompts, requests, strict=True) for _ in range(request.n)]
        params = [self._params(request, draw) for request in requests for draw in range(request.n)]
        answers = iter(await self._generate(text, params))
        return [[self._sample(next(answers)) for _ in range(request.n)] for request in requests]

    def _params(self, request: Request, draw: int) -> dict[str, Any]:
        """All that shapes the distribution is said: the server's defaults may come from the model."""
        return {
            "temperature": max(request.temperature, 0.0),
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "max_new_tokens": self.settings.tactic_tokens,
            "stop": list(FORMATS[self.settings.format].stops),
            "sampling_seed": seed_for(request, draw),
        }

    async def _generate(
        self, text: list[str], params: list[dict[str, Any]], more: dict[str, Any] | None = None
    ) -> list[Any]:
        """One answer for each text, in their order."""
        body = {"text": text, "sampling_params": params, "return_logprob": True, **(more or {})}
        answers = await self._client.post(_PATH, body)
        if not isinstance(answers, list):
            raise unusable(self._url, f"a list of completions was expected, not {answers!r:.100}")
        if len(answers) != len(text):
            raise unusable(
                self._url, f"{len(answers)} completions came where {len(text)} were asked for"
            )
        return answers

    def _sample(self, answer: Any) -> Sample:
        about = answer.get("meta_info") if isinstance(answer, dict) else None
        if not isinstance(about, dict):
            raise unusable(self._url, f"a completion was expected, not {answer!r:.100}")
        tokens = about.get("output_token_logprobs")
        if not isinstance(tokens, list) or not all(isinstance(t, list) and t for t in tokens):
            raise unusable(self._url, f"a completion came without log-probabilities: {tokens!r:.60}")
        reason = about.get("finish_reason")
        kind = reason.get("type") if isinstance(reason, dict) else None
        ended = kind if kind in ("stop", "length") else reason  # else with the server's own words
        return self._sampled(answer.get("text"), ended, [token[0] for token in tokens])


def _top(answer: Any) -> float | None:
    """The log-probability of the likeliest first token, if the server tells."""
    try:
        return float(answer["meta_info"]["output_top_logprobs"][0][0][0])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
