"""Plots of the solve rate by iteration and against nodes, for every held-out set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnqed.evaluation.compare import count
from burnqed.evaluation.results import BudgetResult
from burnqed.iteration.history import History
from burnqed.report import drawing
from burnqed.report.drawing import Figures
from burnqed.report.plots import nodes_figure
from burnqed.report.standing import Entry, at, budgets, entries, file_names, sets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BY_ITERATION, BY_NODES = "by_iteration", "by_nodes"
_CROWDED = 6  # iterations on an axis; if there are more, their names are only numbers


def save_iteration_plots(history: History, directory: Path) -> list[Path]:
    """Write each plot as PNG and SVG. Returns the paths."""
    return drawing.save_figures(lambda: _figures(history), directory)


def svg_iteration_plots(history: History) -> dict[str, str]:
    """The plots as the text of SVG files, by name: `<kind>_<set>`."""
    return drawing.svg_figures(lambda: _figures(history))


def _figures(history: History) -> Figures:
    for name, slug in file_names(sets(history)).items():
        found = entries(history, name)
        yield f"{BY_ITERATION}_{slug}", _by_iteration(found)
        yield f"{BY_NODES}_{slug}", _by_nodes(found)


def _by_nodes(found: Sequence[Entry]) -> Figure:
    labelled = [(entry.label, entry.evaluated.without) for entry in found]
    return nodes_figure(labelled, [entry.place for entry in found])


def _by_iteration(found: Sequence[Entry]) -> Figure:
    from matplotlib.figure import Figure

    lines = budgets(found)
    given = any(entry.evaluated.given for entry in found)
    columns = 2
    rows = -(-(len(lines) + given) // columns)
    figure = Figure(figsize=(5.3, 3.2 + 0.2 * rows), layout="constrained")
    axes = figure.add_subplot()
    highest = max(b.interval[1] for e in found for _, r in e.arms for b in r.budget_results)
    drawing.rates_axis(axes, highest)
    _iterations_axis(axes, found)
    handles: list[Any] = []
    for i, budget in enumerate(lines):
        handles.append(_line(axes, found, budget, drawing.look(i)[0]))
    labels = [count(budget, "node") for budget in lines]
    if given:
        handles += axes.plot(
            [],
            [],
            "--D",
            color=drawing.MUTED,
            markerfacecolor=drawing.PAPER,
            markersize=4.5,
            linewidth=1.3,
        )
        labels.append("with the value model")
    figure.legend(
        handles, labels, loc="outside upper left", ncols=columns, frameon=False, handlelength=2.6
    )
    return figure


def _line(axes: Axes, found: Sequence[Entry], budget: int, colour: str) -> Any:
    """A budget's line with its band, and a dashed line for the value model, if any."""
    without = _points(found, [at(entry.evaluated.without, budget) for entry in found])
    given = _points(found, [at(entry.evaluated.given, budget) for entry in found])
    x = [place for place, _ in without]
    low, high = [b.interval[0] for _, b in without], [b.interval[1] for _, b in without]
    axes.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0)
    # A single point has no visible band, so its interval is a line.
    axes.vlines(x, low, high, color=colour, alpha=0.45, linewidth=1.0)
    axes.plot(
        [place for place, _ in given], [b.rate for _, b in given], "--D", color=colour,
        markerfacecolor=drawing.PAPER, markersize=4.5, linewidth=1.3, clip_on=False, zorder=3,
    )  # fmt: skip
    (line,) = axes.plot(
        x, [b.rate for _, b in without], "-o", color=colour, linewidth=1.8, markersize=5.5,
        markeredgecolor=drawing.PAPER, clip_on=False, zorder=3.5,
    )  # fmt: skip
    return line


def _points(
    found: Sequence[Entry], results: Sequence[BudgetResult | None]
) -> list[tuple[int, BudgetResult]]:
    pairs = zip(found, results, strict=True)
    return [(entry.place, result) for entry, result in pairs if result is not None]


def _iterations_axis(axes: Axes, found: Sequence[Entry]) -> None:
    first, last = found[0].place, found[-1].place
    room = 0.35 if last == first else 0.06 * (last - first)
    axes.set_xlim(first - room, last + room)
    crowded = len(found) > _CROWDED
    names = [str(e.iteration.number) if crowded and i else e.label for i, e in enumerate(found)]
    axes.set_xticks([entry.place for entry in found], names)
    if crowded:
        axes.set_xlabel("iteration")
    axes.grid(visible=False, axis="x")
