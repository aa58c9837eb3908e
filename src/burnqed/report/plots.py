"""Solve rate against nodes and against seconds, a curve for each run. matplotlib is loaded on use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.evaluation.results import Labelled
from burnqed.report import drawing
from burnqed.report.curves import Curve, by_nodes, by_seconds
from burnqed.report.drawing import Figures
from burnqed.report.markup import fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABEL, _SHORT = 60, 28  # most characters of a run's label in a legend; two short ones fit in a row


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    axis: str
    floor: float  # smaller values are drawn here: a logarithm has no zero
    budgets: bool  # whether its axis is the one that budgets are given in


_NODES = _Kind("solve_rate_by_nodes", "nodes per attempt", 1.0, budgets=True)
_SECONDS = _Kind("solve_rate_by_seconds", "seconds per theorem", 0.01, budgets=False)


def save_plots(labelled: Labelled, directory: Path) -> list[Path]:
    """Write each plot as PNG and SVG. Returns the paths."""
    return drawing.save_figures(lambda: _figures(labelled), directory)


def svg_plots(labelled: Labelled) -> dict[str, str]:
    """The plots as the text of SVG files, by name."""
    return drawing.svg_figures(lambda: _figures(labelled))


def nodes_figure(labelled: Labelled, looks: Sequence[int] = ()) -> Figure:
    """Plot the solve rate against nodes, in the current style. `looks`: of each run."""
    return _draw(labelled, [by_nodes(result) for _, result in labelled], _NODES, looks)


def _figures(labelled: Labelled) -> Figures:
    yield _NODES.name, nodes_figure(labelled)
    yield _SECONDS.name, _draw(labelled, [by_seconds(result) for _, result in labelled], _SECONDS)


def _draw(
    labelled: Labelled, curves: Sequence[Curve], kind: _Kind, looks: Sequence[int] = ()
) -> Figure:
    from matplotlib.figure import Figure

    columns = 2 if len(labelled) > 1 and max(len(label) for label, _ in labelled) <= _SHORT else 1
    rows = -(-len(labelled) // columns)
    figure = Figure(figsize=(5.3, 3.2 + 0.2 * rows), layout="constrained")
    axes = figure.add_subplot()
    left, right = _span(curves, kind.floor)
    _scale(axes, left, right, max((high for c in curves for _, high in c.band), default=1.0))
    axes.set_xlabel(kind.axis)
    if kind.budgets:
        _mark_budgets(axes, sorted({b for _, result in labelled for b in result.budgets}))
    lines = []
    for i, ((_, result), curve) in enumerate(zip(labelled, curves, strict=True)):
        colour, dashes = drawing.look(looks[i] if looks else i)
        x = [max(left, at) for at in curve.x]
        low, high = zip(*curve.band, strict=True)
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.13, linewidth=0)
        lines += axes.plot(
            x, curve.rates, drawstyle="steps-post", color=colour, linestyle=dashes, linewidth=1.8
        )
        if kind.budgets:
            rates = [b.rate for b in result.budget_results]
            axes.plot(
                result.budgets, rates, "o", color=colour, markersize=5.5, markeredgecolor=drawing.PAPER,
                zorder=3, clip_on=False,
            )  # fmt: skip
    legend = figure.legend(
        lines, [str(i) for i in range(len(lines))], loc="outside upper left", ncols=columns,
        frameon=False, handlelength=2.2,
    )  # fmt: skip
    for text, (label, _) in zip(legend.get_texts(), labelled, strict=True):
        # Set afterwards, because as a label `_x` would be left out and `$x$` be a formula.
        text.set_parse_math(False)
        said = " ".join(fit(label).split())
        text.set_text(said if len(said) <= _LABEL else f"{said[: _LABEL - 1]}…")
    return figure


def _span(curves: Sequence[Curve], floor: float) -> tuple[float, float]:
    """The ends of the logarithmic axis: at least a decade, with some room before the first step."""
    proofs = [x for c in curves for x, solved in zip(c.x, c.solved, strict=True) if solved]
    first = max(floor, min(proofs, default=floor))
    last = max(c.end for c in curves)
    return 0.8 * first, 1.05 * max(last, 10 * first)


def _scale(axes: Axes, left: float, right: float, highest: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.set_xlim(left, right)
    # One number per decade is too few for two decades.
    within = (1.0, 2.0, 5.0) if right / left < 300 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=within, numticks=40))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    drawing.rates_axis(axes, highest)


def _mark_budgets(axes: Axes, budgets: Sequence[int]) -> None:
    """A line at each budget, with its number above it if there is room."""
    left, right = axes.get_xlim()
    taken = None
    for budget in budgets:
        axes.axvline(budget, color=drawing.MUTED, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        across = math.log(budget / left) / math.log(right / left)
        if taken is None or across - taken >= 0.1:
            said = f"{budget:,}" if taken is not None else f"budget {budget:,}"
            axes.text(
                budget, 1.015, said, transform=axes.get_xaxis_transform(), ha="center",
                va="bottom", fontsize=8, color=drawing.MUTED,
            )  # fmt: skip
            taken = across
