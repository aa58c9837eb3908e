"""What a run of expert iteration is asked to do: one TOML file, a struct for each section.

The defaults are those of a nano model from nothing: no data set, no pretrained prover, the library's
own theorems, and the portfolio as the first teacher.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import asdict, replace

from burnqed.core.cache import brought
from burnqed.core.config import (
    AtLeast0,
    AtLeast1,
    about,
    as_content,
    overridden,
    read_toml,
    sections,
    validated,
)
from burnqed.core.errors import ConfigError
from burnqed.core.types import LeakRule
from burnqed.data.benchmarks import BENCHMARKS
from burnqed.evaluation.negatives import Effort
from burnqed.iteration.older import refuse_options, translated
from burnqed.iteration.settings import (
    EncoderSettings,
    EvalSettings,
    PolicySettings,
    RankerSettings,
    SearchSettings,
    Section,
    ValueSettings,
)
from burnqed.lean.toolchain import Kind as ToolchainKind
from burnqed.policy.models.names import is_hub_name
from burnqed.policy.models.smollm2 import NAME as SMOLLM2
from burnqed.prover.config import NOISE
from burnqed.training.plans import NANO, NANO_LR, Mixture

RANKER = "ranker"  # no language model: rules and lemmas, in an order that is learnt
RANKED = "ranked"  # the policy that a ranker makes
PRESETS = ("smoke", "lean-start", "from-nothing")
TRAIN_NAME = "train"  # theorems/train.json

_MIX = Mixture()
_READ = ("val", "resume_from")  # settings of trainings that are files
Nodes = tuple[AtLeast1, ...]
Share = Annotated[float, Meta(ge=0, le=1)]


class Run(Section, frozen=True, kw_only=True):
    """What all stages share."""

    seed: Annotated[int, about("Same seed, same run.")] = 0
    workers: Annotated[AtLeast1 | None, about("Lean processes to search with.")] = None
    toolchain: Annotated[ToolchainKind | None, about("embedded, native or pantograph.")] = None
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        about("Of models in searches; a training takes the GPU if there is one."),
    ] = "auto"


class Theorems(Section, frozen=True, kw_only=True):
    """What is searched for proofs to learn from. Theorems of the held-out sets are always left out."""

    modules: Annotated[tuple[str, ...], about("Of the library.")] = ("Init", "Std")
    set: Annotated[str, about("An INDEX.json or a benchmark, instead of modules.")] = ""
    split: Annotated[Literal["train", "val", "test", ""], about("Only these of the set.")] = "train"
    sample: Annotated[AtLeast0, about("So many of them; 0: all.")] = 4000
    leak_rule: Annotated[LeakRule, about("What a new proof of a library theorem may use.")] = "self"


class Teacher(Section, frozen=True, kw_only=True):
    """Searches before the first training, by rules: budgets that rise on what is unproved.

    What is not in its sample is new to the searches of the iterations.
    """

    nodes: Annotated[Nodes, about("Budgets of its rounds.")] = (1, 4)
    sample: Annotated[AtLeast0, about("So many of the theorems; 0: all.")] = 0
    candidates: Annotated[AtLeast1 | None, about("Tactics to try at a state.")] = None


class Data(Section, frozen=True, kw_only=True):
    """What the policy learns from.

    `base` are files of pairs, such as human proofs; without any, what the teacher proved takes their
    place. What the run's own searches find comes `extra_weight` times beside `base_sample` of them.
    """

    base: Annotated[tuple[str, ...], about("Files of pairs.")] = ()
    base_sample: Annotated[AtLeast0, about("Pairs of the base to keep.")] = _MIX.base_sample
    extra_weight: Annotated[AtLeast1, about("Times that found pairs come.")] = _MIX.extra_weight
    easy_share: Annotated[Share, about("Of theorems whose proof is one step.")] = 0.5
    val_share: Annotated[
        Annotated[float, Meta(ge=0, le=0.9)], about("Of the theorems, to validate on.")
    ] = 0.1


class Policy(Section, frozen=True, kw_only=True):
    """The model and its training; the learning rate is multiplied by `lr_decay` at each iteration."""

    base: Annotated[str, about("nano, ranker, smollm2, a directory, or a name of the hub.")] = NANO
    nano_size: Annotated[Literal["6m", "15m", "30m"], about("Parameters of nano.")] = "6m"
    lr: Annotated[Share, about("Peak learning rate.")] = NANO_LR
    lr_decay: Annotated[Annotated[float, Meta(ge=1e-6, le=1)], about("At each iteration.")] = 0.5
    first_epochs: Annotated[AtLeast1, about("Of iteration 0.")] = 12
    epochs: Annotated[AtLeast1, about("Of the later iterations.")] = 4
    batch: Annotated[AtLeast1, about("Examples at once.")] = 64
    accumulate: Annotated[AtLeast1, about("Batches to a step.")] = 1
    training: Annotated[PolicySettings, about("More of `burn-qed train policy`.")] = PolicySettings()
    ranker: Annotated[RankerSettings, about("More of `burn-qed train ranker`.")] = RankerSettings()


class Search(Section, frozen=True, kw_only=True):
    """Searching for proofs to learn from: rounds whose budgets rise, each on what is unproved."""

    policy: Annotated[Literal["mix", "local", "ranked"], about("With the trained model.")] = "mix"
    nodes: Annotated[Nodes, about("Budgets of its rounds.")] = (4, 16)
    escalate: Annotated[
        Annotated[float, Meta(ge=0.01, le=100)],
        about("Budgets are multiplied by it at each iteration."),
    ] = 1.0
    sample: Annotated[
        AtLeast0, about("Theorems to begin an iteration with, of those unproved; 0: all.")
    ] = 1000
    candidates: Annotated[AtLeast1 | None, about("Tactics to try at a state.")] = None
    noise_nodes: Annotated[AtLeast0, about("Iteration 0 only; 0: no noise.")] = 4
    noise_temperature: Annotated[
        Annotated[float, Meta(ge=0.01, le=100)], about("What a search with noise samples at.")
    ] = NOISE
    noise_sample: Annotated[AtLeast0, about("Theorems to search with noise.")] = 300
    settings: Annotated[SearchSettings, about("More of `burn-qed search`.")] = SearchSettings()


class Value(Section, frozen=True, kw_only=True):
    """The value model, from iteration `first` on. `model` is `words`, or `policy` for its own model."""

    first: Annotated[AtLeast1, about("The iteration that begins with it.")] = 1
    model: Annotated[Literal["words", "policy"], about("What encodes states.")] = "words"
    siblings: Annotated[AtLeast0, about("To search at each state of a proof.")] = Effort().siblings
    beside_nodes: Annotated[
        AtLeast0, about("Of each sibling's search; 0: no searches beside proofs.")
    ] = 6
    beside_steps: Annotated[AtLeast1, about("Only beside proofs of so many steps.")] = 2
    candidates: Annotated[AtLeast1 | None, about("Of those searches; by default as [search].")] = None
    val_share: Annotated[
        Annotated[float, Meta(ge=0.01, le=0.9)], about("Of the theorems, not trained on.")
    ] = 0.4
    training: Annotated[ValueSettings, about("More of `burn-qed train value`.")] = ValueSettings()
    encoder: Annotated[EncoderSettings, about("How `policy` encodes states.")] = EncoderSettings()


class Eval(Section, frozen=True, kw_only=True):
    """Held-out theorems: never searched for training, whatever the other sections say."""

    sets: Annotated[tuple[str, ...], about("Benchmarks, or INDEX.json files.")] = (
        "core-300", "qed-core",
    )  # fmt: skip
    sample: Annotated[AtLeast0, about("Of each set, for a quick look; 0: all.")] = 0
    budgets: Annotated[Nodes, about("Nodes per theorem.")] = (30, 100, 300)
    candidates: Annotated[AtLeast1 | None, about("Tactics to try at a state.")] = None
    settings: Annotated[EvalSettings, about("More of `burn-qed eval`.")] = EvalSettings()


class Stop(Section, frozen=True, kw_only=True):
    """When `run` ends by default. An `iterate` that is asked for is done whatever these say."""

    patience: Annotated[
        AtLeast0, about("Iterations that may prove no more than one before them; 0: never ends.")
    ] = 2
    min_gain: Annotated[AtLeast0, about("Held-out theorems that count as more.")] = 1
    errors: Annotated[Share, about("Share of theorems that may be errors, of whatever kind.")] = 0.05


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All sections."""

    run: Run = Run()
    theorems: Theorems = Theorems()
    teacher: Teacher = Teacher()
    data: Data = Data()
    policy: Policy = Policy()
    search: Search = Search()
    value: Value = Value()
    eval: Eval = Eval()
    stop: Stop = Stop()


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
    content = read_toml(path)
    refuse_options(content, str(path))
    config = _placed(sections(Config, content, str(path)), path.parent)
    if settings:
        changed = overridden(_without_nones(as_content(config)), settings)
        refuse_options(changed, "--set")
        config = _placed(sections(Config, changed, "--set"), Path.cwd())
    check(config)
    return config


