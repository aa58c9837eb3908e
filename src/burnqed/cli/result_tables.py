"""An evaluation's result as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from burnqed.cli import tables
from burnqed.evaluation.compare import compare, sentence
from burnqed.evaluation.results import BudgetResult, IterationResult, TheoremResult

_MOST_ERRORS = 20


def print_result(result: IterationResult, earlier: IterationResult | None = None) -> None:
    """Print budgets, groups and errors, and the difference from an earlier result."""
    screen = tables.console()
    screen.print(_budgets(result, earlier))
    if any(t.group for t in result.largest.per_theorem):
        screen.print(_groups(result))
    if result.failed:
        screen.print(_errors(result.failed))
    for line in _remarks(result):
        screen.print(Text(line))
    if earlier is not None:
        comparison = compare([("the earlier", earlier), ("this", result)])
        for pair in comparison.pairs:
            for budget in comparison.budgets:
                screen.print(Text(sentence(pair, budget)))


def _budgets(result: IterationResult, earlier: IterationResult | None) -> Table:
    """A column for each budget: budgets are few, and the figures of each are many."""
    several = f", best of {result.attempts} attempts" if result.attempts > 1 else ""
    title = f"{result.benchmark.name}{several}"
    table = tables.folding("nodes", *map(str, result.budgets), title=title)
    every = result.budget_results

    def row(what: str, cells: Iterable[str], style: str = "") -> None:
        table.add_row(Text(what, style=style), *cells)

    row("proved", (f"{b.solved}/{b.total}" for b in every), "green")
    row("rate", (f"{b.rate:.1%}" for b in every))
    row("95% interval", (f"{b.interval[0]:.1%} to {b.interval[1]:.1%}" for b in every))
    if earlier is not None:
        row("change", (_change(b, earlier) for b in every))
    for k in every[-1].pass_at if result.attempts > 1 else ():
        row(f"pass@{k}", (f"{b.pass_at[k]:.1%}" for b in every))
    for reason in _reasons(b.exhausted for b in every):
        row(f"exhausted: {reason}", (str(b.exhausted.get(reason, 0)) for b in every))
    for reason in _reasons(b.errors for b in every):
        row(f"error: {reason}", (str(b.errors.get(reason, 0)) for b in every), "red")
    # Of the attempt that took the fewest nodes, or of the longest where none succeeded.
    of = " (best attempt)" if result.attempts > 1 else ""
    row(f"mean nodes{of}", (f"{b.avg_nodes:.1f}" for b in every))
    row(f"mean seconds{of}", (f"{b.avg_time_secs:.1f}" for b in every))
    row(f"median seconds{of}", (f"{b.median_time_secs:.1f}" for b in every))
    return table


def _change(b: BudgetResult, earlier: IterationResult) -> str:
    if b.budget not in earlier.budgets:
        return "-"
    return f"{b.solved - earlier.at(b.budget).solved:+d}"


def _reasons(counts: Iterable[dict[str, int]]) -> list[str]:
    return list(dict.fromkeys(reason for entry in counts for reason in entry))


def _groups(result: IterationResult) -> Table:
    table = tables.folding("proved within", *map(str, result.budgets))
    for group in sorted({t.group for t in result.largest.per_theorem}):
        cells = []
        for b in result.budget_results:
            members = [t for t in b.per_theorem if t.group == group]
            cells.append(f"{sum(t.proved for t in members)}/{len(members)}")
        table.add_row(Text(group or "(no group)"), *cells)
    return table


def _errors(failed: Sequence[tuple[int, TheoremResult]]) -> Table:
    table = tables.folding("theorem", "error", "message", title="errors")
    for _, t in failed[:_MOST_ERRORS]:
        kind = t.reason if t.outcome == "error" else f"in {t.failures} of the attempts"
        table.add_row(Text(t.name), Text(kind, style="red"), Text(_first_line(t)))
    if len(failed) > _MOST_ERRORS:
        table.add_row(f"and {len(failed) - _MOST_ERRORS} more", "", "all are in result.json")
    return table


def _first_line(t: TheoremResult) -> str:
    return (t.detail.strip().splitlines() or [""])[0][:200]


def _remarks(result: IterationResult) -> Iterable[str]:
    benchmark, cost = result.benchmark, result.cost
    yield f"{benchmark.theorems} theorems, checksum {benchmark.checksum[:16]}"
    if len(result.budgets) > 1:
        solved = len(result.cumulative)
        yield f"proved within any of the budgets: {solved}/{benchmark.theorems}"
    if benchmark.leak_rules:
        yield f"leak rule for library theorems: {' and '.join(benchmark.leak_rules)}"
    yield (
        f"in all {cost.nodes} nodes and {cost.steps} tactics; seconds: search {cost.search_secs:.0f} "
        f"(in Lean {cost.lean_secs:.0f}), judge {cost.judge_secs:.0f}"
    )
    if cost.clock_stops:
        yield (
            f"{cost.clock_stops} tactics were stopped by the wall clock, not by their budget: another "
            "run may decide them differently"
        )
