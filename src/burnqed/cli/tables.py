"""Summaries as tables for people and JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import typer
from rich.table import Column, Table
from rich.text import Text

from burnqed.core.errors import CorruptError
from burnqed.core.screen import console as console
from burnqed.trajectories.summary import STEP_COLUMNS, Summary, count_steps, summarize


def warn(problem: str) -> None:
    """A problem that does not stop anything, on stderr."""
    print(f"warning: {problem}", file=sys.stderr)


def folding(*titles: str, title: str = "") -> Table:
    """A table whose cells are folded and never cut: half a name is none."""
    columns = [Column(Text(head), overflow="fold") for head in titles]
    return Table(*columns, title=Text(title) if title else None, title_justify="left")


def print_facts(title: str, facts: Mapping[str, object]) -> None:
    """What is known of one thing, a line each; what is not known has none."""
    table = folding("what", "is", title=title)
    for key, value in facts.items():
        if value is not None:
            said = f"{value:,.4g}" if isinstance(value, float) else str(value)
            table.add_row(key.replace("_", " "), said)
    console().print(table)


def summed_up(directory: Path) -> Summary:
    """What is in a set of trajectories; the user is told of parts that are not whole."""
    from burnqed.trajectories.store import iter_steps, read_records

    damage: list[str] = []
    counts = count_steps(iter_steps(directory, columns=STEP_COLUMNS, on_problem=damage.append))
    for problem in damage:
        warn(problem)
    records = read_records(directory, on_problem=lambda _told_already: None)
    return summarize(records, counts, damage)


def refuse_damage(summary: Summary) -> None:
    """Figures with something missing are printed, and are no success."""
    if summary.damage:
        found = len(summary.damage)
        parts = "1 part is" if found == 1 else f"{found} parts are"
        raise CorruptError(
            f"{parts} damaged: the figures are of what can be read",
            hint="--resume the run: what is damaged is set aside, and its theorems searched again",
        )


def summary_json(summary: Summary, theorems: bool = False) -> str:
    content = json.loads(summary.to_json())
    if not theorems:
        content.pop("lines", None)
    return json.dumps(content, ensure_ascii=False)


def print_summary(summary: Summary, as_json: bool, theorems: bool = False) -> None:
    """Standard output gets it, with a line for each theorem if they are asked for."""
    if as_json:
        typer.echo(summary_json(summary, theorems))
        return
    screen = console()
    screen.print(_overview(summary))
    if theorems:
        screen.print(_lines(summary))


def _overview(s: Summary) -> Table:
    table = folding("what", "figure", title="searched")

    def share(count: int) -> str:
        return f"{count} ({count / s.theorems:.1%})" if s.theorems else str(count)

    table.add_row("theorems", str(s.theorems))
    table.add_row(Text("proved", style="green"), share(s.proved))
    for nodes, count in s.proved_within.items():
        table.add_row(f"  within {nodes} nodes", share(count))
    for budget, count in s.exhausted.items():
        table.add_row(f"exhausted: {budget}", share(count))
    if s.leak_rules:
        table.add_row("leak rule of library theorems", " and ".join(s.leak_rules))
    for kind, count in s.errors.items():
        table.add_row(Text(f"error: {kind}", style="red"), share(count))
    table.add_row("nodes", f"{s.nodes} (mean {s.nodes_mean:.1f}, median {s.nodes_median:g})")
    spread = f"{s.candidates_min} / {s.candidates_mean:.1f} / {s.candidates_max}"
    table.add_row("tactics per node, min / mean / max", spread)
    if s.step_counts is not None:
        for title, counts in (("outcome", s.step_counts.by_outcome), ("label", s.step_counts.by_label)):
            said = ", ".join(f"{name} {count}" for name, count in counts.items())
            table.add_row(f"steps by {title}", said or "-")
    rest = s.other_seconds / s.seconds if s.seconds else 0.0
    table.add_row(
        "search seconds", f"{s.seconds:.1f}, Lean's own {s.lean_seconds:.1f}, else {rest:.1%}"
    )
    table.add_row("judge seconds", f"{s.judge_seconds:.1f}")
    return table


def _lines(s: Summary) -> Table:
    table = folding("theorem", "outcome", "nodes", "steps tried", "s", "proof steps")
    for line in s.lines:
        style = {"proved": "green", "error": "red"}.get(line.outcome, "")
        outcome = Text(f"{line.outcome} {line.reason}".strip(), style=style)
        table.add_row(
            Text(line.theorem), outcome, str(line.nodes), str(line.steps), f"{line.seconds:.1f}",
            str(line.proof_steps or ""),
        )  # fmt: skip
    return table
