"""`burn-qed summary`: what is in a set of trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption


def summary_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run, or a directory of trajectories.")],
    theorems: Annotated[bool, typer.Option("--each", help="A line for each theorem, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what a search found: proved, exhausted by which budget, errors by kind, and what it cost.

    Parts that are damaged are read as far as they go, with a warning, and the exit code is 3.

    Exit codes: 0 here it is, 2 there are no trajectories, 3 some of them are damaged.
    """
    from burnqed.trajectories.store import find_trajectories

    summary = tables.summed_up(find_trajectories(run))
    tables.print_summary(summary, as_json, theorems)
    tables.refuse_damage(summary)
