"""From options to real objects: a toolchain, how to start its REPL, a prover on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from burnqed.cli.policies import Prepared
from burnqed.cli.values import Guide
from burnqed.core.errors import InputError
from burnqed.core.types import LeakRule
from burnqed.evaluation.prove import Prover
from burnqed.lean.embedded.progress import Terminal
from burnqed.lean.embedded.snapshot import BOOT_SECONDS
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.protocol import Gate
from burnqed.lean.toolchain import Toolchain, find
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget

if TYPE_CHECKING:  # it loads numpy
    from burnqed.policy.ranked.library import Library

_JUDGES = 2  # at least: one compiles, one verifies

ToolchainOption = Annotated[
    str | None,
    typer.Option(
        "--toolchain",
        metavar="KIND",
        help="embedded, native or pantograph; by itself, a native Lean if there is one.",
    ),
]
ProjectOption = Annotated[
    Path | None,
    typer.Option("--project", help="A lake project; its packages can be imported (native Lean)."),
]
NodesOption = Annotated[
    int, typer.Option(min=1, help="States whose candidates are tried, per theorem.")
]
SeedOption = Annotated[int, typer.Option(help="Same seed, same search.")]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Lean processes to search with; by itself 3/4 of the cores.")
]
ImportOption = Annotated[
    list[str] | None, typer.Option("--import", metavar="MODULE", help="A module to have, such as Std.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def lean(
    kind: str | None,
    project: Path | None,
    modules: Sequence[str],
    options: Sequence[str] = (),
    seconds: float = BOOT_SECONDS,
) -> tuple[Toolchain, LaunchSpec]:
    """The toolchain, and how to start a REPL with these modules.

    What has to be set up for that is set up now, in front of the user.
    """
    with Terminal() as progress:
        toolchain = find(progress, kind, project.resolve() if project else None)
        return toolchain, toolchain.launch(modules, options, seconds)


def library(
    toolchain: Toolchain, spec: LaunchSpec, modules: Sequence[str], project: Path | None,
    workers: int | None,
) -> Library:  # fmt: skip
    """The theorems that this Lean has with these modules: those that come along, or read once."""
    from burnqed.policy.ranked.library import ensure_library, library_file, shipped_library

    if project is None and (own := shipped_library(toolchain, modules)) is not None:
        return own
    path = library_file(toolchain, modules, project)
    with Terminal() as progress:
        return ensure_library(path, spec, workers, progress)


def loadable(kind: str | None, project: Path | None, modules: Sequence[str]) -> list[str]:
    """Those that the toolchain may have; of the embedded Lean it is known without asking."""
    with Terminal() as progress:
        return loaded_by(find(progress, kind, project.resolve() if project else None), modules)


def loaded_by(toolchain: Toolchain, modules: Sequence[str]) -> list[str]:
    """The same of a toolchain that was found."""
    known = ("Init", "Std", "Lean")
    return [m for m in modules if toolchain.kind != "embedded" or m.split(".")[0] in known]


def leak_rule(given: str) -> LeakRule:
    """The rule by its name."""
    match given:
        case "self" | "module":
            return given
        case _:
            raise InputError(f"no leak rule {given}", hint="--leak-rule is self or module")


@asynccontextmanager
async def prover(
    spec: LaunchSpec,
    workers: int | None,
    policy: Prepared,
    budget: Budget,
    settings: Settings,
    guide: Guide,
    gate: Gate | None = None,
) -> AsyncIterator[Prover]:
    """A policy on `workers` Leans, with judges beside them; the guide is closed with it."""
    with closing(guide):
        async with (
            policy.opened() as proposer,
            Pool(spec, workers, gate=gate) as pool,
            # As many as searchers, or finished searches queue up for the last word on what they found.
            Pool(spec, max(_JUDGES, pool.size), gate=gate) as judges,
        ):
            settings = replace(settings, scoring=guide.scoring)
            yield Prover(pool, judges, proposer, budget, guide.value, settings)
