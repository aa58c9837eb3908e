"""Chooses, checks and loads the policy that the settings describe."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import msgspec

from burnqed.core.errors import InputError
from burnqed.core.ports import Policy
from burnqed.lean.pool import default_size, run_sync, usable_cores
from burnqed.lean.toolchain import Toolchain
from burnqed.policy.informed import Informed
from burnqed.policy.mix import Mix, Shares, read_shares
from burnqed.policy.portfolio import Portfolio
from burnqed.policy.prompt import PromptSettings, read_settings
from burnqed.policy.ranked.files import CORE, find_ranker, is_ranker
from burnqed.policy.sampled import SampledPolicy, Sampler
from burnqed.policy.urls import urls_of
from burnqed.prover.config import EncoderConfig, Kind, ModelConfig, PolicyConfig
from burnqed.prover.hosted import Asked, Hosted

if TYPE_CHECKING:  # it loads torch
    from burnqed.policy.models.load import Loaded
    from burnqed.policy.ranked.library import Library
    from burnqed.policy.ranked.retrieval import Retriever
    from burnqed.policy.ranked.weights import Weights
    from burnqed.policy.served import Served, ServedSampler
    from burnqed.value.encoder import LocalEncoder

# Rules propose many cheap tactics at a state; a model alone proposes fewer, at a higher cost.
_CANDIDATES: dict[Kind, int] = {
    "portfolio": 32, "ranked": 32, "local": 8, "mix": 32, "sglang": 8, "openai": 8,
}  # fmt: skip
# Several attempts at temperature 0 would all be equal.
SAMPLING = 1.0
Warn = Callable[[str], None]
Rules = Callable[[Set[str]], Policy]  # of a Lean's own tactics
_WITH_MODEL = ("local", "mix")
_SERVED = ("sglang", "openai")
S = TypeVar("S", bound="Served")


@dataclass(frozen=True, slots=True)
class Choice:
    """The policy of the settings, checked as far as possible without loading anything."""

    kind: Kind
    model: str | None = None
    url: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    prompt: str | None = None
    prompt_tokens: int | None = None
    tactic_tokens: int | None = None
    logprobs: bool = True
    dialect: str | None = None
    ranker: str | None = None
    costs: bool = True  # whether a ranker's costs are used

    @property
    def candidates(self) -> int:
        return _CANDIDATES[self.kind]

    def temperature(self, given: float | None, valued: bool = False) -> float:
        """The given temperature or the default: servers only sample, others can rank candidates.

        With a value model (`valued`), a local model samples as well: its likeliest candidates are
        mostly alike, and the value model can choose among more varied ones.
        """
        if given is None and valued and self.kind == "local":
            return SAMPLING
        usual = SAMPLING if self.kind in _SERVED else 0.0
        if given is not None and given <= 0 < usual:
            raise InputError(
                f"--policy {self.kind} can only sample, which needs a temperature above 0",
                hint=f"leave out --temperature, or give one above 0; the default is {usual:g}",
            )
        return usual if given is None else given

    def settings(self, own: PromptSettings) -> PromptSettings:
        """A model's own prompt settings, replaced where others were given."""
        return PromptSettings(
            self.prompt or own.format,
            self.prompt_tokens or own.prompt_tokens,
            self.tactic_tokens or own.tactic_tokens,
            self.dialect or own.dialect,
            own.lemmas,
        )


def usual(toolchain: Toolchain) -> str | None:
    """The default model; None means the portfolio.

    The ranker was trained with the lemmas of Lean's own library, which an embedded and a native Lean
    have. Reading those of a project takes minutes, so a ranker for it is never the default.
    """
    return CORE if toolchain.kind != "pantograph" and toolchain.project is None else None


def chosen(config: PolicyConfig, toolchain: Toolchain | None = None) -> Choice:
    """The policy of a configuration on a toolchain. Without a toolchain the default is a guess."""
    model = config.model
    if model is None and config.policy is None and toolchain is not None:
        model = usual(toolchain)
    return choice(
        config.policy, model, url=config.url, logprobs=config.logprobs, prompt=config.prompt,
        dialect=config.dialect,
        prompt_tokens=config.prompt_tokens, tactic_tokens=config.tactic_tokens, device=config.device,
        dtype=config.dtype, ranker=config.ranker,
    )  # fmt: skip


