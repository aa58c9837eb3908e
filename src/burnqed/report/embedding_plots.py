"""Plots of embeddings: maps by label and by depth, distances of siblings, the spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from burnqed.prover.embeddings import Encoded, Look
from burnqed.report import drawing
from burnqed.report.drawing import LINE, MUTED, PALETTE, Figures
from burnqed.report.maps import PCA, Maps, Points, maps
from burnqed.report.markup import fit
from burnqed.value.geometry import DEEPEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (5.3, 4.2)
_SHOWN = 50  # directions of the spectrum
_BINS = 40
_DEPTHS = (
    ("depth 1", 1, 1), ("2", 2, 2), ("3", 3, 3), ("4 to 5", 4, 5), ("6 and more", 6, DEEPEST),
)  # fmt: skip
_PCA = "The two principal directions that hold most of the variance."


def figures(look: Look, drawn: Maps) -> Figures:
    """All plots, by names that are unique. `drawn`: the maps of each encoder, by its label."""
    for place, one in enumerate(look.encoders):
        for kind, points in drawn[one.label].items():
            name = _name(kind, place)
            yield f"{name}_label", _by_label(look, points)
            yield f"{name}_depth", _by_depth(look, points)
        yield f"siblings_{place}", _siblings(one)
    yield "spectrum", _spectrum(look.encoders)


def captions(look: Look, drawn: Maps) -> dict[str, str]:
    """What each plot shows."""
    told: dict[str, str] = {}
    for place, one in enumerate(look.encoders):
        whose = f"{one.label}: " if len(look.encoders) > 1 else ""
        for kind in drawn[one.label]:
            name = _name(kind, place)
            meaning = _PCA if kind == PCA else "Only who is near to whom has a meaning."
            told[f"{name}_label"] = f"{whose}{kind} map. {meaning}"
            told[f"{name}_depth"] = f"{whose}{kind} map, by depth in the proof."
        told[f"siblings_{place}"] = (
            f"{whose}Distance of a provable state from siblings given up, and from states given up in "
            "other theorems."
        )
    told["spectrum"] = "Share of the variance along each principal direction, the largest first."
    return told


def _name(kind: str, place: int) -> str:
    return f"{kind.lower().replace('-', '')}_{place}"


def mapped_rows(look: Look) -> Maps:
    """The maps of each encoder. The same states are on all."""
    chosen = mapped(look)
    return {one.label: maps(one.rows[chosen], look.seed) for one in look.encoders}


def svg_embedding_plots(look: Look, drawn: Maps) -> dict[str, str]:
    """The plots as the text of SVG files, by name."""
    return drawing.svg_figures(lambda: figures(look, drawn))


def save_embedding_plots(look: Look, drawn: Maps, directory: Path) -> list[Path]:
    """Write each plot as PNG and SVG. Returns the paths."""
    return drawing.save_figures(lambda: figures(look, drawn), directory)


def mapped(look: Look) -> NDArray[np.intp]:
    """The states on the maps, drawn by the seed."""
    some = min(look.mapped, len(look.sample))
    chosen = np.random.default_rng(look.seed).permutation(len(look.sample))[:some]
    return np.sort(chosen)


def _by_label(look: Look, points: Points) -> Figure:
    figure, axes = _map()
    on_path = np.array(look.sample.on_path)[mapped(look)]
    # Negatives first: they are more, and would hide the others.
    for kind, colour, label in ((~on_path, PALETTE[1], "given up"), (on_path, PALETTE[0], "provable")):
        _dots(axes, points[kind], colour, label)
    _legend(figure)
    return figure


def _by_depth(look: Look, points: Points) -> Figure:
    figure, axes = _map()
    depths = np.minimum(np.array(look.sample.depths)[mapped(look)], DEEPEST)
    for place, (label, low, high) in enumerate(_DEPTHS):
        _dots(axes, points[(depths >= low) & (depths <= high)], PALETTE[place], label)
    _legend(figure)
    return figure


def _map() -> tuple[Figure, Axes]:
    figure, axes = _empty()
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", adjustable="datalim")
    axes.spines[:].set_color(LINE)
    return figure, axes


def _empty() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    return figure, figure.add_subplot()


def _dots(axes: Axes, points: Points, colour: str, label: str) -> None:
    if len(points):
        axes.plot(
            points[:, 0], points[:, 1], "o", color=colour, markersize=3.2, alpha=0.75,
            markeredgewidth=0, label=label,
        )  # fmt: skip


def _legend(figure: Figure) -> None:
    figure.legend(
        loc="outside upper left", ncols=5, frameon=False, handlelength=1.2, columnspacing=1.2,
        markerscale=1.5,
    )  # fmt: skip


def _siblings(one: Encoded) -> Figure:
    figure, axes = _empty()
    apart = one.distances
    both = ((apart.strangers, MUTED, "strangers"), (apart.siblings, PALETTE[0], "siblings"))
    most = max((float(found.max()) for found, _, _ in both if len(found)), default=0.0)
    bins = np.linspace(0.0, most or 1.0, _BINS + 1)
    for found, colour, label in both:
        if len(found):
            weights = np.full(len(found), 1 / len(found))
            axes.hist(found, bins.tolist(), weights=weights, color=colour, alpha=0.55, label=label)
            axes.axvline(float(found.mean()), color=colour, linewidth=1.2, linestyle="--")
    axes.set_xlabel("distance (L2); dashes are means")
    axes.set_ylabel("share of pairs")
    _plain(axes)
    _legend(figure)
    return figure


def _spectrum(encoders: Sequence[Encoded]) -> Figure:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    figure, axes = _empty()
    for place, one in enumerate(encoders):
        shares = one.spectrum[one.spectrum > 0][:_SHOWN]
        colour, dashes = drawing.look(place)
        axes.plot(
            np.arange(1, len(shares) + 1), shares, color=colour, linestyle=dashes, marker="o",
            markersize=3, linewidth=1.4, label=str(place),
        )  # fmt: skip
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}%"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("principal direction")
    axes.set_ylabel("share of the variance")
    _plain(axes)
    _legend(figure)
    for text, one in zip(figure.legends[0].get_texts(), encoders, strict=True):
        text.set_parse_math(False)  # a directory may be called `$x$`
        text.set_text(fit(one.label))
    return figure


def _plain(axes: Axes) -> None:
    axes.grid(color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
