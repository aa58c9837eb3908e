"""A run of expert iteration as tables."""

from __future__ import annotations

from burnqed.cli import tables
from burnqed.cli.run_view import duration
from burnqed.evaluation.results import BudgetResult, IterationResult
from burnqed.iteration.history import History, Iteration


def print_history(history: History) -> None:
    """Print what each iteration proves of the held-out sets, and the verdicts of the gates."""
    for name in history.sets:
        _print_set(history, name)
    gates = [(one.label, gate) for one in history.iterations for gate in one.gates]
    if gates:
        table = tables.folding("after", "gate", "verdict", "figures", "where to look", title="gates")
        for label, gate in gates:
            table.add_row(label, gate.name, gate.verdict, gate.told, gate.hint)
        tables.console().print(table)


def _print_set(history: History, name: str) -> None:
    shown = [(one, one.evaluated[name]) for one in history.iterations if name in one.evaluated]
    budgets = shown[0][1].without.budgets
    table = tables.folding("", "value model", *(f"{b} nodes" for b in budgets), title=name)
    for one, evaluated in shown:
        table.add_row(one.label, "no", *_cells(evaluated.without, budgets))
        if evaluated.given is not None:
            table.add_row("", "yes", *_cells(evaluated.given, budgets))
    tables.console().print(table)


def _cells(result: IterationResult, budgets: tuple[int, ...]) -> list[str]:
    return [_cell(result.at(budget)) for budget in budgets]


def _cell(result: BudgetResult) -> str:
    low, high = result.interval
    errors = f", {sum(result.errors.values())} errors" if result.errors else ""
    return f"{result.solved}/{result.total} ({100 * low:.0f} to {100 * high:.0f}%{errors})"


def print_stages(history: History) -> None:
    """Print every stage that was begun, with its state and duration."""
    table = tables.folding("iteration", "stage", "state", "runs", "time", title=history.name)
    for one in history.iterations:
        for number, stage in enumerate(one.stages):
            label = "" if number else one.label
            state = "skipped" if stage.skipped else "done" if stage.done else "begun"
            table.add_row(label, stage.name, state, str(stage.runs), duration(stage.seconds))
        if one.stages:
            table.add_row("", "in all", "", "", duration(sum(s.seconds for s in one.stages)))
    tables.console().print(table)
    for one in history.iterations:
        if one.searches:
            tables.console().print(_searched(one))


def _searched(one: Iteration) -> str:
    theorems, proved = sum(s.theorems for s in one.searches), sum(s.proved for s in one.searches)
    nodes, tactics = sum(s.nodes for s in one.searches), sum(s.tactics for s in one.searches)
    return (
        f"{one.label}: {theorems:,} searches of training theorems, {proved:,} proved, "
        f"{len(one.newly_proved):,} for the first time; {nodes:,} nodes, {tactics:,} tactics"
    )
