"""What a run of expert iteration is asked to do: one TOML file, a struct for each section.

The defaults are those of a nano model from nothing: no data set, no pretrained prover, the library's
own theorems, and the portfolio as the first teacher.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import asdict, replace

from burnqed.cluster.named import cluster_named
from burnqed.core.cache import brought
from burnqed.core.config import as_content, overridden, read_toml, sections, validated
from burnqed.core.errors import ConfigError
from burnqed.data.benchmarks import BENCHMARKS
from burnqed.iteration.older import refuse_options, translated
from burnqed.iteration.sections import (
    Cluster,
    Data,
    Embeddings,
    Eval,
    Joint,
    Policy,
    Run,
    Search,
    Served,
    Stop,
    Teacher,
    Theorems,
    Value,
)
from burnqed.iteration.settings import JointSettings, PolicySettings, RankerSettings, Section
from burnqed.policy.models.names import is_hub_name
from burnqed.policy.models.smollm2 import NAME as SMOLLM2
from burnqed.policy.urls import urls_of
from burnqed.prover.config import FEWEST_STATES
from burnqed.training.plans import NANO

RANKER = "ranker"  # no language model: rules and lemmas, in an order that is learnt
RANKED = "ranked"  # the policy that a ranker makes
SERVED = "served"  # a model behind servers, which stays as it is
PRESETS = ("smoke", "lean-start", "from-nothing", "heart")
TRAIN_NAME = "train"  # theorems/train.json

_READ = ("val", "resume_from")  # settings of trainings that are files


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All sections."""

    run: Run = Run()
    cluster: Cluster = Cluster()
    theorems: Theorems = Theorems()
    teacher: Teacher = Teacher()
    data: Data = Data()
    policy: Policy = Policy()
    served: Served = Served()
    search: Search = Search()
    value: Value = Value()
    joint: Joint = Joint()
    embeddings: Embeddings = Embeddings()
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
    """The configuration that a run's manifest holds, also one of an older burn-qed.

    Before there were `[embeddings]`, nothing was measured, and a run that was begun so ends so.
    """
    whole = {"embeddings": {"states": 0, "red_line": "warn"}, **content}
    return sections(Config, translated(_without_nones(whole), where), where)


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
        if not name or name in (NANO, RANKER, SERVED) or name in BENCHMARKS:
            return name
        carried = brought(kind, name) if kind and not path.exists() else None
        return str((carried or path).resolve()) if carried or path.exists() else name

    policy, search, value, held = config.policy, config.search, config.value, config.eval
    return replace(
        config,
        run=_placed_paths(config.run, folder),
        theorems=replace(config.theorems, set=place(config.theorems.set, "sets")),
        data=replace(config.data, base=tuple(map(place, config.data.base))),
        policy=replace(
            policy,
            base=place(policy.base, "models"),
            training=_placed_paths(policy.training, folder),
        ),
        search=replace(search, settings=_placed_paths(search.settings, folder)),
        value=replace(value, training=_placed_paths(value.training, folder)),
        joint=replace(config.joint, training=_placed_paths(config.joint.training, folder)),
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
        return (folder / value.expanduser()).resolve() if isinstance(value, Path) else value

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
    cluster_named(config.cluster.address)
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
    served = config.search.policy == SERVED
    asked = served or config.teacher.policy == SERVED
    wrong += [
        (served != (config.policy.base == SERVED),
         f"[search]: policy is {config.search.policy}, and [policy]: base is {config.policy.base}",
         f'base = "{SERVED}" and policy = "{SERVED}" go together; a teacher has a section of its own'),
        (served and config.value.model == "policy",
         "[value]: a served model gives no hidden states", 'model = "words"'),
        (served and bool(config.data.base), "[data]: a served model learns from no pairs",
         "leave out base"),
        (asked and not urls_of(config.served.url), "[served]: url is empty",
         "where its servers are, such as http://HOST:8000,http://OTHER:8000"),
        (not asked and bool(config.served.url), "[served]: nothing asks it",
         f'[teacher] policy = "{SERVED}", or [search] policy and [policy] base = "{SERVED}"'),
    ]  # fmt: skip
    joint, states = config.joint, config.embeddings.states
    wrong += [
        (joint.first is not None and config.value.model != "policy",
         "[joint]: it trains a head on the policy's own model, and [value] model is words",
         'model = "policy"'),
        (joint.first is not None and joint.first < config.value.first,
         f"[joint]: first is {joint.first}, and value models begin at {config.value.first}",
         "a smaller [value] first"),
        (joint.first is None and joint.training != JointSettings(),
         "[joint.training]: no iteration trains both models together", "[joint] first = 1"),
        (0 < states < FEWEST_STATES, f"[embeddings]: {states} states say nothing",
         f"{FEWEST_STATES} at least, or 0: nothing is measured"),
    ]  # fmt: skip
    without = "[policy.{}]: it is for another policy than base = {}"
    wrong += [
        (ranked and config.policy.training != PolicySettings(),
         without.format("training", RANKER), "its settings are in [policy.ranker]"),
        (not ranked and config.policy.ranker != RankerSettings(),
         without.format("ranker", config.policy.base), "its settings are in [policy.training]"),
    ]  # fmt: skip
    taught = not (ranked or served or config.data.base)
    taught_easy = taught and max(config.teacher.nodes, default=0) == 1
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
    named = base in (NANO, RANKER, SERVED, SMOLLM2) or (is_hub_name(base) and not Path(base).exists())
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
