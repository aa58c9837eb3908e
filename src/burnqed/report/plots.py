"""Solve rate against nodes and against seconds, a curve for each run. matplotlib is loaded on use."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.core.errors import SetupError
from burnqed.core.runs import publish
from burnqed.evaluation.results import Labelled
from burnqed.report.curves import Curve, by_nodes, by_seconds
from burnqed.report.markup import fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by the colour-blind too; without yellow, which paper swallows.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("-", "--", "-.", ":")  # the next round through the colours
PAPER, INK, MUTED, LINE = "#ffffff", "#202428", "#6a7076", "#dfe2e5"

_STYLE = {
    "svg.hashsalt": "burn-qed",  # else the names inside a file differ with every run
    "svg.fonttype": "none",
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
}
_LABEL, _SHORT = 60, 28  # characters of a run's label in a legend; two of the short ones fit in a row


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    axis: str
    floor: float  # what is less is drawn here: a logarithm has no zero
    budgets: bool  # whether its axis is the one that budgets are given in


_NODES = _Kind("solve_rate_by_nodes", "nodes per attempt", 1.0, budgets=True)
_SECONDS = _Kind("solve_rate_by_seconds", "seconds per theorem", 0.01, budgets=False)


def save_plots(labelled: Labelled, directory: Path) -> list[Path]:
    """Write each plot as PNG and as SVG; the paths."""
    paths = []
    with _matplotlib():
        for name, figure in _figures(labelled):
            # SVG first: drawing as PNG moves things a little, and it is to be what `svg_plots` gives.
            publish(directory / f"{name}.svg", _svg(figure))
            publish(directory / f"{name}.png", _png(figure))
            paths += [directory / f"{name}.png", directory / f"{name}.svg"]
    return paths


def svg_plots(labelled: Labelled) -> dict[str, str]:
    """The same plots as the text of SVG files, by name."""
    with _matplotlib():
        return {name: _svg(figure) for name, figure in _figures(labelled)}


def look(run: int) -> tuple[str, str]:
    """The colour and the dashes of the n-th run."""
    return PALETTE[run % len(PALETTE)], DASHES[run // len(PALETTE) % len(DASHES)]


@contextmanager
def _matplotlib() -> Iterator[None]:
    """Our own style whatever the user's is, and only in here."""
    try:
        import matplotlib.style as style
    except ImportError as error:
        raise SetupError(
            f"plots need matplotlib: {error}", hint="pip install matplotlib, then run this again"
        ) from error
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        # A label in a script that the font lacks comes out as boxes; nobody is to be warned of that.
        warnings.filterwarnings("ignore", message="Glyph ")
        yield


def _figures(labelled: Labelled) -> Iterator[tuple[str, Figure]]:
    for kind, curve_of in ((_NODES, by_nodes), (_SECONDS, by_seconds)):
        yield kind.name, _draw(labelled, [curve_of(result) for _, result in labelled], kind)


def _draw(labelled: Labelled, curves: Sequence[Curve], kind: _Kind) -> Figure:
    from matplotlib.figure import Figure

    columns = 2 if len(labelled) > 1 and max(len(label) for label, _ in labelled) <= _SHORT else 1
    rows = -(-len(labelled) // columns)
    figure = Figure(figsize=(5.3, 3.2 + 0.2 * rows), layout="constrained")
    axes = figure.add_subplot()
    left, right = _span(curves, kind.floor)
    _scale(axes, left, right, max((high for c in curves for _, high in c.band), default=1.0))
    axes.set_xlabel(kind.axis)
    axes.set_ylabel("theorems proved")
    if kind.budgets:
        _mark_budgets(axes, sorted({b for _, result in labelled for b in result.budgets}))
    lines = []
    for i, ((_, result), curve) in enumerate(zip(labelled, curves, strict=True)):
        colour, dashes = look(i)
        x = [max(left, at) for at in curve.x]
        low, high = zip(*curve.band, strict=True)
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.13, linewidth=0)
        lines += axes.plot(
            x, curve.rates, drawstyle="steps-post", color=colour, linestyle=dashes, linewidth=1.8
        )
        if kind.budgets:
            rates = [b.rate for b in result.budget_results]
            axes.plot(
                result.budgets, rates, "o", color=colour, markersize=5.5, markeredgecolor=PAPER,
                zorder=3, clip_on=False,
            )  # fmt: skip
    legend = figure.legend(
        lines, [str(i) for i in range(len(lines))], loc="outside upper left", ncols=columns,
        frameon=False, handlelength=2.2,
    )  # fmt: skip
    for text, (label, _) in zip(legend.get_texts(), labelled, strict=True):
        # Set afterwards: as labels, `_x` would be left out and `$x$` be a formula.
        text.set_parse_math(False)
        said = " ".join(fit(label).split())
        text.set_text(said if len(said) <= _LABEL else f"{said[: _LABEL - 1]}…")
    return figure


def _span(curves: Sequence[Curve], floor: float) -> tuple[float, float]:
    """The ends of the logarithmic axis: a decade at least, with a little room before the first step."""
    proofs = [x for c in curves for x, solved in zip(c.x, c.solved, strict=True) if solved]
    first = max(floor, min(proofs, default=floor))
    last = max(c.end for c in curves)
    return 0.8 * first, 1.05 * max(last, 10 * first)


def _scale(axes: Axes, left: float, right: float, highest: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

    axes.set_xscale("log")
    axes.set_xlim(left, right)
    # One number in a decade is too few when there are but two decades.
    within = (1.0, 2.0, 5.0) if right / left < 300 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=within, numticks=40))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(0.0, next(top for top in (0.1, 0.25, 0.5, 1.0) if highest <= top))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.grid(color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _mark_budgets(axes: Axes, budgets: Sequence[int]) -> None:
    """A line at each budget, and its number above it where there is room."""
    left, right = axes.get_xlim()
    taken = None
    for budget in budgets:
        axes.axvline(budget, color=MUTED, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        across = math.log(budget / left) / math.log(right / left)
        if taken is None or across - taken >= 0.1:
            said = f"{budget:,}" if taken is not None else f"budget {budget:,}"
            axes.text(
                budget, 1.015, said, transform=axes.get_xaxis_transform(), ha="center",
                va="bottom", fontsize=8, color=MUTED,
            )  # fmt: skip
            taken = across


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return buffer.getvalue()


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
