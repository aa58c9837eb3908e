"""A training set built by a recipe: one TOML file says which sources, and what is done with them.

OUT/sources/NAME/…   what was done with each source (`data/build`)
OUT/data             the training set, as `burn-qed data prepare` makes it
OUT/theorems.json    what the proofs of its contrastive pool prove, as a set to search
OUT/report.json      what came in, what was dropped and why, step by step; written last
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

from msgspec.structs import replace

from burnqed.core.config import about, as_content, read_toml, sections
from burnqed.core.config import build as built
from burnqed.core.errors import ConfigError, InputError
from burnqed.core.files import publish
from burnqed.core.runs import MANIFEST, check_out, open_run
from burnqed.core.watching import Watcher
from burnqed.data import build as steps
from burnqed.data.benchmarks import BENCHMARKS
from burnqed.data.build_inputs import find_input
from burnqed.data.contamination import held_out
from burnqed.data.fix_rules import load_fixes
from burnqed.data.index import write_index
from burnqed.data.prepare import POOL
from burnqed.data.recipe import Section, Source, Trace
from burnqed.data.sources.open import Opened, read_steps
from burnqed.data.splits import read_shares
from burnqed.data.stated_set import StatedSet, checked, of_pool
from burnqed.data.with_lean import Report, Tools, modules_with
from burnqed.lean.pool import run_sync
from burnqed.prover.config import LeanConfig
from burnqed.prover.data_config import PrepareConfig
from burnqed.prover.indexing import bring
from burnqed.prover.leans import Leans
from burnqed.prover.preparing import Preparing

REPORT, DATA, THEOREMS = "report.json", "data", "theorems.json"
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*")


class Build(Section, frozen=True, kw_only=True):
    """What is written beside the training set."""

    theorems: Annotated[
        bool, about("Write theorems.json: what the proofs of the pool prove, to search it.")
    ] = True


class Settings(Section, frozen=True, kw_only=True):
    """The sections of a recipe, but for its sources."""

    build: Build = Build()
    lean: LeanConfig = LeanConfig()
    trace: Trace = Trace()
    prepare: PrepareConfig = PrepareConfig()


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides a training set, with the sources in their order."""

    settings: Settings
    sources: Mapping[str, Source]

    def content(self) -> dict[str, Any]:
        """As a manifest holds it. Where a file lies decides nothing, nor how many Leans there are."""
        told = as_content(self.settings)
        del told["lean"]["workers"]
        named = {
            name: replace(one, input=one.input.rpartition(os.sep)[2])
            for name, one in self.sources.items()
        }
        told["prepare"]["without"] = [one.rpartition(os.sep)[2] for one in told["prepare"]["without"]]
        return {**told, "sources": {name: as_content(one) for name, one in named.items()}}


class View(Watcher, Protocol):
    """A watcher that also sees what comes before Lean, and after it."""

    def looking(self) -> AbstractContextManager[Callable[[int], None]]:
        """Receives the number of rows that were looked through before anything is begun."""

    def preparing(self) -> AbstractContextManager[Callable[[str, int], None]]:
        """Receives the stage and the number of rows done."""


# ------------------------------------------------------------------------------------ recipes


def read_recipe(path: Path) -> Recipe:
    """A recipe that makes sense. Paths in it are meant from where the file lies."""
    content = read_toml(path)
    told = content.pop("sources", None)
    if not isinstance(told, dict) or not told:
        raise ConfigError(f"{path} has no sources", hint="[sources.NAME] begins one")
    settings = sections(Settings, content, str(path))
    found = {}
    for name, own in told.items():
        where = f"{path}, [sources.{name}]"
        if not isinstance(own, dict):
            raise ConfigError(f"{path}: sources.{name} is not a section", hint=f"[sources.{name}]")
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{where}: a name is letters, digits, `_`, `-` and `.`")
        one = built(Source, own, where)
        found[name] = replace(one, input=_placed(one.input, path.parent))
    prepare = settings.prepare
    without = tuple(_placed(one, path.parent) for one in prepare.without)
    recipe = Recipe(replace(settings, prepare=replace(prepare, without=without)), found)
    _check(recipe, str(path))
    return recipe


def _placed(given: str, folder: Path) -> str:
    """A path, or the one in SOURCE=PATH, from where the recipe lies; a name stays what it is."""
    name, equals, path = given.rpartition("=")
    place = folder / path
    return f"{name}{equals}{place.resolve()}" if path and place.exists() else given


def _check(recipe: Recipe, where: str) -> None:
    """What no field can say of itself."""
    prepare = recipe.settings.prepare
    Preparing(prepare, Path("data"))
    read_shares(prepare.splits)
    for given in prepare.without:
        if given not in BENCHMARKS and not os.path.exists(given):  # noqa: PTH110
            raise ConfigError(
                f"{where}, [prepare]: there is no set {given}",
                hint="a benchmark (`burn-qed data benchmarks`), or an INDEX.json beside the recipe",
            )
    for name, one in recipe.sources.items():
        path = one.input.rpartition("=")[2]
        if os.sep in path and not os.path.exists(path):  # noqa: PTH110
            raise ConfigError(f"{where}, [sources.{name}]: there is no {path}")


