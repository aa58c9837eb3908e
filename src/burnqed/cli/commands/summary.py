"""`burn-qed summary`: counts of a set of trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.trajectories.summary import summed_up


def summary_command(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A directory of `burn-qed search`, or of trajectories."),
    ],
    theorems: Annotated[
        bool, typer.Option("--each", help="Also print a line for each theorem.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Summarize a search: theorems proved, exhausted budgets, errors by kind, and cost.

    Damaged files are read as far as possible, with a warning, and the exit code is 3.

    Exit codes: 0 shown, 2 there are no trajectories, 3 some of them are damaged.
    """
    from burnqed.trajectories.store import find_trajectories

    summary = summed_up(find_trajectories(run), tables.warn)
    tables.print_summary(summary, as_json, theorems)
    tables.refuse_damage(summary)
