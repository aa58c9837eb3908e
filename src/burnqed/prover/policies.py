"""Where tactics come from: what settings mean together, and the policies that they make."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from burnqed.core.errors import InputError
from burnqed.core.ports import Policy
from burnqed.lean.pool import default_size, run_sync, usable_cores
from burnqed.lean.toolchain import Toolchain
from burnqed.policy.mix import Mix
from burnqed.policy.portfolio import Portfolio
from burnqed.policy.prompt import PromptSettings, read_settings
from burnqed.policy.ranked.files import CORE, find_ranker, is_ranker
from burnqed.policy.sampled import SampledPolicy, Sampler
from burnqed.prover.config import EncoderConfig, Kind, ModelConfig, PolicyConfig

if TYPE_CHECKING:  # it loads torch
    from burnqed.policy.models.load import Loaded
    from burnqed.policy.ranked.library import Library
    from burnqed.value.encoder import LocalEncoder

# The portfolio has many cheap ideas for a state; a model has a few that cost more.
_CANDIDATES: dict[Kind, int] = {
    "portfolio": 32, "ranked": 32, "local": 8, "mix": 32, "sglang": 8, "openai": 8,
}  # fmt: skip
# Several attempts at temperature 0 would all be the same one.
SAMPLING = 1.0
Warn = Callable[[str], None]
_WITH_MODEL = ("local", "mix")
_SERVED = ("sglang", "openai")


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy that was asked for, checked as far as that goes without loading anything."""

    kind: Kind
    model: str | None = None
    url: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    prompt: str | None = None
    prompt_tokens: int | None = None
    tactic_tokens: int | None = None
    logprobs: bool = True

    @property
    def candidates(self) -> int:
        return _CANDIDATES[self.kind]

    def temperature(self, given: float | None, valued: bool = False) -> float:
        """What was given, or the usual: a server samples, the others can say what is likeliest.

        Where states are `valued`, a model samples as well: what is likeliest is mostly alike, and there
        is somebody to choose.
        """
        if given is None and valued and self.kind == "local":
            return SAMPLING
        usual = SAMPLING if self.kind in _SERVED else 0.0
        if given is not None and given <= 0 < usual:
            raise InputError(
                f"--policy {self.kind} samples, and cannot say what is likeliest",
                hint=f"leave out --temperature, or give one above 0; the default is {usual:g}",
            )
        return usual if given is None else given

    def settings(self, own: PromptSettings) -> PromptSettings:
        """A model's own way of being asked, with what was given in its place."""
        return PromptSettings(
            self.prompt or own.format,
            self.prompt_tokens or own.prompt_tokens,
            self.tactic_tokens or own.tactic_tokens,
        )


def usual(toolchain: Toolchain) -> str | None:
    """The model for whoever says nothing about policies: None is the portfolio.

    The library of the embedded Lean is shipped, and it is what the ranker was trained with. To read
    that of a project takes minutes, which is worth asking for.
    """
    return CORE if toolchain.kind == "embedded" else None


def chosen(config: PolicyConfig, toolchain: Toolchain | None = None) -> Choice:
    """The policy that a configuration means on a toolchain; without one, as far as it can be told."""
    model = config.model
    if model is None and config.policy is None and toolchain is not None:
        model = usual(toolchain)
    return choice(
        config.policy, model, url=config.url, logprobs=config.logprobs, prompt=config.prompt,
        prompt_tokens=config.prompt_tokens, tactic_tokens=config.tactic_tokens, device=config.device,
        dtype=config.dtype,
    )  # fmt: skip


def choice(policy: str | None, model: str | None = None, **rest: Any) -> Choice:
    """What settings mean together; `rest` are the other fields of a choice."""
    kind: Any = policy or ("portfolio" if model is None else _kind_of(model))
    if kind not in get_args(Kind):
        raise InputError(f"no policy {kind}", hint=f"--policy is one of {', '.join(get_args(Kind))}")
    found = Choice(kind, model, **rest)
    found.settings(PromptSettings())  # it refuses a format that is none
    if kind in _WITH_MODEL and not model:
        raise InputError(f"--policy {kind} needs a model", hint="--model DIR, or --model smollm2")
    if kind in _SERVED and found.url is None:
        raise InputError(f"--policy {kind} needs a server", hint="--url http://HOST:PORT")
    if kind == "portfolio" and found != Choice("portfolio"):
        raise InputError(
            "the portfolio has no model, and nothing that could be set about one",
            hint="--policy local, mix or ranked uses a model",
        )
    if kind == "ranked" and found != Choice("ranked", model):
        raise InputError(
            "a ranker runs without a GPU and is asked nothing",
            hint="leave out --device, --dtype, --prompt and their like",
        )
    if kind != "openai" and not found.logprobs:
        raise InputError(f"--policy {kind} has log-probabilities", hint="leave out --no-logprobs")
    if kind not in _SERVED and found.url is not None:
        raise InputError(f"--policy {kind} asks no server", hint="--policy sglang or openai does")
    if kind in _SERVED and (found.device, found.dtype) != ("auto", "auto"):
        raise InputError("a server's model runs where it runs", hint="leave out --device and --dtype")
    return found


