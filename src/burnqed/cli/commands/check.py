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
SHOWN = 10  # errors printed after the verdicts


@configured(LeanConfig, only=("toolchain", "project"))
def check_command(
    file: Annotated[Path, typer.Argument(metavar="FILE.lean", help="Lean source with theorems.")],
    config: LeanConfig,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="STATEMENT.lean",
            help="A trusted file of theorems that end in sorry. FILE must prove exactly these.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=1, help="Time limit in all, without the first setup of Lean.")
    ] = SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Judge the theorems of a file: which are proved, and which axioms do they use?

    A theorem is accepted if all of this holds: its text contains nothing forbidden. It compiles in a
    fresh Lean. The kernel of a second Lean accepts it and every declaration it needs. Its axioms are
    among propext, Classical.choice and Quot.sound. With --against, it states what the trusted file
    states.

    A file in a lake project is judged with the project's own Lean, options and built modules.

    Verdicts are about theorems. If a definition or an example has an error, the theorems may still be
    accepted; the error is printed and the exit code is 1. Positions are LINE:COLUMN, where lines count
    from 1 and columns from 0, as in Lean.

    Exit codes: 0 all accepted and the file compiles, 1 something was refused or does not compile, 2 bad
    input, 3 Lean failed, or reached no verdict within --seconds.
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
        table.caption = (
            "not known, at least: this Lean has no library proofs to inspect for more axioms"
        )
    for verdict in verdicts:
        style = "green" if verdict.accepted else "red"
        word = Text("accepted" if verdict.accepted else "refused", style=style)
        axioms = verdict.rests_on if verdict.accepted or verdict.axioms_seen else "-"
        reason = Text(verdict.reason.strip().split("\n\n")[0][:400])
        table.add_row(Text(_clipped(verdict.theorem)), word, axioms, reason, f"{verdict.seconds:.1f}")
    tables.console().print(table)


def _clipped(name: str) -> str:
    """A name cut to fit a screen; --json has all of it."""
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}…"


def _json(file: Path, judged: Checked) -> dict[str, Any]:
    rows = [{k: v for k, v in asdict(one).items() if k != "source"} for one in judged.verdicts]
    errors = [{"line": e.line, "column": e.column, "message": e.text} for e in judged.errors]
    head = {"file": str(file), "toolchain": judged.toolchain, "theorems": rows}
    return {**head, "errors": errors, "hint": judged.hint}


def _warn(judged: Checked) -> None:
    """Print the errors of the file that no verdict mentions, with a hint at their cause."""
    reasons = " ".join(verdict.reason for verdict in judged.verdicts)
    shown = {error.command for error in judged.errors if error.said in reasons}
    rest = [error for error in judged.errors if error.command not in shown]
    for error in rest[:SHOWN]:
        tables.warn(f"the file does not compile: {error.said[:400]}")
    if len(rest) > SHOWN:
        tables.warn(f"and {len(rest) - SHOWN} more errors; --json has all of them")
    if judged.hint:
        print(f"  hint: {judged.hint}", file=sys.stderr)
