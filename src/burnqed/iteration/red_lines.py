"""The red lines of an iteration's backbone and value model, and whether one is crossed. Pure.

The lines are those of the first experiments of this kind. The probe and rank-1 are shares, and mean the
same for every backbone. A distance does not: `training/red_lines` says on which scale it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from burnqed.iteration.config import Config
from burnqed.training.red_lines import START_DISTANCE, scale_of
from burnqed.value.calibration import FEWEST_THEOREMS

FEWEST_GROUPS = 30  # at depth 4 and more, for a rank-1 that says something
DEEP = "4"  # in results: depth 4 and more
Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """A red line, and what was measured. `measured` is None where too little was there to say."""

    name: str
    rule: str
    least: float
    measured: float | None
    told: str
    of_backbone: bool  # and not of the head

    @property
    def crossed(self) -> bool:
        return self.measured is not None and self.measured < self.least


def lines(config: Config, look: Figures | None, value: Figures | None) -> tuple[Line, ...]:
    """Of `look`, the figures of an embeddings report, and `value`, the result of a head's training."""
    found = [*_of_backbone(config, look)] if look else []
    return (*found, *_of_head(config, value)) if value else tuple(found)


def drops(config: Config, look: Figures | None, value: Figures | None) -> tuple[Line, ...]:
    """The crossed lines for which searches go without the value model, if there are any.

    A head that does not read the backbone's hidden states may be good where these are not.
    """
    if config.embeddings.red_line == "warn" or value is None:
        return ()
    own = config.value.model == "policy"
    return tuple(
        one for one in lines(config, look, value) if one.crossed and (own or not one.of_backbone)
    )


def scaled_distance(config: Config, look: Figures) -> float | None:
    """Of an iteration's backbone, on the scale of the line; None where iteration 0 has no distance."""
    first, own = look["encoders"][0], look["encoders"][-1]
    distance: float = own["centroid_l2"]
    if scale_of(config.embeddings.scale, own["encoder"]["width"]) == "own":
        return distance
    start: float = first["centroid_l2"]
    return START_DISTANCE * distance / start if start else None


def _of_backbone(config: Config, look: Figures) -> Iterator[Line]:
    asked, first, own = config.embeddings, look["encoders"][0], look["encoders"][-1]
    few = own["theorems"] < FEWEST_THEOREMS
    among = f"{own['states']} states of {own['theorems']} theorems"
    among += f"; fewer than {FEWEST_THEOREMS} theorems do not judge" if few else ""
    distance = scaled_distance(config, look)
    read = "it has no scale" if distance is None else f"{distance:.2f} on the scale of the line"
    yield Line(
        "centroid_l2",
        f"the means of provable states and others are {asked.least_distance:g} apart, at least",
        asked.least_distance,
        None if few else distance,
        f"{read} ({own['centroid_l2']:.3g}, and {first['centroid_l2']:.3g} with iteration 0's model), "
        f"{among}",
        of_backbone=True,
    )
    probe: float | None = own["probe"]
    yield Line(
        "probe",
        f"a linear probe is right about {asked.least_probe:.0%} of both kinds, at least",
        asked.least_probe,
        None if few else probe,
        f"{'not measured' if probe is None else f'{probe:.1%}'} (50% is chance), {among}",
        of_backbone=True,
    )


def _of_head(config: Config, value: Figures) -> Iterator[Line]:
    least, deep = config.embeddings.least_rank1, value.get("test_by_depth", {}).get(DEEP)
    if deep is None:
        return
    few = deep["groups"] < FEWEST_GROUPS
    yield Line(
        "rank-1, depth 4+",
        f"the value model is right about {least:.0%} of the groups at depth 4 and more, at least",
        least,
        None if few else deep["rank1"],
        f"{deep['rank1']:.1%} (chance {deep['chance']:.1%}) of {deep['groups']} groups"
        + (f"; fewer than {FEWEST_GROUPS} do not judge" if few else ""),
        of_backbone=False,
    )
