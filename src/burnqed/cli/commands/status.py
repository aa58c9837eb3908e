"""`burn-qed status` and `burn-qed reset`: the progress of a run, and a return to its beginning."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import iteration_tables, tables
from burnqed.cli.options import JsonOption
from burnqed.iteration import rounds
from burnqed.iteration.directory import locked, read_run
from burnqed.iteration.history import BASELINE
from burnqed.iteration.runner import typed
from burnqed.iteration.summary import to_json, write_summary

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A directory of `burn-qed run`.")]


def status_command(run: RunArgument, as_json: JsonOption = False) -> None:
    """Show the progress of a run of expert iteration: what is done, what is next, what it cost.

    This works while the run is active. Logs of its stages are in RUN/logs.

    Exit codes: 0 shown, 2 RUN is not a run.
    """
    config, _ = read_run(run)
    history = rounds.history(run, config)
    following = rounds.due_now(run, config, history)
    command = "" if following is None else typed(run, following.stage)
    for problem in history.damage:
        tables.warn(problem)
    if as_json:
        content = to_json(history) | {"due": following and following.stage.name,
                                      "due_command": command}  # fmt: skip
        typer.echo(json.dumps(content, ensure_ascii=False))
        return
    iteration_tables.print_stages(history)
    iteration_tables.print_history(history)
    if following is not None:
        label = "baseline" if following.stage.iteration == BASELINE else following.stage.iteration
        typer.echo(f"next: {following.stage.name} of iteration {label}: {command}")
    if history.ended:
        typer.echo(f"`burn-qed run` goes no further: {history.ended}")
    elif following is None:
        more = ["burn-qed", "run", "--iterations", str(len(history.iterations)), "--out", str(run)]
        typer.echo(f"finished: {history.extent}; for one more: {shlex.join(more)}")


def reset_command(
    run: RunArgument,
    first: Annotated[
        int,
        typer.Option(
            "--from",
            min=-1,
            metavar="N",
            help="The first iteration to set aside; -1 includes the baseline.",
        ),
    ] = 0,
) -> None:
    """Set iterations of a run aside, so that the next `burn-qed run` repeats them.

    Everything from iteration N on moves to RUN/set_aside, except theorem sets, the baseline and the
    teacher's searches. Nothing is deleted.

    Example:

        burn-qed reset runs/first --from 2

    Exit codes: 0 done, 2 RUN is not a run.
    """
    config, _ = read_run(run)
    with locked(run, tables.warn):
        place = rounds.set_aside(run, first)
        write_summary(run, rounds.history(run, config))
    typer.echo(f"moved to {place}" if place else "there was nothing to set aside")
