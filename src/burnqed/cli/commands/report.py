"""`burn-qed report`: evaluations as a page and as plots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.labels import labels_of
from burnqed.cli.options import JsonOption
from burnqed.core.errors import InputError
from burnqed.core.runs import publish
from burnqed.evaluation.results import RESULT, IterationResult, read_result
from burnqed.iteration import rounds
from burnqed.iteration.directory import is_run, read_run
from burnqed.report.iteration_plots import save_iteration_plots
from burnqed.report.iterations import iteration_page
from burnqed.report.page import page
from burnqed.report.plots import save_plots

PAGE = "report.html"


def report_command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Evaluations (directories, or result.json files), or one `burn-qed run`.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Where to write; by default RUN/report, for a single run."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write what an evaluation found as a page to read and plots to show.

    DIR/report.html is one file with all in it: rates with their intervals, curves, every theorem with
    its proof, every error with its text. It needs no network and can be sent to anybody. The curves are
    beside it as PNG and SVG. Of several runs, each has its curve, and the page says which theorems one
    proved and another did not.

    Of a run of expert iteration, finished or not, the page has the solve rates of all iterations and
    budgets, what the value model did, newly proved theorems, gates and cost.

    Examples:

        burn-qed report runs/monday

        burn-qed report runs/monday runs/tuesday --out comparison

        burn-qed report runs/first
    """
    directory = out or _own(runs)
    iterated = [run for run in runs if is_run(run)]
    if iterated and len(runs) > 1:
        raise InputError(
            f"{iterated[0]} is a run of expert iteration, and is drawn alone",
            hint="its evaluations are in eval_results, and can be drawn beside others",
        )
    if iterated:
        config, _ = read_run(runs[0])
        history = rounds.history(runs[0], config)
        for problem in history.damage:
            tables.warn(problem)
        text, plots = iteration_page(history), save_iteration_plots(history, directory)
    else:
        results = [_read(path) for path in runs]
        labelled = list(zip(labels_of(runs), results, strict=True))
        text, plots = page(labelled), save_plots(labelled, directory)
    publish(directory / PAGE, text)
    if as_json:
        content = {"page": str(directory / PAGE), "plots": [str(path) for path in plots]}
        typer.echo(json.dumps(content, ensure_ascii=False))
        return
    for path in (directory / PAGE, *plots):
        typer.echo(path)


def _own(runs: Sequence[Path]) -> Path:
    """Where the report of a run belongs if nobody says: into the run."""
    directory = _directory(runs[0])
    if len(runs) > 1 or directory is None:
        what = "several runs" if len(runs) > 1 else f"{runs[0]}, which is no run's directory"
        raise InputError(f"a report of {what} needs a place", hint="give one with --out DIR")
    return directory / "report"


def _directory(run: Path) -> Path | None:
    """The run's directory; None for a file that was put elsewhere."""
    if run.name == RESULT:
        return run.parent
    return None if run.is_file() else run


def _read(path: Path) -> IterationResult:
    result = read_result(path)
    if not result.budget_results:
        raise InputError(f"{path} has no budgets", hint="`burn-qed eval --budgets` makes results")
    return result
