"""`burn-qed data inspect`: what is in data, before anybody learns from it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.cli.progress import counted
from burnqed.core.errors import InfrastructureError
from burnqed.core.files import publish_json
from burnqed.core.storage import remedy
from burnqed.data.contamination import held_out
from burnqed.data.inspection import Inspection
from burnqed.data.prepared import REPORT
from burnqed.data.sources.open import open_source
from burnqed.prover.sets import chosen

_SHOWN = 6  # of sources, and of overlaps
_BARS = "·▁▂▃▄▅▆▇█"


def inspect_command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="A source that was fetched, SOURCE=PATH, a trace, or a file or folder whose columns "
            "say what it is; NAME=PATH names what is read.",
        ),
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
        _print(report)


def _print(report: Mapping[str, Any]) -> None:
    screen = tables.console()
    for one in report["inputs"]:
        _print_schema(one)
    every = sorted(report["sources"].items(), key=lambda one: -one[1]["rows"])
    sources = {name: one for name, one in report["sources"].items() if (name, one) in every[:_SHOWN]}
    if sources:
        screen.print(_overview(sources))
        screen.print(_distributions(sources))
    if len(sources) < len(every):
        screen.print(f"and {len(every) - len(sources)} more sources, in the report")
    if report["overlaps"]:
        table = tables.folding("in both", "pairs", "states", "theorems", "statements", "proofs")
        for one in sorted(report["overlaps"], key=lambda one: -one["pair"])[:_SHOWN]:
            counts = (one[kind] for kind in ("pair", "state", "theorem", "statement", "proof"))
            table.add_row(f"{one['first']}, {one['second']}", *(f"{n:,}" for n in counts))
        screen.print(table)
    for name, one in report["against"].items():
        told = f"{len(one['by_name'])} by name, {len(one['by_statement'])} by what they state"
        screen.print(f"of the {one['theorems']} theorems of {name}, here are: {told}")
        for theorem in one["by_name"][:10]:
            screen.print(f"  {theorem}")
        for theorem, here in list(one["by_statement"].items())[:10]:
            screen.print(f"  {theorem}, here as {here}")


def _print_schema(one: Mapping[str, Any]) -> None:
    malformed = one["malformed"]
    typer.echo(f"{one['given']}: {one['rows']:,} rows, {malformed['rows']:,} of them malformed")
    table = tables.folding("column", "types", "missing")
    for name, column in one["schema"].items():
        types = ", ".join(f"{kind} {n:,}" for kind, n in column["types"].items())
        table.add_row(name, types, f"{column['missing']:,}")
    tables.console().print(table)
    for problem in malformed["first"]:
        tables.warn(problem)
    if malformed["rows"] > len(malformed["first"]):
        tables.warn(f"and {malformed['rows'] - len(malformed['first'])} more")


def _overview(sources: Mapping[str, Any]) -> Table:
    def rate(what: str) -> Callable[[Any], str]:
        def said(source: Any) -> str:
            found = source[what] if what == "cheats" else source["contaminated"][what]
            return f"{found['theorems']:,} ({found['theorem_rate']:.2%}), {found['rows']:,} rows"

        return said

    def listed(what: str) -> Callable[[Any], str]:
        return lambda source: ", ".join(f"{k} {n:,}" for k, n in list(source[what].items())[:8]) or "-"

    lines: dict[str, Callable[[Any], str]] = {
        "steps": lambda s: f"{s['steps']:,}",
        "whole proofs": lambda s: f"{s['proofs']:,}",
        "theorems": lambda s: f"{s['theorems']:,}",
        "theorems with sorry, admit, cheat": rate("cheats"),
        "theorems of --against, by name": rate("by_name"),
        "theorems of --against, by statement": rate("by_statement"),
        "rows there already": lambda s: f"{s['duplicates']['row'] + s['duplicates']['proof']:,}",
        "pairs there already": lambda s: f"{s['duplicates']['pair']:,}",
        "states there already": lambda s: f"{s['duplicates']['state']:,}",
        "bare automation": lambda s: f"{s['trivial_tactics']:,}",
        "empty proofs": lambda s: f"{s['empty_proofs']:,}",
        "ground truth types": listed("ground_truth_types"),
        "imports besides Mathlib": listed("non_mathlib_imports"),
    }
    table = tables.folding("what", *sources)
    for what, said in lines.items():
        table.add_row(what, *(said(source) for source in sources.values()))
    return table


def _distributions(sources: Mapping[str, Any]) -> Table:
    columns = ("min", "mean", "p10", "p50", "p90", "p99", "max")
    table = tables.folding("of", "what", *columns, "how many of 0, 1, 2-3, 4-7, 8-15, …")
    for name, source in sources.items():
        for what, numbers in source["distributions"].items():
            said = (f"{numbers[column]:,.4g}" for column in columns)
            table.add_row(name, what.replace("_", " "), *said, _bars(numbers["histogram"]))
    return table


def _bars(histogram: Sequence[Mapping[str, int]]) -> str:
    """A bar for each bin; what is not empty can be seen."""
    highest = max(one["count"] for one in histogram)
    return "".join(_BARS[-(-one["count"] * (len(_BARS) - 1) // highest)] for one in histogram)
