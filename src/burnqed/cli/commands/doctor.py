"""`burn-qed doctor`: everything that burn-qed needs, found or not, with the fix in one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import typer
from rich.table import Table
from rich.text import Text

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.prover.health import Finding, examine


def doctor(as_json: JsonOption = False) -> None:
    """Check everything burn-qed needs, down to a proof judged by Lean.

    Optional parts, such as a native Lean, may be missing.

    Exit codes: 0 everything needed works, 3 something needed is missing or damaged.
    """
    findings = examine()
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings]))
    else:
        _print(findings)
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(3)


def _print(findings: Sequence[Finding]) -> None:
    marks = {True: ("yes", "green"), False: ("NO", "red"), None: ("-", "dim")}
    table = Table("", "what", "found", "fix")
    for finding in findings:
        word, style = marks[finding.ok]
        table.add_row(Text(word, style=style), finding.what, finding.found, finding.fix)
    tables.console().print(table)