def set_name(given: str) -> str:
    """What a held-out set is called in file names: as the benchmark, or as the index's file."""
    return Path(given).stem if given.endswith(".json") else given


def from_content(content: Mapping[str, Any], where: str) -> Config:
    """The configuration that a run's manifest holds, also one of an older burn-qed."""
    return sections(Config, translated(_without_nones(content), where), where)


def _without_nones(content: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no word for nothing: what is None is left out."""
    return {
        name: _without_nones(value) if isinstance(value, Mapping) else value
        for name, value in content.items()
        if value is not None
    }


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

    policy, search, value, held = config.policy, config.search, config.value, config.eval
    return replace(
        config,
        theorems=replace(config.theorems, set=place(config.theorems.set, "sets")),
        data=replace(config.data, base=tuple(map(place, config.data.base))),
        policy=replace(
            policy,
            base=place(policy.base, "models"),
            training=_placed_paths(policy.training, folder),
        ),
        search=replace(search, settings=_placed_paths(search.settings, folder)),
        value=replace(value, training=_placed_paths(value.training, folder)),
        eval=replace(
            held,
            sets=tuple(place(one, "sets") for one in held.sets),
            settings=_placed_paths(held.settings, folder),
        ),
    )


def _placed_paths(table: Section, folder: Path) -> Section:
    """The same settings with paths from where the configuration lies."""

    def place(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(place, value))
        return (folder / value).resolve() if isinstance(value, Path) else value

    return replace(table, **{name: place(value) for name, value in asdict(table).items()})


def files_of(config: Config) -> Iterator[str]:
    """What a run reads that lies outside of it, but for sets and models that go by a name."""
    yield from config.data.base
    for table in (config.policy.training, config.value.training):
        for name in _READ:
            value = getattr(table, name, None) or ()
            yield from map(str, value if isinstance(value, tuple) else (value,))


def check(config: Config) -> None:
    """Refuse what makes no sense before anything is begun; each stage checks its own options."""
    for section in config.__struct_fields__:
        validated(getattr(config, section), f"[{section}]")
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
    without = "[policy.{}]: it is for another policy than base = {}"
    wrong += [
        (ranked and config.policy.training != PolicySettings(),
         without.format("training", RANKER), "its settings are in [policy.ranker]"),
        (not ranked and config.policy.ranker != RankerSettings(),
         without.format("ranker", config.policy.base), "its settings are in [policy.training]"),
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
    for given in files_of(config):
        fix = "files are meant from where the configuration lies"
        where = "data" if given in config.data.base else "training"
        wrong.append((not _is_placed(given), f"[{where}]: there is no {given}", fix))
    for is_so, message, hint in wrong:
        if is_so:
            raise ConfigError(message, hint=hint)


def _is_placed(given: str) -> bool:
    """Whether it was found when names became paths: stages stand elsewhere than who began the run."""
    return Path(given).is_absolute() and Path(given).exists()
