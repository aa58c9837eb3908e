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
from burnqed.core.files import publish
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
            help="Directories of `burn-qed eval` or their result.json, or one of `burn-qed run`.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Where to write; for a single run, RUN/report by default."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a page and plots of one or more evaluations, or of a run of expert iteration.

    DIR/report.html is a single file that needs no network: rates with intervals, curves, every theorem
    with its proof, every error with its message. The curves are also saved as PNG and SVG. For several
    evaluations, the page compares their curves and lists the theorems that only some of them proved.

    For a run of expert iteration, finished or not, the page shows the rates of all iterations and
    budgets, the effect of the value model, newly proved theorems, gates and cost.

    Examples:

        burn-qed report runs/monday

        burn-qed report runs/monday runs/tuesday --out comparison

        burn-qed report runs/first
    """
    directory = out or _own(runs)
    iterated = [run for run in runs if is_run(run)]
    if iterated and len(runs) > 1:
        raise InputError(
            f"{iterated[0]} is a run of expert iteration and needs a report of its own",
            hint="its evaluations are in eval_results and can be compared with others",
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
    """Where the report of a single run goes by default: into the run."""
    directory = _directory(runs[0])
    if len(runs) > 1 or directory is None:
        what = "several runs" if len(runs) > 1 else f"{runs[0]}, which is not a run's directory,"
        raise InputError(f"a report of {what} needs --out", hint="give --out DIR")
    return directory / "report"


def _directory(run: Path) -> Path | None:
    """The run's directory; None for a file outside of a run."""
    if run.name == RESULT:
        return run.parent
    return None if run.is_file() else run


def _read(path: Path) -> IterationResult:
    result = read_result(path)
    if not result.budget_results:
        raise InputError(f"{path} has no budgets", hint="`burn-qed eval --budgets` writes them")
    return result
