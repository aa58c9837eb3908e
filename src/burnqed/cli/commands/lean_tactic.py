"""`burn-qed lean tactic`: the tactic `qed?` for a lake project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli.options import JsonOption
from burnqed.lean import tactic


def tactic_command(
    project: Annotated[
        Path, typer.Argument(metavar="PROJECT", help="The folder of a lake project.")
    ] = Path(),
    as_json: JsonOption = False,
) -> None:
    """Write BurnQed.lean into a lake project, for the tactic `qed?`.

    After `import BurnQed`, `qed?` asks `burn-qed prove` for a proof of its goal, has Lean run it, and
    offers it as "Try this". A BurnQed.lean that an older burn-qed wrote is replaced. The lakefile must
    name the file; if it does not, the lines to add are printed.

    Examples:

        burn-qed lean tactic

        burn-qed lean tactic ~/lean/my-project

    Exit codes: 0 it is there, 2 PROJECT is not a lake project, or has another BurnQed.lean, 3 it cannot
    be written.
    """
    written = tactic.write(project)
    unlisted = written.unlisted
    if as_json:
        to_add = None if unlisted is None else tactic.LISTED[unlisted.name]
        told = {"path": str(written.path), "changed": written.changed, "add_to_lakefile": to_add}
        typer.echo(json.dumps(told))
        return
    typer.echo(f"{written.path}: {'written' if written.changed else 'there already'}")
    if unlisted is not None:
        typer.echo(f"add this to {unlisted}:\n\n{tactic.LISTED[unlisted.name]}")
    typer.echo("then: lake build BurnQed; in a file: import BurnQed; as a proof: by qed?")
