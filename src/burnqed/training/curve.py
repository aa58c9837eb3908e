"""The losses of a training as a picture. matplotlib is loaded on use."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.core.errors import SetupError
from burnqed.core.files import publish
from burnqed.training.log import Entry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVE = "curve"
BLUE, ORANGE, GREEN, GREY, LINE = "#0072b2", "#d55e00", "#009e73", "#6a7076", "#dfe2e5"
_STYLE = {
    "svg.hashsalt": "burn-qed",  # else the names inside a file differ with every run
    "svg.fonttype": "none",
    "font.size": 9.5,
    "figure.facecolor": "#ffffff",
    "axes.facecolor": "#ffffff",
}
_EVALUATIONS = (
    ("val_loss", "validation", ORANGE, "-"),
    ("val_trajectory_loss", "validation, found by search", GREEN, "--"),
)


def save_curve(directory: Path, entries: Sequence[Entry], baseline: float | None = None) -> None:
    """Write curve.png and curve.svg: training loss, evaluations, and what the baseline has."""
    save_figure(directory, lambda: _draw(entries, baseline))


def save_figure(directory: Path, draw: Callable[[], Figure]) -> None:
    """Write a training's picture as curve.png and curve.svg, the same bytes for the same figures."""
    try:
        import matplotlib.style as style
    except ImportError as error:
        raise SetupError(f"curves need matplotlib: {error}", hint="pip install matplotlib") from error
    with style.context(["default", _STYLE]):
        figure = draw()
        svg, png = io.StringIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
    publish(directory / f"{CURVE}.svg", svg.getvalue())
    publish(directory / f"{CURVE}.png", png.getvalue())


def _draw(entries: Sequence[Entry], baseline: float | None) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.4), layout="constrained")
    axes = figure.add_subplot()
    trained = [entry for entry in entries if entry["kind"] == "train"]
    steps, losses = [e["step"] for e in trained], [e["loss"] for e in trained]
    axes.plot(steps, losses, color=BLUE, linewidth=0.7, alpha=0.3)
    axes.plot(steps, smooth(losses), color=BLUE, linewidth=1.6, label="training")
    for key, label, colour, dashes in _EVALUATIONS:
        known = [e for e in entries if e["kind"] == "eval" and e.get(key) is not None]
        if known:
            axes.plot(
                [e["step"] for e in known], [e[key] for e in known], color=colour, linestyle=dashes,
                marker="o", markersize=3.5, linewidth=1.6, label=label,
            )  # fmt: skip
    if baseline is not None:
        axes.axhline(baseline, color=GREY, linewidth=0.9, linestyle=(0, (1, 2)), label="baseline")
    axes.set_ylabel("loss per tactic token")
    axes.set_ylim(bottom=0.0)
    trim(axes)
    axes.legend(frameon=False)
    return figure


def entitle(titles: Mapping[Axes, str]) -> None:
    """Name each panel, trim it, and explain its lines if they have names."""
    for axes, title in titles.items():
        axes.set_title(title, fontsize=9.5, loc="left")
        trim(axes)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8)


def trim(axes: Axes) -> None:
    """Steps to the right, a grid, and no frame."""
    axes.set_xlabel("step")
    axes.grid(color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def smooth(losses: Sequence[float], share: float = 0.05) -> list[float]:
    """A running mean over a twentieth of what there is."""
    width = max(1, int(len(losses) * share))
    sums = [0.0]
    for loss in losses:
        sums.append(sums[-1] + loss)
    begins = [max(0, end - width) for end in range(1, len(sums))]
    return [(sums[end] - sums[begin]) / (end - begin) for end, begin in enumerate(begins, start=1)]
