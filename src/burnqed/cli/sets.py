"""Options of the commands that work through a set of theorems, and their exit codes."""

from __future__ import annotations

from typing import Annotated

import typer

from burnqed.evaluation.run import LEAN_ERRORS

SetArgument = Annotated[
    str,
    typer.Argument(
        metavar="SET",
        help="A benchmark's name (`burn-qed data benchmarks` lists them) or an INDEX.json.",
    ),
]
WithoutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="SET",
        help="Leave out the theorems of this set, compared by name and by statement; repeatable.",
    ),
]


def end(errors: set[str]) -> typer.Exit:
    """The exit for a set's kinds of errors: Lean's failures outweigh wrong statements.

    A proof that the judge refused does not count here: the theorem was searched, another run will not
    help, and the tables show it as an error.
    """
    if errors & LEAN_ERRORS:
        typer.echo("Lean failed on some theorems: --resume searches them again", err=True)
    if "refused" in errors:
        typer.echo("the judge refused some proofs: they count as errors, not as proved", err=True)
    if errors - {"refused", "statement", "unreadable"}:
        return typer.Exit(3)
    return typer.Exit(2 if errors - {"refused"} else 0)