# ----------------------------------------------------------------------------------- building


def build(recipe: Recipe, out: Path, view: View) -> dict[str, Any] | None:
    """Build into a directory, or go on there, and give the report; None when it was stopped."""
    settings = recipe.settings
    check_out(out)
    preparing = Preparing(settings.prepare, out / DATA)
    for name in settings.prepare.without:
        if name in BENCHMARKS:
            bring(BENCHMARKS[name], settings.lean)
    preparing.load()
    inputs = [find_input(name, wish, view.warn) for name, wish in recipe.sources.items()]
    if not (out / MANIFEST).exists():
        with view.looking() as looked_at:
            for one in inputs:
                one.look_through(looked_at)
    here = Leans(settings.lean)
    asked = {
        "command": "data build", "recipe": recipe.content(),
        "inputs": {one.name: one.checksum() for one in inputs},
        "without": [{"set": held.name, "checksum": held.checksum} for held in preparing.held],
        "toolchain": here.label,
    }  # fmt: skip
    open_run(out, json.loads(json.dumps(asked)), resume=True)
    if (out / REPORT).exists():
        return steps.read_report(out / REPORT)
    held = held_out(preparing.held)

    async def make_ready() -> list[steps.Ready] | None:
        lean = settings.lean
        tools = Tools(
            here, view, view.stopping(), load_fixes(), settings.trace, lean.workers, lean.imports
        )
        plan = steps.Plan(tools, held, settings.prepare.seed)
        found = []
        for one in inputs:
            ready = await steps.make_ready(one, out / "sources" / one.name, plan)
            if ready is None:
                return None
            found.append(ready)
        return found

    found = run_sync(make_ready())
    if found is None:
        return None
    ready = {
        one.name: got.opened for one, got in zip(inputs, found, strict=True) if got.opened is not None
    }
    told = {one.name: list(got.told) for one, got in zip(inputs, found, strict=True)}
    if not ready:
        raise InputError(f"no source came to anything: {_said(told)}")
    opened = list(ready.values())
    prepared = preparing.earlier(opened, lambda: None)
    if prepared is None:
        with view.preparing() as on_rows:
            prepared = preparing.run(opened, on_rows, view.warn)
    report = _report(recipe, asked, told, prepared, {one.given: name for name, one in ready.items()})
    if settings.build.theorems and prepared["pool"]["theorems"]:
        stated = run_sync(_theorems(out, ready, settings.lean, here, view))
        if stated is None:
            return None
        report["theorems"] = stated
    publish(out / REPORT, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return report


# ------------------------------------------------------------------------- what comes of it


async def _theorems(
    out: Path, ready: Mapping[str, Opened], config: LeanConfig, here: Leans, view: View
) -> dict[str, Any] | None:
    """The search set of the pool. What does not elaborate is left out, and counted."""
    stop = view.stopping()
    pool_file = out / DATA / POOL
    found = of_pool(read_steps(f"steps={pool_file}"), ready, view.warn)
    modules = modules_with(here, config.imports, found.imports)
    async with here.pool(modules) as pool:
        with view.tally("statements", len(found.entries)) as count:
            work = asyncio.create_task(checked(pool, found, modules, lambda: count({})))
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if not work.done():
                work.cancel()
                return None
            stated: StatedSet = work.result()
    entries = [entry for entry in stated.entries if entry.get("error") is None]
    dropped = {**stated.left_out, "does not elaborate": len(stated.entries) - len(entries)}
    if entries:
        more = {"imports": modules, "files": stated.files}
        write_index(out / THEOREMS, "pool", entries, more)
    return {
        "in": len(stated.entries) + sum(stated.left_out.values()),
        "out": len(entries),
        "dropped": {why: number for why, number in dropped.items() if number},
    }


def _report(
    recipe: Recipe,
    asked: Mapping[str, Any],
    told: Mapping[str, list[Report]],
    prepared: Mapping[str, Any],
    names: Mapping[str, str],
) -> dict[str, Any]:
    """Counts, and nothing of places or times: the same recipe on the same sources gives the same."""
    return {
        "format": 1,
        "recipe": recipe.content(),
        "inputs": asked["inputs"],
        "without": asked["without"],
        "toolchain": asked["toolchain"],
        "sources": told,
        "prepare": {
            key: prepared[key] for key in ("rows", "theorems", "sources", "overlaps", "pool", "files")
        },
        "malformed": [
            {"source": names[one["input"]], "rows": one["rows"]} for one in prepared["malformed"]
        ],
    }


def _said(told: Mapping[str, Sequence[Report]]) -> str:
    last = {name: some[-1] for name, some in told.items() if some}
    return "; ".join(
        f"{name}: {one['step']}, {one['out']} of {one['in']} {one['what']}"
        + "".join(f", {why} {count}" for why, count in one["dropped"].items())
        for name, one in last.items()
    )
