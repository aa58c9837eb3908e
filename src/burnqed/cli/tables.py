"""Summaries as tables and as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.table import Column, Table
from rich.text import Text

from burnqed.core.errors import CorruptError
from burnqed.core.screen import console as console
from burnqed.trajectories.summary import Summary

_NOTHING: Mapping[str, object] = {}


def warn(problem: str) -> None:
    """Print a warning on stderr."""
    print(f"warning: {problem}", file=sys.stderr)


def folding(*titles: str, title: str = "") -> Table:
    """A table whose cells wrap and are never cut: half a name is useless."""
    columns = [Column(Text(head), overflow="fold") for head in titles]
    return Table(*columns, title=Text(title) if title else None, title_justify="left")


def print_facts(title: str, facts: Mapping[str, object]) -> None:
    """Print a table of facts about one thing, without those that are None."""
    table = folding("what", "is", title=title)
    for key, value in facts.items():
        if value is not None:
            shown = f"{value:,.4g}" if isinstance(value, float) else str(value)
            table.add_row(key.replace("_", " "), shown)
    console().print(table)


def print_trained(
    result: Mapping[str, Any], out: Path, as_json: bool, last: Mapping[str, object] = _NOTHING
) -> None:
    """Print what a training achieved; `last` comes at the end, in place of the result's own."""
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    figures = {k: v for k, v in result.items() if not isinstance(v, dict) and k not in last}
    print_facts(f"trained: {out / 'best'}", {**result.get("data", {}), **figures, **last})


def print_value_trained(result: Mapping[str, Any], out: Path, as_json: bool) -> None:
    """The same of a value model, whose verdict comes at the end."""
    last: dict[str, str | None] = {
        f"test_rank1_at_depth_{depth}": f"{found['rank1']:.3f} of {found['groups']} groups, chance "
        f"{found['chance']:.3f}, log-probability {result['test_logprob_by_depth'][depth]:.3f}"
        for depth, found in result["test_by_depth"].items()
    }
    if folds := result.get("folds"):
        ranks = [fold["test_rank1"] for fold in folds.values()]
        last["heads_that_judged"] = f"{len(ranks)}, test rank1 {min(ranks):.3f} to {max(ranks):.3f}"
    last |= {"told": None, "verdict": f"{result['verdict']}: {result['told']}"}
    print_trained(result, out, as_json, last)


def refuse_damage(summary: Summary) -> None:
    """Fail if something is missing from the figures that were printed."""
    if summary.damage:
        found = len(summary.damage)
        parts = "1 part is" if found == 1 else f"{found} parts are"
        raise CorruptError(
            f"{parts} damaged: the figures count only what can be read",
            hint="--resume the run: it sets damaged parts aside and searches their theorems again",
        )


def print_summary(summary: Summary, as_json: bool, theorems: bool = False) -> None:
    """Print a summary, with a line for each theorem on request."""
    if as_json:
        typer.echo(summary.to_json(lines=theorems))
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
            listed = ", ".join(f"{name} {count}" for name, count in counts.items())
            table.add_row(f"steps by {title}", listed or "-")
    rest = s.other_seconds / s.seconds if s.seconds else 0.0
    table.add_row(
        "search seconds", f"{s.seconds:.1f}, in Lean {s.lean_seconds:.1f}, elsewhere {rest:.1%}"
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
