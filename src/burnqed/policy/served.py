"""What samplers of a model server have in common: the prompt they send, what they make of an answer.

Samples come from the server's own sampling, so at temperature 0 there is one of them and no more.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from burnqed.core.errors import InputError, PromptRefused, ServerError
from burnqed.core.tasks import together
from burnqed.policy.candidates import Sample
from burnqed.policy.http import JsonClient, Limits, Refused, key_from
from burnqed.policy.prompt import PromptSettings, prompt_text, shortened
from burnqed.policy.sampled import Answer, Request

PROBE = "⊢ True"  # the state that a server is tried with before anything depends on it
_HALVINGS = 4  # of a prompt that is refused; 1920 tokens at 1.5 bytes end at 180 bytes
_ROUNDING = 1e-4  # a log-probability above 0 by less than this is 0 in the server's arithmetic
# Kept on this side of what a server counts in 32 bits.
SEEDS = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A model on a server. `model` is its name there; None stands for the one that is served.

    Only the server has the tokenizer. So a prompt is held to its limit by its bytes in UTF-8, at
    `bytes_per_token`. SmolLM2's tokenizer makes a token of 2.5 bytes of Lean on average, and of 1.5 in
    the densest lines of qed-core.
    """

    url: str
    model: str | None = None
    settings: PromptSettings = field(default_factory=PromptSettings)
    bytes_per_token: float = 1.5
    concurrency: int = 8
    largest: int = 64
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.largest < 1 or self.bytes_per_token <= 0:
            raise InputError("concurrency, batch size and bytes per token are above 0")


S = TypeVar("S", bound=Served)
Sleep = Callable[[float], Awaitable[object]]


def prompt_for(served: Served, state: str, halvings: int = 0) -> str:
    """The prompt for a state, shortened as in training where it would be too long.

    And then to a half of its bytes, so many times.
    """
    format = served.settings.shape
    most = served.settings.prompt_tokens * served.bytes_per_token
    if halvings:
        most = min(most, len(prompt_text(format, state).encode())) / 2**halvings

    def fits(part: str) -> bool:
        return len(prompt_text(format, part).encode()) <= most

    return prompt_text(format, state if fits(state) else shortened(state, fits))


