"""`burn-qed check`: the judge on a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, configured
from burnqed.lean.verdict import Verdict
from burnqed.prover.checking import SECONDS, Checked, check
from burnqed.prover.config import LeanConfig

LONGEST = 200  # characters of a name in the table
SHOWN = 10  # errors beside the verdicts


@configured(LeanConfig, only=("toolchain", "project"))
def check_command(
    file: Annotated[Path, typer.Argument(metavar="FILE.lean", help="Lean source with theorems.")],
    config: LeanConfig,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="STATEMENT.lean",
            help="Trusted source whose theorems end in sorry: FILE must prove exactly those.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=1, help="The whole time, but for setting Lean up the first time.")
    ] = SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Judge the theorems of a file: which are proved, and what do they rest on?

    A theorem is accepted when its text says nothing forbidden, it compiles in a fresh Lean, the
    kernel accepts it and every declaration it needs again, its axioms are among propext,
    Classical.choice and Quot.sound, and (with --against) it states what the trusted file states.

    Verdicts are about theorems. A file with an error elsewhere, in a definition or an example, may have
    all its theorems accepted; its errors are told as well, and it does not exit with 0. Places are
    LINE:COLUMN as Lean counts them: lines from 1, columns from 0.

    Exit codes: 0 all accepted and the file compiles, 1 something refused or an error, 2 bad input,
    3 Lean could not be asked, or had no verdict within --seconds.
    """
    judged = check(file, against, config, seconds)
    if as_json:
        typer.echo(json.dumps(_json(file, judged), ensure_ascii=False))
    else:
        _print(judged.verdicts)
        _warn(judged)
    if not judged:
        raise typer.Exit(1)


def _print(verdicts: Sequence[Verdict]) -> None:
    table = tables.folding("theorem", "verdict", "axioms", "why", "s")
    if any(verdict.accepted and verdict.axioms is None for verdict in verdicts):
        table.caption = "not known, at least: this Lean has no proofs of library theorems to look into"
    for verdict in verdicts:
        style = "green" if verdict.accepted else "red"
        word = Text("accepted" if verdict.accepted else "refused", style=style)
        axioms = verdict.rests_on if verdict.accepted or verdict.axioms_seen else "-"
        reason = Text(verdict.reason.strip().split("\n\n")[0][:400])
        table.add_row(Text(_clipped(verdict.theorem)), word, axioms, reason, f"{verdict.seconds:.1f}")
    tables.console().print(table)


def _clipped(name: str) -> str:
    """A name that is no longer than a screen; --json has the whole."""
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}…"


def _json(file: Path, judged: Checked) -> dict[str, Any]:
    rows = [{k: v for k, v in asdict(one).items() if k != "source"} for one in judged.verdicts]
    errors = [{"line": e.line, "column": e.column, "message": e.text} for e in judged.errors]
    told = {"file": str(file), "toolchain": judged.toolchain, "theorems": rows}
    return {**told, "errors": errors, "hint": judged.hint}


def _warn(judged: Checked) -> None:
    """Errors of the file that no verdict has told, and what may be behind them."""
    said = " ".join(verdict.reason for verdict in judged.verdicts)
    told = {error.command for error in judged.errors if error.said in said}
    untold = [error for error in judged.errors if error.command not in told]
    for error in untold[:SHOWN]:
        tables.warn(f"the file does not compile: {error.said[:400]}")
    if len(untold) > SHOWN:
        tables.warn(f"and {len(untold) - SHOWN} more errors; --json has all of them")
    if judged.hint:
        print(f"  hint: {judged.hint}", file=sys.stderr)
