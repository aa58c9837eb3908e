"""`burn-qed data inspect`: what is in data, before anybody learns from it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.inspection_tables import print_inspected
from burnqed.cli.options import JsonOption, source_argument
from burnqed.cli.progress import counted
from burnqed.core.errors import InfrastructureError
from burnqed.core.files import publish_json
from burnqed.core.storage import remedy
from burnqed.data.contamination import held_out
from burnqed.data.inspection import Inspection
from burnqed.data.prepared import REPORT
from burnqed.data.sources.open import open_source
from burnqed.prover.sets import chosen


def inspect_command(
    inputs: Annotated[
        list[str],
        source_argument("Steps or whole proofs", "; NAME=PATH names what is read"),
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="SET",
            help="Look for the theorems of this benchmark or index, by name and by what they state; "
            "repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR|FILE.json",
            help="Write the report to DIR/report.json, or to a file.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is in data: rows, columns, depths, lengths, duplicates, contamination, overlaps.

    Published sets are read as `burn-qed data sources` lists them. Rows of our own are steps, {"state",
    "tactic", "theorem", "depth"}, or whole proofs, {"theorem", "statement", "proof"} and perhaps
    "context"; a row may name its "source", else the file's name is that. Rows that cannot be read are
    counted and the first ten told.

    Per source: theorems with a sorry, admit or cheat; theorems of --against; rows that come twice; how
    deep proofs are, how long states and tactics; what is imported besides Mathlib; proofs that are
    empty; ground_truth_type where there is one. Between two sources: pairs, states, theorems in both.

    Examples:

        burn-qed data inspect traced/ --against minif2f-test --against core-300

        burn-qed data inspect numinamath-lean mine=a.parquet --json --out report.json

    Exit codes: 0 looked at, whatever was found; 2 an input is not there.
    """
    found = [open_source(one) for one in inputs]
    held = {index.name: held_out([index]) for index in (chosen(s) for s in against or ())}
    try:
        with (
            tempfile.TemporaryDirectory(prefix="burn-qed-inspect-") as work,
            Inspection(Path(work), held) as inspection,
            counted("reading", None, shown=not as_json) as advance,
        ):
            report = inspection.report([inspection.read(one, advance, tables.warn) for one in found])
    except OSError as error:  # of what has to meet on disk; inputs tell of their own
        raise InfrastructureError(
            f"cannot write to {tempfile.gettempdir()}: {error.strerror or error}",
            hint=remedy(error, Path(tempfile.gettempdir()) / "new", "set TMPDIR to another folder"),
        ) from error
    if out is not None:
        path = out if out.suffix == ".json" else out / REPORT
        publish_json(path, report)
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
    else:
        print_inspected(report)