class ServedSampler(ABC, Generic[S]):
    """The `Sampler` over a model server, at `path` of which tactics are asked for.

    Of a batch of requests the server may refuse some, and one must not take the others with it. Only
    the server knows how many tokens a prompt has, and a state may have more of them than its bytes let
    one expect, long numerals for instance. Such a state is asked with less of it. One that is refused
    all the same has its error in its place.
    """

    models = "/v1/models"  # the page that lists what is served

    def __init__(self, config: S, url: str, path: str, key: str, sleep: Sleep) -> None:
        self.config = config
        self.settings = config.settings
        self.concurrency = config.concurrency
        self.largest = config.largest
        self._client = JsonClient(url, config.limits, key=key_from(key), sleep=sleep)
        self._url = self._client.url + path
        self.serves: str | None = None  # the model's name there, once that is known

    @property
    def url(self) -> str:
        return self._client.url

    @abstractmethod
    async def _check(self) -> tuple[str, ...]: ...

    @abstractmethod
    async def _ask(self, prompts: Sequence[str], requests: Sequence[Request]) -> list[list[Sample]]:
        """One question: a prompt for each request. Raises `Refused` if one is refused."""

    async def check(self) -> tuple[str, ...]:
        """Raises if the server cannot be searched with; returns what is worth telling the user."""
        with self._client.hurried():
            return await self._check()

    async def alive(self, seconds: float) -> bool:
        """Whether the server answers a question that costs it nothing."""
        return await self._client.answers(self.models, seconds)

    async def close(self) -> None:
        await self._client.close()

    async def sample(self, requests: Sequence[Request]) -> Sequence[Answer]:
        """The samples of each request. Raises if the server refuses them whatever the state.

        A server cannot list what is likeliest: at temperature 0 it would say one thing n times.
        """
        if any(request.temperature <= 0 and request.n > 1 for request in requests):
            raise InputError(
                "a model server samples: at temperature 0 it has one candidate for a state, not "
                "several",
                hint="give a --temperature above 0, such as 1",
            )
        try:
            return await self._once(requests)
        except Refused as error:
            kinds = {(r.n, r.temperature): replace(r, state=PROBE) for r in requests}
            try:
                await self._once(list(kinds.values()))
            except Refused:
                raise error from None
            return await self._otherwise(requests, 0, error)

    async def _once(self, requests: Sequence[Request], halvings: int = 0) -> list[list[Sample]]:
        prompts = [prompt_for(self.config, request.state, halvings) for request in requests]
        return await self._ask(prompts, requests)

    async def _some(self, requests: Sequence[Request], halvings: int) -> Sequence[Answer]:
        try:
            return await self._once(requests, halvings)
        except Refused as error:
            return await self._otherwise(requests, halvings, error)

    async def _otherwise(
        self, requests: Sequence[Request], halvings: int, error: Refused
    ) -> Sequence[Answer]:
        """After a refusal: half of the batch and the other half, or less of its only state."""
        if len(requests) > 1:
            middle = len(requests) // 2
            halves = (requests[:middle], requests[middle:])
            answers = await together(*(self._some(half, halvings) for half in halves))
            return [samples for answer in answers for samples in answer]
        empty = prompt_text(self.settings.shape, "")
        shorter = prompt_for(self.config, requests[0].state, halvings + 1)
        if halvings < _HALVINGS and shorter != empty:
            return await self._some(requests, halvings + 1)
        what = f"the server refuses a state, however short it is made: {error.message}"
        return [PromptRefused(what, hint="serve the model with a longer context")]

    def _sampled(self, text: Any, reason: Any, logprobs: Any) -> Sample:
        """One completion and the log-probabilities of its tokens, checked."""
        if not isinstance(text, str):
            raise unusable(self._url, f"a completion is {text!r:.60}, not text")
        if reason not in ("stop", "length"):
            raise unusable(
                self._url, f"a completion ended with {reason!r:.200}", "the server's log says more"
            )
        if not isinstance(logprobs, list):
            raise unusable(self._url, f"log-probabilities are {logprobs!r:.60}, not a list")
        if not logprobs and text:
            raise unusable(self._url, f"no log-probabilities for {text!r:.60}")
        for value in logprobs:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value > _ROUNDING:
                raise unusable(self._url, f"the log-probability of a token is {value!r:.60}")
        return Sample(text, min(0.0, math.fsum(logprobs)), len(logprobs), reason == "stop")

    async def _served_model(self) -> tuple[str | None, list[str]]:
        """The model to ask for, and all names that the server lists.

        With a name given, a list that lacks it, or that cannot be read, is not an error yet: some
        servers list other things than what they serve.
        """
        served, url = self.config, self._client.url + self.models
        try:
            answer = await self._client.get(self.models)
        except (InputError, ServerError):
            if served.model is None:
                raise
            answer = {"data": []}
        entries = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise unusable(url, f"a list of models was expected, not {answer!r:.100}")
        names = [str(entry.get("id")) for entry in entries]
        model = self.serves = served.model or (names[0] if len(names) == 1 else None)
        length = next((e.get("max_model_len") for e in entries if e.get("id") == model), None)
        if isinstance(length, int) and length < served.settings.max_length:
            raise InputError(
                f"{model} is served for {length} tokens at most; a prompt and a tactic here have up to "
                f"{served.settings.max_length}",
                hint="start the server with a longer context, or ask with fewer tokens: "
                "--prompt-tokens and --tactic-tokens",
            )
        return model, names


def seed_for(request: Request, draw: int = 0) -> int:
    """A seed of its own for every state and draw: equal seeds would make equal samples of a state."""
    digest = hashlib.sha256(f"{request.seed} {draw} {request.state}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % SEEDS


def unusable(url: str, what: str, hint: str = "") -> ServerError:
    """An answer that came whole and is not what was asked for. Asking again would not change that."""
    return ServerError(
        f"{url}: {what}", hint=hint or "is this the server that is meant, and up to date?"
    )