@dataclass(frozen=True, slots=True)
class Prepared:
    """A policy with its model loaded, and what a run's manifest says of it and of where it is."""

    choice: Choice
    about: dict[str, Any]
    places: dict[str, Any] = field(default_factory=dict)
    sampler: Callable[[], Sampler] | None = None  # one for each time that it is opened
    loaded: Loaded | None = None  # a local model
    rules: Policy = field(default_factory=Portfolio)  # without a sampler, or beside one

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Policy]:
        """The policy itself. A server is asked first whether it can do what will be asked of it."""
        if self.sampler is None:
            yield self.rules
            return
        model = SampledPolicy(self.sampler())
        try:
            await model.sampler.check()
            yield Mix(model, self.rules) if self.choice.kind == "mix" else model
        finally:
            await model.close()


def prepare(
    choice: Choice, library: Callable[[], Library], workers: int | None, warn: Warn
) -> Prepared:
    """Load what is to be loaded, ask servers, in front of the user and before a run is begun.

    `library` is that of the running Lean; reading it takes a while the first time.

    A model on the CPU takes the cores that `workers` Leans leave it: threads that wait for a core keep
    the others waiting.
    """
    match choice.kind:
        case "portfolio":
            return Prepared(choice, {"policy": choice.kind})
        case "ranked":
            return _ranked(choice, library)
        case "local" | "mix":
            loaded = load_model(choice, warn)
            from burnqed.policy.local.sampler import LocalSampler

            if loaded.device == "cpu":
                import torch

                torch.set_num_threads(max(1, usable_cores() - (workers or default_size())))
            about = _about(choice, loaded.settings) | {
                "model_identity": loaded.identity,
                "dtype": loaded.dtype,
            }
            LocalSampler(loaded)  # it refuses a model whose attention is of another kind
            return Prepared(choice, about, _places(choice), lambda: LocalSampler(loaded), loaded)
        case "sglang":
            from burnqed.policy.sglang import SglangConfig, SglangSampler

            settings = _served_settings(choice, warn)
            sglang = SglangConfig(url=choice.url or "", model=choice.model, settings=settings)
            checked = _checked(lambda: SglangSampler(sglang), warn)
            about = _about(choice, settings) | {"model": _served_name(choice)}
            return Prepared(choice, about, _places(choice), checked)
        case "openai":
            from burnqed.policy.openai import OpenAIConfig, OpenAISampler

            settings = _served_settings(choice, warn)
            openai = OpenAIConfig(
                url=choice.url or "", model=choice.model, settings=settings, logprobs=choice.logprobs
            )
            checked = _checked(lambda: OpenAISampler(openai), warn)
            about = _about(choice, settings) | {
                "model": _served_name(choice),
                "logprobs": choice.logprobs,
            }
            return Prepared(choice, about, _places(choice), checked)


def _ranked(choice: Choice, library: Callable[[], Library]) -> Prepared:
    from burnqed.policy.ranked.policy import Ranked
    from burnqed.policy.ranked.retrieval import Retriever
    from burnqed.policy.ranked.weights import load, untrained

    weights = untrained() if choice.model is None else load(find_ranker(choice.model))
    known = library()
    about = {"policy": choice.kind, "model_identity": weights.identity, "library": known.identity}
    return Prepared(choice, about, _places(choice), rules=Ranked(Retriever(known, weights), weights))


def _kind_of(model: str) -> Kind:
    return "ranked" if is_ranker(find_ranker(model)) else "local"


def local(model: str | None, config: ModelConfig) -> Choice:
    """A language model in this process."""
    return choice("local", model, prompt=config.prompt, device=config.device, dtype=config.dtype)


def encoder(choice: Choice, config: EncoderConfig, warn: Warn) -> LocalEncoder:
    """What makes embeddings of a local model's hidden states."""
    from burnqed.value.encoder import LocalEncoder

    return LocalEncoder(load_model(choice, warn), config.pooling, config.layer)


def load_model(choice: Choice, warn: Warn) -> Loaded:
    """The local model, asked in the way that the options say, if they do."""
    from burnqed.policy.models.load import load

    loaded = load(choice.model or "", choice.device, choice.dtype)
    if loaded.note:
        warn(loaded.note)
    return replace(loaded, settings=choice.settings(loaded.settings))


def _about(choice: Choice, settings: PromptSettings) -> dict[str, Any]:
    """Where a server is does not decide what it says: a run may go on with another."""
    return {
        "policy": choice.kind,
        "prompt": f"{settings.format} {settings.prompt_tokens}+{settings.tactic_tokens}",
    }


def _places(choice: Choice) -> dict[str, Any]:
    path = Path(choice.model or "")
    return {"model": str(path.resolve()) if choice.model and path.exists() else choice.model}


def _served_name(choice: Choice) -> str | None:
    """What a server calls its model; of a directory the end of its path, which is carried along."""
    if choice.model and Path(choice.model).exists():
        return "/".join(Path(choice.model).resolve().parts[-2:])
    return choice.model


def _served_settings(choice: Choice, warn: Warn) -> PromptSettings:
    """A served directory that can be read here says how its model is asked."""
    own = read_settings(Path(choice.model)) if choice.model and Path(choice.model).is_dir() else None
    if own is None and choice.prompt is None:
        warn(
            f"the served model is asked in the format {PromptSettings().format}; if it was trained "
            "with another, give --prompt, or its directory as --model"
        )
    return choice.settings(own or PromptSettings())


def _checked(make: Callable[[], Sampler], warn: Warn) -> Callable[[], Sampler]:
    """How to make samplers, of which one was found to work; each belongs to one event loop."""

    async def check() -> tuple[str, ...]:
        sampler = make()
        try:
            return await sampler.check()
        finally:
            await sampler.close()

    for warning in run_sync(check()):
        warn(warning)
    return make
