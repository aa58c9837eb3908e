"""The training of a head as a picture: loss, rank, gap, temperature, depths. matplotlib on use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.training.curve import BLUE, GREEN, GREY, ORANGE, entitle, save_figure, smooth
from burnqed.training.log import Entry
from burnqed.value.energy import COLDEST, WARMEST
from burnqed.value.metrics import Group, metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEALTHY = (0.5, 3.0)  # temperatures
_DEPTHS = (BLUE, ORANGE, GREEN, "#cc79a7", "#e69f00", "#56b4e9")
_DOTTED = (0, (1, 2))


def save_energy_curve(directory: Path, entries: Sequence[Entry], logprob: Sequence[Group]) -> None:
    """Write curve.png and curve.svg; `logprob` is how the policy ranks the validation groups."""
    save_figure(directory, lambda: _draw(entries, logprob))


def _draw(entries: Sequence[Entry], logprob: Sequence[Group]) -> Figure:
    from matplotlib.figure import Figure

    trained = [entry for entry in entries if entry["kind"] == "train"]
    evaluated = [entry for entry in entries if entry["kind"] == "eval"]
    figure = Figure(figsize=(11.0, 6.2), layout="constrained")
    loss, rank, gap, heat, depths, order = figure.subplots(2, 3).flat
    steps, losses = [e["step"] for e in trained], [e["loss"] for e in trained]
    loss.plot(steps, losses, color=BLUE, linewidth=0.7, alpha=0.3)
    loss.plot(steps, smooth(losses), color=BLUE, linewidth=1.6, label="steps")
    evaluations(loss, evaluated, "loss")
    evaluations(rank, evaluated, "rank1")
    evaluations(gap, evaluated, "energy_gap")
    evaluations(order, evaluated, "discrimination")
    if logprob:
        policy = metrics(logprob)
        for axes, value in ((rank, policy.rank1), (order, policy.discrimination)):
            axes.axhline(value, color=GREY, linewidth=1.2, linestyle="--", label="log-probability")
        rank.axhline(policy.chance, color=GREY, linewidth=0.9, linestyle=_DOTTED, label="chance")
        order.axhline(0.5, color=GREY, linewidth=0.9, linestyle=_DOTTED, label="chance")
    temperature(heat, trained)
    _depths(depths, evaluated)
    entitle({
        loss: "InfoNCE", rank: "positive ranked first among siblings", gap: "energy gap",
        heat: "temperature", depths: "ranked first, by depth (validation)",
        order: "pairs in the right order",
    })  # fmt: skip
    for axes in (rank, depths, order):
        axes.set_ylim(0.0, 1.03)
    return figure


def evaluations(axes: Axes, evaluated: Sequence[Entry], what: str) -> None:
    """A figure of training and validation groups, as far as it was logged."""
    for side, label, colour in (("train", "training", GREEN), ("val", "validation", ORANGE)):
        known = [entry for entry in evaluated if f"{side}_{what}" in entry]
        if not known:
            continue
        axes.plot(
            [e["step"] for e in known], [e[f"{side}_{what}"] for e in known], color=colour,
            marker="o", markersize=2.5, linewidth=1.4, label=label,
        )  # fmt: skip


def temperature(axes: Axes, trained: Sequence[Entry]) -> None:
    """Between its bounds, and where it is healthy."""
    axes.plot([e["step"] for e in trained], [e["temperature"] for e in trained], color=BLUE)
    axes.axhspan(*_HEALTHY, color=GREEN, alpha=0.1, linewidth=0, label="healthy")
    for bound in (COLDEST, WARMEST):
        axes.axhline(bound, color=GREY, linewidth=0.9, linestyle=_DOTTED)
    axes.set_yscale("log")


def _depths(axes: Axes, evaluated: Sequence[Entry]) -> None:
    found = sorted({depth for entry in evaluated for depth in entry["val_by_depth"]}, key=int)
    for depth, colour in zip(found, _DEPTHS, strict=False):
        known = [e for e in evaluated if depth in e["val_by_depth"]]
        groups = known[-1]["val_by_depth"][depth]["groups"]
        axes.plot(
            [e["step"] for e in known], [e["val_by_depth"][depth]["rank1"] for e in known],
            color=colour, linewidth=1.4, label=f"{depth} ({groups} groups)",
        )  # fmt: skip
