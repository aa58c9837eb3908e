"""`burn-qed doctor`: everything that burn-qed needs, found or not, with the fix in one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.cluster.health import examine_nodes
from burnqed.cluster.named import cluster_named
from burnqed.prover.health import Finding, examine
from burnqed.prover.sites import LOCAL


def doctor(
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster",
            metavar="WHERE",
            help="Check every node of a Ray cluster instead: ray, HOST:PORT or ray://HOST:PORT.",
        ),
    ] = LOCAL,
    as_json: JsonOption = False,
) -> None:
    """Check everything burn-qed needs, down to a proof judged by Lean.

    Optional parts, such as a native Lean, may be missing. With --cluster each node is checked: what it
    has, how many searches it does at once, whether its burn-qed is the one of this machine, and the
    same as here.

    Examples:

        burn-qed doctor

        burn-qed doctor --cluster ray

    Exit codes: 0 everything needed works, 3 something needed is missing or damaged.
    """
    if cluster == LOCAL:
        findings = examine()
        if as_json:
            typer.echo(json.dumps([asdict(finding) for finding in findings]))
        else:
            _print(findings)
    else:
        nodes = examine_nodes(cluster_named(cluster).name)
        findings = [finding for own in nodes.values() for finding in own]
        if as_json:
            told = {name: [asdict(finding) for finding in own] for name, own in nodes.items()}
            typer.echo(json.dumps(told))
        else:
            for name, own in nodes.items():
                typer.echo(name)
                _print(own)
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(3)


def _print(findings: Sequence[Finding]) -> None:
    marks = {True: ("yes", "green"), False: ("NO", "red"), None: ("-", "dim")}
    table = Table("", "what", "found", "fix")
    for finding in findings:
        word, style = marks[finding.ok]
        table.add_row(Text(word, style=style), finding.what, finding.found, finding.fix)
    tables.console().print(table)
