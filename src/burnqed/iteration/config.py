"""What a run of expert iteration is asked to do: one TOML file, a dataclass for each section.

The defaults are those of a nano model from nothing: no data set, no pretrained prover, the library's
own theorems, and the portfolio as the first teacher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

from burnqed.core.cache import brought
from burnqed.core.config import as_content, overridden, read_toml, sections
from burnqed.core.errors import ConfigError
from burnqed.data.benchmarks import BENCHMARKS
from burnqed.policy.models.names import is_hub_name
from burnqed.policy.models.smollm2 import NAME as SMOLLM2

NANO = "nano"  # random weights: nothing that could be asked before it is trained
RANKER = "ranker"  # no language model: rules and lemmas, in an order that is learnt
RANKED = "ranked"  # the policy that a ranker makes
PRESETS = ("smoke", "lean-start", "from-nothing")
TRAIN_NAME = "train"  # theorems/train.json
_ANY = float("inf")
_LIMITS: dict[str, dict[str, tuple[float, float]]] = {
    "run": {"workers": (1, _ANY)},
    "theorems": {"sample": (0, _ANY)},
    "teacher": {"nodes": (1, _ANY), "sample": (0, _ANY), "candidates": (1, _ANY)},
    "data": {"base_sample": (0, _ANY), "extra_weight": (1, _ANY), "easy_share": (0, 1),
             "val_share": (0, 0.9)},
    "policy": {"lr": (0, 1), "lr_decay": (1e-6, 1), "first_epochs": (1, _ANY), "epochs": (1, _ANY),
               "batch": (1, _ANY), "accumulate": (1, _ANY)},
    "search": {"nodes": (1, _ANY), "escalate": (0.01, 100), "sample": (0, _ANY),
               "candidates": (1, _ANY), "noise_nodes": (0, _ANY), "noise_temperature": (0.01, 100),
               "noise_sample": (0, _ANY)},
    "value": {"first": (1, _ANY), "siblings": (0, _ANY), "beside_nodes": (0, _ANY),
              "beside_steps": (1, _ANY), "candidates": (1, _ANY), "val_share": (0.01, 0.9)},
    "eval": {"sample": (0, _ANY), "budgets": (1, _ANY), "candidates": (1, _ANY)},
    "stop": {"patience": (0, _ANY), "min_gain": (0, _ANY), "errors": (0, 1)},
}  # fmt: skip
_CHOICES = (
    ("theorems", "split", ("train", "val", "test", "")),
    ("theorems", "leak_rule", ("self", "module")),
    ("search", "policy", ("mix", "local", RANKED)),
    ("value", "model", ("words", "policy")),
    ("run", "device", ("auto", "cpu", "cuda")),
    ("policy", "nano_size", ("6m", "15m", "30m")),
)


@dataclass(frozen=True, slots=True)
class Run:
    """What all stages share."""

    seed: int = 0
    workers: int | None = None
    toolchain: str | None = None
    device: str = "auto"  # of models in searches; a training takes the GPU if there is one


@dataclass(frozen=True, slots=True)
class Theorems:
    """What is searched for proofs to learn from. Theorems of the held-out sets are always left out."""

    modules: tuple[str, ...] = ("Init", "Std")  # of the library
    set: str = ""  # an INDEX.json or a benchmark, instead of modules
    split: str = "train"
    sample: int = 4000  # so many of them; 0: all
    leak_rule: str = "self"


@dataclass(frozen=True, slots=True)
class Teacher:
    """Searches before the first training, by rules: budgets that rise on what is unproved.

    What is not in its sample is new to the searches of the iterations.
    """

    nodes: tuple[int, ...] = (1, 4)
    sample: int = 0  # so many of the theorems; 0: all
    candidates: int | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """What the policy learns from.

    `base` are files of pairs, such as human proofs; without any, what the teacher proved takes their
    place. What the run's own searches find comes `extra_weight` times beside `base_sample` of them.
    """

    base: tuple[str, ...] = ()
    base_sample: int = 10_000
    extra_weight: int = 10
    easy_share: float = 0.5  # of theorems whose proof is one step
    val_share: float = 0.1


@dataclass(frozen=True, slots=True)
class Policy:
    """The model and its training; the learning rate is multiplied by `lr_decay` at each iteration."""

    base: str = NANO
    nano_size: str = "6m"
    lr: float = 1e-3
    lr_decay: float = 0.5
    first_epochs: int = 12
    epochs: int = 4
    batch: int = 64
    accumulate: int = 1
    options: tuple[str, ...] = ()  # more of `burn-qed train policy`


@dataclass(frozen=True, slots=True)
class Search:
    """Searching for proofs to learn from: rounds whose budgets rise, each on what is unproved."""

    policy: str = "mix"
    nodes: tuple[int, ...] = (4, 16)
    escalate: float = 1.0  # budgets are multiplied by it at each iteration
    sample: int = 1000  # theorems to begin an iteration with, of those unproved; 0: all
    candidates: int | None = None
    noise_nodes: int = 4  # iteration 0 only; 0: no noise
    noise_temperature: float = 1.2
    noise_sample: int = 300
    options: tuple[str, ...] = ()  # more of `burn-qed search`


@dataclass(frozen=True, slots=True)
class Value:
    """The value model, from iteration `first` on. `model` is `words`, or `policy` for its own model."""

    first: int = 1
    model: str = "words"
    siblings: int = 4
    beside_nodes: int = 6  # of each sibling's search; 0: no searches beside proofs
    beside_steps: int = 2  # only beside proofs of so many steps
    candidates: int | None = None  # of those searches; by itself as [search]
    val_share: float = 0.4
    options: tuple[str, ...] = ("--slower",)  # more of `burn-qed train value`


@dataclass(frozen=True, slots=True)
class Eval:
    """Held-out theorems: never searched for training, whatever the other sections say."""

    sets: tuple[str, ...] = ("core-300", "qed-core")
    sample: int = 0  # of each set, for a quick look; 0: all
    budgets: tuple[int, ...] = (30, 100, 300)
    candidates: int | None = None
    options: tuple[str, ...] = ()  # more of `burn-qed eval`


@dataclass(frozen=True, slots=True)
class Stop:
    """When `run` ends by itself. An `iterate` that is asked for is done whatever these say."""

    patience: int = 2  # iterations that may prove no more than one before them; 0: never ends
    min_gain: int = 1  # held-out theorems that count as more
    errors: float = 0.05  # share of theorems that may be errors, of whatever kind


@dataclass(frozen=True, slots=True)
class Config:
    run: Run = field(default_factory=Run)
    theorems: Theorems = field(default_factory=Theorems)
    teacher: Teacher = field(default_factory=Teacher)
    data: Data = field(default_factory=Data)
    policy: Policy = field(default_factory=Policy)
    search: Search = field(default_factory=Search)
    value: Value = field(default_factory=Value)
    eval: Eval = field(default_factory=Eval)
    stop: Stop = field(default_factory=Stop)


def read_config(given: str, settings: Sequence[str] = ()) -> Config:
    """A preset by its name, or a TOML file, with `section.key=value` settings in their places.

    Paths in a file are meant from where the file lies, those in settings from where one stands.
    """
    if given in PRESETS:
        path = Path(str(files("burnqed.iteration") / "presets" / f"{given}.toml"))
    elif Path(given).suffix == ".toml" or Path(given).exists():
        path = Path(given)
    else:
        raise ConfigError(
            f"no configuration {given}", hint=f"a .toml file, or one of {', '.join(PRESETS)}"
        )
    config = _placed(sections(Config, read_toml(path), str(path)), path.parent)
    if settings:
        changed = overridden(_without_nones(as_content(config)), settings)
        config = _placed(sections(Config, changed, "--set"), Path.cwd())
    check(config)
    return config


def set_name(given: str) -> str:
    """What a held-out set is called in file names: as the benchmark, or as the index's file."""
    return Path(given).stem if given.endswith(".json") else given