def choice(policy: str | None, model: str | None = None, **rest: Any) -> Choice:
    """The policy of these settings together. `rest` are the other fields of a choice."""
    kind: Any = policy or ("portfolio" if model is None else _kind_of(model))
    if kind not in get_args(Kind):
        raise InputError(
            f"unknown policy {kind}", hint=f"--policy is one of {', '.join(get_args(Kind))}"
        )
    found = Choice(kind, model, **rest)
    found.settings(PromptSettings())  # refuses an unknown format
    if kind in _WITH_MODEL and not model:
        raise InputError(f"--policy {kind} needs a model", hint="give --model DIR or --model smollm2")
    if kind in _SERVED and not urls_of(found.url or ""):
        raise InputError(f"--policy {kind} needs a server", hint="give --url http://HOST:PORT")
    if kind == "portfolio" and found != Choice("portfolio"):
        raise InputError(
            "the portfolio has no model, so options of a model do not apply",
            hint="leave them out, or use --policy local, mix or ranked",
        )
    if kind == "ranked" and found != Choice("ranked", model):
        raise InputError(
            "options of a language model do not apply to a ranker",
            hint="leave out --device, --dtype, --prompt and the like",
        )
    if kind != "mix" and found.ranker is not None:
        raise InputError(
            f"--ranker goes with a language model, and --policy {kind} is not mixed with rules",
            hint="--policy mix, or leave out --ranker; a ranker alone is a --model",
        )
    if kind != "openai" and not found.logprobs:
        raise InputError("--no-logprobs is only for --policy openai", hint="leave out --no-logprobs")
    if kind not in _SERVED and found.url is not None:
        raise InputError(
            f"--policy {kind} does not use a server",
            hint="leave out --url, or use --policy sglang or openai",
        )
    if kind in _SERVED and (found.device, found.dtype) != ("auto", "auto"):
        raise InputError(
            "--device and --dtype do not apply to a model on a server", hint="leave them out"
        )
    return found


@dataclass(frozen=True, slots=True)
class Prepared:
    """A policy with its model loaded, and its entries for a run's manifest."""

    choice: Choice
    about: dict[str, Any]
    places: dict[str, Any] = field(default_factory=dict)
    sampler: Callable[[], Sampler] | None = None  # one for each time that it is opened
    loaded: Loaded | None = None  # a local model
    settings: PromptSettings = field(default_factory=PromptSettings)  # of a model
    rules: Rules = Portfolio  # alone, or mixed with a sampler
    retriever: Retriever | None = None  # of the lemmas that it names, or is shown
    shares: Shares = field(default_factory=Shares)  # of a model in a mixture

    @asynccontextmanager
    async def opened(self, tactics: Set[str] = frozenset()) -> AsyncIterator[Policy]:
        """The policy, for a Lean with these `tactics` besides core Lean's; a server is tested first."""
        if self.sampler is None:
            yield self.rules(tactics)
            return
        model = SampledPolicy(self.sampler())
        try:
            await model.sampler.check()
            count = model.sampler.settings.lemmas
            asked = model if self.retriever is None else Informed(model, self.retriever, count)
            mixed = self.choice.kind == "mix"
            yield Mix(asked, self.rules(tactics), self.shares) if mixed else asked
        finally:
            await model.close()


def prepare(
    choice: Choice,
    library: Callable[[], Library],
    workers: int | None,
    warn: Warn,
    elsewhere: Asked | None = None,
) -> Prepared:
    """Load models and test servers, so that errors appear before a run begins.

    `library` gives the running Lean's library; reading it takes a while the first time.

    A model on the CPU uses the cores that `workers` Leans leave free: a thread that waits for a core
    keeps all others waiting. With `elsewhere` a local model is not loaded here, but asked there.
    """
    if elsewhere is not None:
        made = _hosted(choice, library, elsewhere)
    else:
        made = _prepared(choice, library, workers, warn)
    if made.sampler is None or not made.settings.lemmas:
        return made
    from burnqed.policy.ranked.weights import load

    weights = load(find_ranker(CORE))  # the model was trained on what this one finds
    known = library()
    about = made.about | {"lemmas": f"{made.settings.lemmas} of {known.identity}"}
    return replace(made, about=about, retriever=retriever(known, weights))


def _prepared(
    choice: Choice, library: Callable[[], Library], workers: int | None, warn: Warn
) -> Prepared:
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
            LocalSampler(loaded)  # refuses a model with another kind of attention
            made = Prepared(
                choice, about, _places(choice), lambda: LocalSampler(loaded), loaded, loaded.settings
            )
            if choice.kind == "mix":
                return _with_rules(made, library, read_shares(loaded.path))
            return made
        case "sglang":
            from burnqed.policy.sglang import SglangConfig, SglangSampler

            settings = _served_settings(choice, warn)
            sglang = SglangConfig(model=choice.model, settings=settings)
            checked = _served(SglangSampler, sglang, choice, warn)
            about = _about(choice, settings) | {"model": _served_name(choice)}
            return Prepared(choice, about, _places(choice), checked, settings=settings)
        case "openai":
            from burnqed.policy.openai import OpenAIConfig, OpenAISampler

            settings = _served_settings(choice, warn)
            openai = OpenAIConfig(model=choice.model, settings=settings, logprobs=choice.logprobs)
            checked = _served(OpenAISampler, openai, choice, warn)
            about = _about(choice, settings) | {
                "model": _served_name(choice),
                "logprobs": choice.logprobs,
            }
            return Prepared(choice, about, _places(choice), checked, settings=settings)


def _hosted(choice: Choice, library: Callable[[], Library], elsewhere: Asked) -> Prepared:
    """A local model that another process has."""
    hosted = elsewhere.hosted
    about = _about(choice, hosted.settings) | dict(hosted.about)
    made = Prepared(choice, about, {}, elsewhere.sampler, settings=hosted.settings)
    return _with_rules(made, library, hosted.shares) if choice.kind == "mix" else made


