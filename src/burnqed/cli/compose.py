"""From options to real objects: a toolchain, how to start its REPL, a prover on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from burnqed.core.errors import InputError
from burnqed.core.types import LeakRule
from burnqed.evaluation.prove import Prover
from burnqed.lean.embedded.progress import Terminal
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.toolchain import Toolchain, find
from burnqed.policy.portfolio import Portfolio
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget

# The portfolio has many cheap ideas for a state; a model has a few that cost more.
PORTFOLIO_CANDIDATES = 32
_JUDGES = 2  # one compiles, one verifies

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
CandidatesOption = Annotated[int, typer.Option(min=1, help="Tactics that are tried at a state.")]
SeedOption = Annotated[int, typer.Option(help="Same seed, same search.")]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Lean processes to search with; by itself 3/4 of the cores.")
]
ImportOption = Annotated[
    list[str] | None, typer.Option("--import", metavar="MODULE", help="A module to have, such as Std.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def lean(
    kind: str | None, project: Path | None, arguments: Sequence[str]
) -> tuple[Toolchain, LaunchSpec]:
    """The toolchain, and how to start a REPL with these modules.

    What has to be set up for that is set up now, in front of the user.
    """
    with Terminal() as progress:
        toolchain = find(progress, kind, project.resolve() if project else None)
        return toolchain, toolchain.launch(arguments)


def loadable(kind: str | None, project: Path | None, modules: Sequence[str]) -> list[str]:
    """Those that the toolchain may have; of the embedded Lean it is known without asking."""
    with Terminal() as progress:
        toolchain = find(progress, kind, project.resolve() if project else None)
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
    spec: LaunchSpec, workers: int | None, budget: Budget, settings: Settings | None = None
) -> AsyncIterator[Prover]:
    """The portfolio on `workers` Leans, with judges beside them."""
    async with Pool(spec, workers) as pool, Pool(spec, _JUDGES) as judges:
        yield Prover(pool, judges, Portfolio(), budget, settings=settings or Settings())
