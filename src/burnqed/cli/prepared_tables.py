"""What was prepared and built to learn from, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from burnqed.cli import tables
from burnqed.data.prepare import RULES

_COLUMNS = 6  # of sources in a table; of more, report.json tells
_WHY = {
    "malformed": "not a row of a step",
    "cheat": "its theorem has a sorry, admit or cheat",
    "without_name": "its theorem is one of --without, by name",
    "without_statement": "its theorem states what one of --without states",
    "mathlib": "its tactic has one that core Lean does not have",
    "state_chars": "the state has --state-chars or more",
    "prompt_tokens": "the prompt has too many tokens",
    "tactic_tokens": "the tactic has too many tokens",
    "ends_tactic": "the tactic has in it what ends one in this prompt",
    "duplicate": "the pair was there already, in the same source",
    "overlap": "the pair was there already, in an earlier source",
    "trivial": "bare automation, beyond its share",
}


def print_prepared(report: Mapping[str, Any]) -> None:
    """Print what came in, what each rule dropped, and what is left, by source."""
    every = report["sources"]
    sources = every if len(every) <= _COLUMNS else {}
    table = tables.folding("rows", "all", *sources, "why")
    rows = report["rows"]
    table.add_row("in", f"{rows['in']:,}", *(f"{one['in']:,}" for one in sources.values()), "")
    for rule in ("malformed", *RULES):
        if rows["dropped"][rule]:
            cells = [f"{one['dropped'].get(rule, 0):,}" for one in sources.values()]
            table.add_row(f"- {rule}", f"{rows['dropped'][rule]:,}", *cells, _WHY[rule])
    for what in ("out", "train", "val", "test"):
        style = "green" if what == "out" else ""
        cells = [f"{one[what]:,}" for one in sources.values()]
        table.add_row(Text(what, style=style), f"{rows[what]:,}", *cells, "")
    pool = [f"{one['pool_rows']:,}" for one in sources.values()]
    why = f"steps of {report['pool']['theorems']:,} whole proofs that are deep"
    for what, of in (
        ("with premises", [one["with_premises"] for one in every.values()]),
        ("Mathlib's tactics", [one["mathlib"]["rows"] for one in every.values()]),
    ):
        cells = [f"{n:,}" for n in of] if sources else []
        table.add_row(what, f"{sum(of):,}", *cells, "of the rows that came in")
    table.add_row("contrastive pool", f"{report['pool']['rows']:,}", *pool, why)
    tables.console().print(table)
    for one in sorted(report["overlaps"], key=lambda one: -one["pairs"])[:_COLUMNS]:
        typer.echo(f"{one['pairs']:,} pairs of {one['later']} are in {one['first']} already")


def print_built(told: Mapping[str, Any], out: Path) -> None:
    """Print what became of each source, and what was prepared of all."""
    from burnqed.prover.building import DATA, REPORT, THEOREMS

    table = tables.folding("source", "step", "of", "in", "out", "steps", "dropped because")
    for name, some in told["sources"].items():
        for one in some:
            table.add_row(name, *_cells(one))
    if "theorems" in told:
        table.add_row("", *_cells({"step": "search set", "what": "theorems", **told["theorems"]}))
    tables.console().print(table)
    print_prepared(told["prepare"])
    made = f"{out / DATA}" + (f" and {out / THEOREMS}" if "theorems" in told else "")
    typer.echo(f"{made}: made; {out / REPORT} has it all")


def _cells(one: Mapping[str, Any]) -> list[str]:
    dropped = ", ".join(f"{why} {count:,}" for why, count in one["dropped"].items())
    step = f"{one['step']}: {one['verdict']}" if "verdict" in one else one["step"]
    steps = f"{one['steps']:,}" if "steps" in one else ""
    return [step, one["what"], f"{one['in']:,}", f"{one['out']:,}", steps, dropped]