def hosted_of(made: Prepared) -> Hosted:
    """A loaded model, as other processes are told of it."""
    about = {name: made.about[name] for name in ("model_identity", "dtype")}
    return Hosted(made.settings, made.shares, about)


def _with_rules(made: Prepared, library: Callable[[], Library], shares: Shares) -> Prepared:
    """A model as half of a mixture: with its shares, and with a ranker if one was given."""
    about = dict(made.about)
    if shares != Shares():
        about["shares"] = msgspec.to_builtins(shares)
    if made.choice.ranker is None:
        return replace(made, about=about, shares=shares)
    beside = _ranked(replace(made.choice, model=made.choice.ranker), library)
    about |= {"ranker": beside.about["model_identity"], "library": beside.about["library"]}
    return replace(made, about=about, shares=shares, rules=beside.rules)


def _ranked(choice: Choice, library: Callable[[], Library]) -> Prepared:
    from burnqed.policy.ranked.policy import Ranked
    from burnqed.policy.ranked.weights import load, untrained

    weights = untrained() if choice.model is None else load(find_ranker(choice.model))
    if not choice.costs:
        weights = weights.costless
    known = library()
    about = {"policy": choice.kind, "model_identity": weights.identity, "library": known.identity}
    lemmas = retriever(known, weights)
    rules = partial(Ranked, lemmas, weights, frozenset())
    return Prepared(choice, about, _places(choice), rules=rules, retriever=lemmas)


def retriever(library: Library, weights: Weights) -> Retriever:
    """Finds lemmas of a library. That of a shipped library is made quickly."""
    from burnqed.policy.ranked.retrieval import Retriever
    from burnqed.policy.ranked.shared_words import shared_words

    return Retriever(library, weights, shared_words(library))


def _kind_of(model: str) -> Kind:
    return "ranked" if is_ranker(find_ranker(model)) else "local"


def local(model: str | None, config: ModelConfig) -> Choice:
    """A language model in this process."""
    return choice("local", model, prompt=config.prompt, device=config.device, dtype=config.dtype)


def encoder(choice: Choice, config: EncoderConfig, warn: Warn) -> LocalEncoder:
    """The encoder that makes embeddings from a local model's hidden states."""
    from burnqed.value.encoder import LocalEncoder

    return LocalEncoder(load_model(choice, warn), config.pooling, config.layer)


def load_model(choice: Choice, warn: Warn) -> Loaded:
    """Load the local model, with the prompt settings of the options if given."""
    from burnqed.policy.models.load import load

    loaded = load(choice.model or "", choice.device, choice.dtype)
    if loaded.note:
        warn(loaded.note)
    return replace(loaded, settings=choice.settings(loaded.settings))


def _about(choice: Choice, settings: PromptSettings) -> dict[str, Any]:
    """A server's address is left out: a run may continue with another server of the same model."""
    return {
        "policy": choice.kind,
        "prompt": f"{settings.format} {settings.prompt_tokens}+{settings.tactic_tokens}"
        + (f" {settings.dialect}" if settings.dialect else ""),
    }


def _places(choice: Choice) -> dict[str, Any]:
    path = Path(choice.model or "")
    return {"model": str(path.resolve()) if choice.model and path.exists() else choice.model}


def _served_name(choice: Choice) -> str | None:
    """The name of a server's model; for a directory the end of its path, which survives moving."""
    if choice.model and Path(choice.model).exists():
        return "/".join(Path(choice.model).resolve().parts[-2:])
    return choice.model


def _served_settings(choice: Choice, warn: Warn) -> PromptSettings:
    """The prompt settings of a served model: its directory records them if it can be read here."""
    own = read_settings(Path(choice.model)) if choice.model and Path(choice.model).is_dir() else None
    if own is None and choice.prompt is None:
        warn(
            f"prompts of the served model have the format {PromptSettings().format}; if it was trained "
            "with another, give --prompt, or its directory as --model"
        )
    return choice.settings(own or PromptSettings())


def _served(
    kind: Callable[[S], ServedSampler[S]], config: S, choice: Choice, warn: Warn
) -> Callable[[], Sampler]:
    """What asks the model's server, or its servers: where there are others, one is soon given up."""
    from burnqed.policy.http import Limits
    from burnqed.policy.replicas import Replicas

    urls = urls_of(choice.url or "")
    if len(urls) == 1:
        return _checked(lambda: kind(replace(config, url=urls[0])), warn)
    own = replace(config, limits=Limits(attempts=2))
    return _checked(lambda: Replicas([kind(replace(own, url=url)) for url in urls], warn), warn)


def _checked(make: Callable[[], Sampler], warn: Warn) -> Callable[[], Sampler]:
    """Test one sampler, and return the function that makes them, one for each event loop."""

    async def check() -> tuple[str, ...]:
        sampler = make()
        try:
            return await sampler.check()
        finally:
            await sampler.close()

    for warning in run_sync(check()):
        warn(warning)
    return make
