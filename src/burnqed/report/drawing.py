"""The colours, style and files of all plots. matplotlib is loaded on use."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.core.errors import SetupError
from burnqed.core.files import publish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Figures = Iterator[tuple[str, "Figure"]]

# Okabe and Ito's colours, which the colour-blind can distinguish, without yellow, too pale on paper.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("-", "--", "-.", ":")  # for the second round of colours
PAPER, INK, MUTED, LINE = "#ffffff", "#202428", "#6a7076", "#dfe2e5"

_STYLE = {
    "svg.hashsalt": "burn-qed",  # else the identifiers in a file differ with every run
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


def save_figures(figures: Callable[[], Figures], directory: Path) -> list[Path]:
    """Draw each figure in our own style, and write it as PNG and SVG. Returns the paths."""
    paths = []
    with _matplotlib():
        for name, figure in figures():
            # SVG first, because drawing a PNG moves things: it must equal that of `svg_figures`.
            publish(directory / f"{name}.svg", _svg(figure))
            publish(directory / f"{name}.png", _png(figure))
            paths += [directory / f"{name}.png", directory / f"{name}.svg"]
    return paths


def svg_figures(figures: Callable[[], Figures]) -> dict[str, str]:
    """The figures as the text of SVG files, by name."""
    with _matplotlib():
        return {name: _svg(figure) for name, figure in figures()}


def look(run: int) -> tuple[str, str]:
    """The colour and dashes of the n-th run."""
    return PALETTE[run % len(PALETTE)], DASHES[run // len(PALETTE) % len(DASHES)]


@contextmanager
def _matplotlib() -> Iterator[None]:
    """Use our own style, whatever the user's is, and restore that afterwards."""
    try:
        import matplotlib.style as style
    except ImportError as error:
        raise SetupError(
            f"plots need matplotlib: {error}", hint="pip install matplotlib, then run this again"
        ) from error
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        # A label in a script that the font lacks becomes boxes. That needs no warning.
        warnings.filterwarnings("ignore", message="Glyph ")
        yield


def rates_axis(axes: Axes, highest: float) -> None:
    """A percentage axis as high as needed, a grid, and no frame."""
    from matplotlib.ticker import PercentFormatter

    axes.set_ylim(0.0, next(top for top in (0.1, 0.25, 0.5, 1.0) if highest <= top))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_ylabel("theorems proved")
    axes.grid(color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return buffer.getvalue()


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
