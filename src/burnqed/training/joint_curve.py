"""A joint training as a picture: both losses, rank, and what is watched. matplotlib on use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.training.curve import BLUE, GREY, ORANGE, entitle, save_figure, smooth
from burnqed.training.energy_curve import evaluations, temperature
from burnqed.training.log import Entry
from burnqed.training.plans import JointPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DOTTED = (0, (1, 2))


def save_joint_curve(directory: Path, entries: Sequence[Entry], plan: JointPlan) -> None:
    """Write curve.png and curve.svg."""
    save_figure(directory, lambda: _draw(entries, plan))


def _draw(entries: Sequence[Entry], plan: JointPlan) -> Figure:
    from matplotlib.figure import Figure

    trained = [entry for entry in entries if entry["kind"] == "train"]
    evaluated = [entry for entry in entries if entry["kind"] == "eval"]
    figure = Figure(figsize=(11.0, 6.2), layout="constrained")
    tactics, contrast, rank, distance, probe, heat = figure.subplots(2, 3).flat
    for axes, key, held_out in (
        (tactics, "tactic_loss", "val_loss"), (contrast, "contrast_loss", "val_contrast_loss"),
    ):  # fmt: skip
        losses = [e[key] for e in trained]
        axes.plot([e["step"] for e in trained], smooth(losses), color=BLUE, label="training")
        _held_out(axes, evaluated, held_out, "validation")
    evaluations(rank, evaluated, "rank1")
    if evaluated:
        rank.axhline(
            evaluated[0]["val_chance"], color=GREY, linewidth=0.9, linestyle=_DOTTED, label="chance"
        )
    _held_out(distance, evaluated, "distance", "validation")
    distance.axhline(plan.least_distance, color="#b3261e", linewidth=1.2, label="red line")
    _held_out(probe, evaluated, "probe", "validation")
    probe.axhline(0.5, color=GREY, linewidth=0.9, linestyle=_DOTTED, label="chance")
    temperature(heat, trained)
    entitle({
        tactics: "loss per tactic token", contrast: "InfoNCE",
        rank: "positive ranked first among siblings",
        distance: "distance of positives and negatives", probe: "linear probe",
        heat: "temperature",
    })  # fmt: skip
    for axes in (rank, probe):
        axes.set_ylim(0.0, 1.03)
    for axes in (tactics, contrast, distance):
        axes.set_ylim(bottom=0.0)
    return figure


def _held_out(axes: Axes, evaluated: Sequence[Entry], key: str, label: str) -> None:
    axes.plot(
        [e["step"] for e in evaluated], [e[key] for e in evaluated], color=ORANGE, marker="o",
        markersize=2.5, linewidth=1.4, label=label,
    )  # fmt: skip
