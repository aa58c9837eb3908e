"""Options that say where tactics come from, and the policies they mean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from burnqed.cli import tables
from burnqed.core.errors import InputError
from burnqed.core.ports import Policy
from burnqed.lean.pool import default_size, usable_cores
from burnqed.policy.mix import Mix
from burnqed.policy.portfolio import Portfolio
from burnqed.policy.prompt import PromptSettings
from burnqed.policy.sampled import SampledPolicy, Sampler

if TYPE_CHECKING:  # it loads torch
    from burnqed.policy.models.load import Loaded

Kind = Literal["portfolio", "local", "mix", "sglang", "openai"]
# The portfolio has many cheap ideas for a state; a model has a few that cost more.
_CANDIDATES: dict[Kind, int] = {"portfolio": 32, "local": 8, "mix": 32, "sglang": 8, "openai": 8}
# Several attempts at temperature 0 would all be the same one.
SAMPLING = 1.0
_WITH_MODEL = ("local", "mix")
_SERVED = ("sglang", "openai")

PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="KIND",
        help="Where tactics come from: portfolio (rules, no model), local (a model in this process), "
        "mix (both), sglang or openai (a server). By itself portfolio, or local with --model.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="DIR",
        help="A model's directory (safetensors, GGUF, or an adapter), smollm2, or a server's model.",
    ),
]
UrlOption = Annotated[
    str | None, typer.Option("--url", help="The server's address, for sglang and openai.")
]
DeviceOption = Annotated[
    str, typer.Option("--device", help="Where a local model runs: auto, cpu or cuda.")
]
LogprobsOption = Annotated[
    bool,
    typer.Option(
        "--logprobs/--no-logprobs",
        help="--no-logprobs: the openai server gives no log-probabilities; all samples count the same.",
    ),
]
PromptOption = Annotated[
    str | None,
    typer.Option(
        "--prompt",
        metavar="FORMAT",
        help="How the model was trained to be asked: deepseek, proofstep or colons. A directory that "
        "burn-qed wrote says it by itself.",
    ),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option(
        min=0, help="0: the likeliest candidates; more: samples them. By itself 0, or 1 if need be."
    ),
]
CandidatesOption = Annotated[
    int | None,
    typer.Option(min=1, help="Tactics tried at a state; by itself 32, or 8 of a model alone."),
]


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy that was asked for, checked as far as that goes without loading anything."""

    kind: Kind
    model: str | None = None
    url: str | None = None
    device: str = "auto"
    prompt: str | None = None
    logprobs: bool = True

    @property
    def candidates(self) -> int:
        return _CANDIDATES[self.kind]

    @property
    def temperature(self) -> float:
        """A server samples; the others can say what is likeliest."""
        return SAMPLING if self.kind in _SERVED else 0.0


def choice(
    policy: str | None,
    model: str | None = None,
    url: str | None = None,
    device: str = "auto",
    prompt: str | None = None,
    logprobs: bool = True,
) -> Choice:
    """What the options mean together."""
    if prompt is not None:
        PromptSettings(format=prompt)  # it refuses what is none
    kind = policy or ("local" if model else "portfolio")
    if kind not in get_args(Kind):
        raise InputError(f"no policy {kind}", hint=f"--policy is one of {', '.join(get_args(Kind))}")
    if kind in _WITH_MODEL and model is None:
        raise InputError(f"--policy {kind} needs a model", hint="--model DIR, or --model smollm2")
    if kind in _SERVED and url is None:
        raise InputError(f"--policy {kind} needs a server", hint="--url http://HOST:PORT")
    if kind == "portfolio" and model is not None:
        raise InputError("the portfolio has no model", hint="--policy local or --policy mix uses it")
    if kind != "openai" and not logprobs:
        raise InputError(f"--policy {kind} has log-probabilities", hint="leave out --no-logprobs")
    if kind not in _SERVED and url is not None:
        raise InputError(f"--policy {kind} asks no server", hint="--policy sglang or openai does")
    return Choice(kind, model, url, device, prompt, logprobs)  # type: ignore[arg-type]  # checked above


@dataclass(frozen=True, slots=True)
class Prepared:
    """A policy with its model loaded, and what a run's manifest says of it."""

    choice: Choice
    about: dict[str, Any]
    sampler: Sampler | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Policy]:
        """The policy itself. A server is asked first whether it can do what will be asked of it."""
        if self.sampler is None:
            yield Portfolio()
            return
        model = SampledPolicy(self.sampler)
        try:
            for warning in await self.sampler.check():
                tables.warn(warning)
            yield Mix(model, Portfolio()) if self.choice.kind == "mix" else model
        finally:
            await model.close()


def prepare(choice: Choice, workers: int | None = None) -> Prepared:
    """Load what is to be loaded, in front of the user and before anything is searched.

    A model on the CPU takes the cores that `workers` Leans leave it: threads that wait for a core keep
    the others waiting.
    """
    about: dict[str, Any] = {"policy": choice.kind}
    match choice.kind:
        case "portfolio":
            return Prepared(choice, about)
        case "local" | "mix":
            from burnqed.policy.local.sampler import LocalSampler
            from burnqed.policy.models.load import load

            loaded = with_prompt(load(choice.model or "", choice.device), choice)
            if loaded.device == "cpu":
                import torch

                torch.set_num_threads(max(1, usable_cores() - (workers or default_size())))
            about |= {
                "model": str(choice.model),
                "model_identity": loaded.identity,
                "prompt": loaded.settings.format,
            }
            return Prepared(choice, about, LocalSampler(loaded))
        case "sglang":
            from burnqed.policy.sglang import SglangConfig, SglangSampler

            about |= {"model": choice.model, "url": choice.url, "prompt": choice.prompt}
            return Prepared(choice, about, SglangSampler(SglangConfig(**_address(choice))))
        case "openai":
            from burnqed.policy.openai import OpenAIConfig, OpenAISampler

            about |= {"model": choice.model, "url": choice.url, "prompt": choice.prompt}
            config = OpenAIConfig(**_address(choice), logprobs=choice.logprobs)
            return Prepared(choice, about, OpenAISampler(config))


def with_prompt(loaded: Loaded, choice: Choice) -> Loaded:
    """The model, asked in the way that the options say, if they do."""
    if choice.prompt is None:
        return loaded
    return replace(loaded, settings=replace(loaded.settings, format=choice.prompt))


def _address(choice: Choice) -> dict[str, Any]:
    settings = PromptSettings(format=choice.prompt) if choice.prompt else PromptSettings()
    return {"url": choice.url, "model": choice.model, "settings": settings}
