"""What `burn-qed data inspect` found, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from rich.table import Table

from burnqed.cli import tables

_SHOWN = 6  # of sources, and of overlaps
_BARS = "·▁▂▃▄▅▆▇█"


def print_inspected(report: Mapping[str, Any]) -> None:
    """Print what is in data, by input and by source."""
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
