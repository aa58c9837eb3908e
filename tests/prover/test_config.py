"""A setting is stated once: options of commands are its fields, and so are keyword arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer.main

from burnqed.cli.main import app
from burnqed.core.config import Setting, build, settings_of, validated
from burnqed.core.errors import ConfigError
from burnqed.core.runs import MANIFEST
from burnqed.evaluation.prove import EFFORT
from burnqed.lean.process import LaunchSpec
from burnqed.lean.project import Project
from burnqed.lean.toolchain import Kind, Toolchain
from burnqed.policy.ranked.files import CORE
from burnqed.prover.assembly import Assembled, before_visits
from burnqed.prover.config import (
    Config,
    EncoderConfig,
    EvalConfig,
    LeanConfig,
    ModelConfig,
    NegativesConfig,
    PolicyConfig,
    SearchConfig,
    StepConfig,
)
from burnqed.prover.policies import Choice, chosen
from burnqed.training.settings import JointTraining, PolicyTraining, RankerTraining, ValueTraining

LEAN_ONLY = {"toolchain", "project"}
# The structs of a command, the settings of them that it leaves out, and the options of its own.
COMMANDS: dict[str, tuple[tuple[type[msgspec.Struct], ...], set[str], set[str]]] = {
    "prove": ((Config,), set(), {"what", "write", "at", "suggest", "explain", "server", "disprove"}),
    "search": ((SearchConfig,), set(), {"theorems", "out", "resume", "cluster"}),
    "eval": ((EvalConfig,), set(), {"theorems", "out", "resume", "against", "cluster"}),
    "negatives": ((NegativesConfig,), set(), {"runs", "theorems", "out", "resume", "cluster"}),
    "check": ((LeanConfig,), {"imports", "workers"}, {"file", "against", "seconds"}),
    "model": ((ModelConfig,), set(), {"name", "ask", "n", "temperature", "seed"}),
    "embed": ((EncoderConfig,), set(), {"runs", "out", "model", "url"}),
    "serve encode": ((EncoderConfig,), set(), {"model", "host", "port"}),
    "train policy": ((PolicyTraining,), set(), {"out", "resume"}),
    "train joint": ((JointTraining,), set(), {"out", "resume"}),
    "train ranker": ((RankerTraining, LeanConfig), {"imports"}, {"out"}),
    "train value": ((ValueTraining, EncoderConfig), set(), {"out", "resume"}),
    "data verify": ((LeanConfig,), set(), {"theorems", "split"}),
}
# In one order in every process that runs the tests.
STRUCTS = dict.fromkeys(
    [*(kind for structs, _, _ in COMMANDS.values() for kind in structs), StepConfig]
)


@pytest.mark.parametrize(
    ("config", "visits", "effort"),
    [
        (Config(), True, EFFORT),
        (SearchConfig(effort=3), True, 3),
        (SearchConfig(effort=4000), True, None),
        (SearchConfig(heartbeats=EFFORT), True, None),
        (SearchConfig(follow="pool.jsonl"), False, None),
        (NegativesConfig(), False, None),
    ],
)
def test_which_searches_come_back_to_a_state(
    config: PolicyConfig, visits: bool, effort: int | None
) -> None:
    """Not those whose failures are learnt from, nor those that follow a proof."""
    parts: Any = None
    assembled = Assembled(config, parts, parts, parts, parts, 0.0)
    assert (assembled.by_visits, assembled.effort) == (visits, effort)
    older = replace(assembled, at_once=True)
    assert (older.by_visits, older.effort) == (False, None)


@pytest.mark.parametrize(
    ("config", "manifest", "older"),
    [
        (SearchConfig(), None, False),
        (SearchConfig(), {"visit": 6, "effort": EFFORT}, False),
        (SearchConfig(), {"visit": None, "effort": None}, False),  # one that follows proofs
        (SearchConfig(), {}, True),
        (SearchConfig(effort=4000), {}, True),
        (SearchConfig(effort=300), {}, False),
        (EvalConfig(), {}, True),
        (NegativesConfig(), {}, True),
    ],
)
def test_which_runs_were_begun_before_there_were_visits(
    config: PolicyConfig, manifest: dict[str, Any] | None, older: bool, tmp_path: Path
) -> None:
    if manifest is not None:
        (tmp_path / MANIFEST).write_bytes(msgspec.json.encode(manifest))
    assert before_visits(tmp_path, config) is older


def options_of(name: str) -> dict[str, Any]:
    command: Any = typer.main.get_command(app)
    for word in name.split():
        command = command.commands[word]
    found = {option.name: option for option in command.params}
    return {key: found[key] for key in found if key not in ("help", "as_json")}


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_settings(name: str) -> None:
    kinds, left_out, own = COMMANDS[name]
    settings = {key: one for kind in kinds for key, one in settings_of(kind).items()}
    options = options_of(name)
    assert options.keys() == (settings.keys() - left_out) | own
    for key in settings.keys() - left_out:
        same(options[key], settings[key])


def same(option: Any, setting: Setting) -> None:
    assert option.help == setting.description
    assert option.required == setting.required
    given = option.default() if callable(option.default) else option.default
    default = setting.default
    if setting.many and setting.type is int:
        default = ",".join(map(str, default))
    elif setting.many or setting.required:
        default = None
    assert (given or None) == (default or None), setting.name
    bounds = (None, None) if setting.many else (setting.least, setting.most)
    assert (option.min, option.max) == bounds


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_every_setting_has_a_description_and_a_default_that_fits(kind: type[msgspec.Struct]) -> None:
    settings = settings_of(kind)
    assert all(setting.description.endswith(".") for setting in settings.values())
    given = {name: one.default for name, one in settings.items() if not one.required}
    needed: dict[str, Any] = {"data": ["run"], "runs": ["run"], "model": "words"}
    rest = {name: needed[name] for name, one in settings.items() if one.required}
    assert build(kind, {**given, **rest}) == build(kind, rest)


def every_command(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for word, below in getattr(command, "commands", {"": None}).items():
        yield from every_command(below, f"{name} {word}") if below else [(name, command)]


def test_few_options_stand_above_the_headings() -> None:
    for name, command in every_command(typer.main.get_command(app)):
        plain = [p.name for p in command.params if not getattr(p, "rich_help_panel", None)]
        assert len(plain) + len(("--help",)) <= 12, name


# What a command is about, what it takes from, what it leaves out, what it looks for.
SETS = ("theorems", "--theorems", "--without", "--against")


def test_one_name_for_one_thing() -> None:
    """A theorem set is a command's first argument, or --theorems; --set is a setting of a run."""
    for name, command in every_command(typer.main.get_command(app)):
        flags = {flag for param in command.params for flag in param.opts}
        metavars = {param.metavar: param.opts for param in command.params}
        assert metavars.get("SET", ["theorems"])[0] in SETS, name
        assert "--set" not in flags or metavars["KEY=VALUE"] == ["--set"], name
        assert "OUT" not in metavars, f"{name}: --out is a DIR, or names the kind of file"


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        ({"nodes": 0}, "nodes is 0", "nodes must be a whole number, 1 or more"),
        ({"nodes": "many"}, "nodes is 'many'", "a whole number"),
        ({"nods": 3}, "unknown setting nods", "did you mean nodes?"),
        ({"policy": "oracle"}, "unknown policy oracle", "portfolio, ranked, local"),
        ({"imports": "Std"}, "imports is 'Std'", "a list"),
        ({"temperature": -1.0}, "temperature is -1.0", "0 or more"),
        ({"trust": 1}, "trust is 1", "true or false"),
        ({"value": 3}, "value is 3", "a path"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given: dict[str, Any], said: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(Config, given)
    assert said in caught.value.message
    assert hint in caught.value.hint


def test_what_is_made_in_python_is_looked_at_too() -> None:
    with pytest.raises(ConfigError, match="nodes is 0"):
        validated(Config(nodes=0))
    whole = Config(imports=("Std",), value=Path("v"), nodes=3)
    assert validated(whole) == whole


@pytest.mark.parametrize("kind", ["embedded", "native", "pantograph"])
def test_what_proves_is_what_is_measured(kind: Kind) -> None:
    """Every way to a prover has the same default policy."""
    toolchain = Toolchain(kind, "4", Path(), lambda wanted: LaunchSpec(("lean",), {}, None))
    ways: tuple[PolicyConfig, ...] = (Config(), SearchConfig(), EvalConfig(), NegativesConfig())
    usual = Choice("portfolio") if kind == "pantograph" else Choice("ranked", CORE)
    assert [chosen(config, toolchain) for config in ways] == [usual] * 4
    there = Project(Path(), Path(), Path(), {})
    assert chosen(Config(), replace(toolchain, project=there)) == Choice("portfolio")
