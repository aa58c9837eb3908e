"""The command that is shown for a stage does the same: parsed, it asks for what the stage asks for.

The functions that commands call are replaced for a test, and only by `monkeypatch`: what is not put
back would be called by the tests after it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest
from msgspec.structs import replace

from burnqed.core.config import as_content, from_json
from burnqed.iteration.config import Config, read_config
from burnqed.iteration.sections import (
    Cluster,
    Data,
    Embeddings,
    Eval,
    Joint,
    Policy,
    Search,
    Served,
    Teacher,
    Theorems,
    Value,
)
from burnqed.iteration.specs import (
    Evaluate,
    Export,
    Fetch,
    Index,
    Look,
    Negatives,
    Pairs,
    Spec,
    Stage,
    TrainJoint,
    TrainPolicy,
    TrainRanker,
    TrainValue,
)
from burnqed.iteration.specs import Search as Searching
from burnqed.prover.config import LeanConfig
from burnqed.prover.data_config import IndexConfig
from tests.cli.in_process import burn_qed
from tests.iteration.plans import RANKED, walk

ROOT = Path(__file__).parent.parent.parent


class Asked(Exception):
    """What a command would have done."""

    def __init__(self, spec: Spec, resume: bool = False) -> None:
        super().__init__()
        self.spec = spec
        self.resume = resume


# What each command calls, as the specification that asks for the same.
CALLED: dict[str, Callable[..., Asked]] = {
    "data.bring": lambda found, config, local, again: Asked(Fetch(name=found.name, config=config)),
    "data.index": lambda config, out, warn: Asked(Index(config=config, out=out)),
    "pairs.pairs": lambda runs, out, config, warn: Asked(
        Pairs(runs=tuple(runs), config=config, out=out)
    ),
    "export.export": lambda source, out, config: Asked(Export(source=source, config=config, out=out)),
    "search.search": lambda theorems, out, config, watch, resume, cluster: Asked(
        Searching(theorems=theorems, config=config, out=out, cluster=cluster.name), resume
    ),
    "negatives.negatives": lambda runs, theorems, out, config, watch, resume, cluster: Asked(
        Negatives(theorems=theorems, runs=tuple(runs), config=config, out=out, cluster=cluster.name),
        resume,
    ),
    "eval.evaluate": lambda theorems, out, config, watch, resume, against, cluster: Asked(
        Evaluate(theorems=theorems, config=config, out=out, cluster=cluster.name), resume
    ),
    "train.train_policy": lambda config, out, watch, resume: Asked(
        TrainPolicy(config=config, out=out), resume
    ),
    "train_ranker.train_ranker": lambda config, out, lean, watch: Asked(
        TrainRanker(config=config, lean=lean, out=out)
    ),
    "train_value.train_value": lambda config, out, encoding, watch, resume: Asked(
        TrainValue(config=config, encoding=encoding, out=out), resume
    ),
    "train_joint.train_joint": lambda config, out, watch, resume: Asked(
        TrainJoint(config=config, out=out), resume
    ),
    "embeddings.look_at": lambda runs, models, config, out, watch, embeddings: Asked(
        Look(
            runs=tuple(runs),
            model=models[0][1],
            against=models[1][1] if len(models) > 1 else None,
            config=config,
            embeddings=embeddings,
            out=out,
        )
    ),
}
Parse = Callable[[str], Asked]


@pytest.fixture
def parse(monkeypatch: pytest.MonkeyPatch) -> Parse:
    """From a command line to what it asks for."""

    def stand_in(asked: Callable[..., Asked]) -> Callable[..., NoReturn]:
        def called(*given: Any, **named: Any) -> NoReturn:
            raise asked(*given, **named)

        return called

    for place, asked in CALLED.items():
        module, name = place.split(".")
        found = import_module(f"burnqed.cli.commands.{module}")
        monkeypatch.setattr(found, name, stand_in(asked))

    def parsed(command: str) -> Asked:
        program, *arguments = shlex.split(command)
        assert program == "burn-qed"
        with pytest.raises(Asked) as caught:
            burn_qed(*arguments)
        return caught.value

    return parsed


TOML = """
[run]
seed = 3
workers = 2
toolchain = "embedded"
project = "lake project"
[theorems]
set = "qed-core"
[data]
base = ["human.jsonl"]
[policy]
base = "smollm2"
lr = 2e-4
lr_decay = 0.3
[policy.training]
weight_decay = 0.125
checkpointing = true
rank = 8
val = ["apart.jsonl"]
[search]
escalate = 1.5
[search.settings]
temperature = 0.7
logprobs = false
imports = ["Std", "Lean"]
heartbeats = 1000
[value]
model = "policy"
[value.training]
slower = false
k = 3
epochs = 2
[value.encoder]
pooling = "last"
[eval]
sample = 5
[eval.settings]
pass_n = 2
temperature = 1.0
"""


def mine(folder: Path) -> Config:
    (folder / "mine.toml").write_text(TOML)
    for name in ("human.jsonl", "apart.jsonl"):
        (folder / name).write_text("{}")
    return read_config(str(folder / "mine.toml"))


CONFIGS: dict[str, Callable[[Path], Config]] = {
    "default": lambda _: Config(),
    "ranked": lambda _: RANKED,
    "smoke": lambda _: read_config("smoke"),
    "from-nothing": lambda _: read_config("from-nothing"),
    "turn": lambda _: read_config(str(ROOT / "recipes" / "language-model-turn.toml")),
    "taught": lambda _: Config(
        teacher=Teacher(sample=9), eval=Eval(sample=7), search=Search(noise_nodes=0),
        data=Data(extra_weight=2), policy=Policy(nano_size="15m"), value=Value(first=2),
    ),
    "mine": mine,
    "heart": lambda _: read_config("heart"),
    "on a cluster": lambda _: Config(cluster=Cluster(address="head:6379")),
    "taught by others": lambda _: Config(
        teacher=Teacher(policy="served"), served=Served(url="http://a:1,http://b:2", logprobs=False)
    ),
    "served": lambda _: Config(
        policy=Policy(base="served"), search=Search(policy="served"),
        served=Served(kind="sglang", url="http://a:1", model="m", prompt="colons"),
    ),
    "both": lambda _: Config(
        value=Value(model="policy"), joint=Joint(first=1), embeddings=Embeddings(states=0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_the_command_of_a_stage_asks_for_the_same(name: str, tmp_path: Path, parse: Parse) -> None:
    for stage in walk(CONFIGS[name](tmp_path), 1):
        asked = parse(stage.shown())
        assert asked.spec == stage.spec, stage.shown()
        assert not asked.resume


def test_so_does_the_command_that_goes_on_with_it(parse: Parse) -> None:
    seen = set[type[Spec]]()
    for stage in walk(CONFIGS["both"](Path()), 1):
        if stage.spec.resumes and type(stage.spec) not in seen:
            seen.add(type(stage.spec))
            asked = parse(stage.shown(resume=True))
            assert (asked.spec, asked.resume) == (stage.spec, True)
    assert seen == {Searching, Negatives, TrainPolicy, TrainJoint, Evaluate}


def test_every_setting_of_a_table_gets_to_its_stage(tmp_path: Path) -> None:
    config = mine(tmp_path)
    stages = {stage.key: stage.spec for stage in walk(config, 1)}
    policy, value, search = stages[1, "policy"], stages[1, "value"], stages[0, "search-1"]
    noise, held = stages[0, "noise"], stages[1, "eval-core-300"]
    assert isinstance(policy, TrainPolicy)
    assert (policy.config.weight_decay, policy.config.checkpointing, policy.config.rank) == (
        0.125,
        True,
        8,
    )
    assert policy.config.val == (tmp_path / "apart.jsonl",)
    assert policy.config.lr == 6e-5
    assert isinstance(value, TrainValue)
    assert (value.config.slower, value.config.k, value.encoding.pooling) == (False, 3, "last")
    for spec, temperature in ((search, 0.7), (noise, 1.2)):
        assert isinstance(spec, Searching)
        assert spec.config.temperature == temperature
        assert (spec.config.logprobs, spec.config.imports) == (False, ("Std", "Lean"))
    assert isinstance(held, Evaluate)
    assert (held.config.pass_n, held.config.temperature) == (2, 1.0)


def test_a_project_gets_to_every_stage_that_starts_lean(tmp_path: Path) -> None:
    """Its path is meant from the file that names it."""
    config = mine(tmp_path)
    kinds = set[type[Spec]]()
    for stage in walk(config, 1):
        asked = getattr(stage.spec, "config", None)
        selects = isinstance(asked, IndexConfig) and asked.theorems is not None
        if isinstance(asked, LeanConfig) and not selects:
            assert asked.project == tmp_path / "lake project"
            kinds.add(type(stage.spec))
    assert kinds >= {Searching, Negatives, Evaluate}
    # By default what is searched is the project's own.
    own = replace(config, theorems=Theorems())
    (index,) = (s.spec for s in walk(own, 0) if s.name == "theorems")
    assert isinstance(index, Index)
    assert (index.config.module, index.config.project) == ((), tmp_path / "lake project")
    chosen = replace(config, theorems=Theorems(modules=("Std",)))
    (index,) = (s.spec for s in walk(chosen, 0) if s.name == "theorems")
    assert isinstance(index, Index)
    assert index.config.module == ("Std",)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_stage_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    for stage in walk(CONFIGS[name](tmp_path), 2):
        assert from_json(Stage, msgspec.json.encode(as_content(stage))) == stage