def from_content(content: dict[str, dict[str, object]], where: str) -> Config:
    """The configuration that a run's manifest holds."""
    return sections(Config, _without_nones(content), where)


def _without_nones(content: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """TOML has no word for nothing: what is None is left out."""
    return {name: {k: v for k, v in own.items() if v is not None} for name, own in content.items()}


def _placed(config: Config, folder: Path) -> Config:
    """Names that are files beside the configuration or came with a bundle, as absolute paths; what has
    a meaning keeps it.
    """

    def place(name: str, kind: Literal["sets", "models"] | None = None) -> str:
        path = folder / name
        if not name or name in (NANO, RANKER) or name in BENCHMARKS:
            return name
        carried = brought(kind, name) if kind and not path.exists() else None
        return str((carried or path).resolve()) if carried or path.exists() else name

    return replace(
        config,
        theorems=replace(config.theorems, set=place(config.theorems.set, "sets")),
        data=replace(config.data, base=tuple(map(place, config.data.base))),
        policy=replace(config.policy, base=place(config.policy.base, "models")),
        eval=replace(config.eval, sets=tuple(place(one, "sets") for one in config.eval.sets)),
    )


def check(config: Config) -> None:
    """What the types do not say, before anything is begun; each stage checks its own options."""
    for section, limits in _LIMITS.items():
        for key, (low, high) in limits.items():
            value = getattr(getattr(config, section), key)
            for one in value if isinstance(value, tuple) else (value,):
                if one is not None and not low <= one <= high:
                    end = "or more" if high == _ANY else f"to {high:g}"
                    raise ConfigError(f"[{section}]: {key} is {one:g}", hint=f"give {low:g} {end}")
    for section, key, known in _CHOICES:
        value = getattr(getattr(config, section), key)
        if value not in known:
            words = ", ".join(word for word in known if word)
            raise ConfigError(f"[{section}]: no {key} {value}", hint=f"there are: {words}")
    wrong = [
        (not config.eval.sets, "[eval]: sets is empty", "name a benchmark, such as qed-core"),
        (not config.eval.budgets, "[eval]: budgets is empty", "numbers of nodes, such as [30, 100]"),
        (not config.search.nodes, "[search]: nodes is empty", "budgets of its rounds, such as [4, 16]"),
        (not (config.data.base or config.teacher.nodes), "[teacher]: nodes is empty",
         "without [data] base the teacher is all there is"),
        (not (config.theorems.set or config.theorems.modules), "[theorems]: no set and no modules", ""),
    ]  # fmt: skip
    ranked = config.search.policy == RANKED
    wrong += [
        (ranked != (config.policy.base == RANKER),
         f"[search]: policy is {config.search.policy}, and [policy]: base is {config.policy.base}",
         f'base = "{RANKER}" and policy = "{RANKED}" go together'),
        (ranked and config.value.model == "policy", "[value]: a ranker encodes no states",
         'model = "words"'),
        (ranked and bool(config.data.base), "[data]: a ranker learns from searches, and not from pairs",
         "leave out base; the searches of the teacher come first"),
    ]  # fmt: skip
    taught_easy = not ranked and not config.data.base and max(config.teacher.nodes, default=0) == 1
    wrong += [
        (taught_easy and config.data.easy_share < 1,
         "[teacher]: within one node all proofs are one step, and [data] easy_share caps these",
         "more nodes, such as [1, 4], or easy_share = 1"),
    ]  # fmt: skip
    names = [set_name(given) for given in config.eval.sets]
    for name in names:
        twice = names.count(name) > 1
        wrong.append((twice, f"[eval]: two sets are called {name}", "give one file another name"))
        reserved = name == TRAIN_NAME
        wrong.append(
            (reserved, f"[eval]: a set called {name} is held out", "give the file another name")
        )
    for given in (*config.eval.sets, *filter(None, [config.theorems.set])):
        here = given in BENCHMARKS or (given.endswith(".json") and _is_placed(given))
        fix = "a benchmark, an INDEX.json beside the configuration, or a bundle's set"
        wrong.append((not here, f"there is no set {given}", fix))
    base = config.policy.base
    named = base in (NANO, RANKER, SMOLLM2) or (is_hub_name(base) and not Path(base).exists())
    fix = f"{NANO}, {RANKER}, {SMOLLM2}, a directory beside the configuration, or a name of the hub"
    wrong.append((not named and not _is_placed(base), f"[policy]: there is no {base}", fix))
    for given in config.data.base:
        fix = "files of pairs, meant from where the configuration lies"
        wrong.append((not _is_placed(given), f"[data]: there is no {given}", fix))
    for is_so, message, hint in wrong:
        if is_so:
            raise ConfigError(message, hint=hint)


def _is_placed(given: str) -> bool:
    """Whether it was found when names became paths: stages stand elsewhere than who began the run."""
    return Path(given).is_absolute() and Path(given).exists()
