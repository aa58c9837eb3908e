"""When a joint training is ended early: both models share weights, and one may ruin the other.

The lines are those of the first experiments of this kind, with a model of 7 billion weights: a distance
of 3.0 between positives and negatives, where 5.0 was healthy, and a loss of 0.5 on tactics. Distances
and losses of another backbone are on other scales. Its own figures before the first step then count as
5.0 and 0.4. So the same lines say that two fifths of the distance are lost, or that the loss has grown
by a quarter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from burnqed.training.plans import JointPlan

Scale = Literal["own", "start"]  # figures as they are, or relative to those before the first step
ORIGINAL_WIDTH = 4096  # of the backbone that the lines were found with
START_DISTANCE, START_LOSS = 5.0, 0.4
Crossed = Literal["collapse", "tactics"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What is watched: the distance of positives and negatives, and the loss of tactics, held out."""

    distance: float
    loss: float

    def scaled(self, start: Standing, scale: Scale) -> Standing:
        """On the scale of the lines."""
        if scale == "own":
            return self
        return Standing(
            START_DISTANCE * self.distance / start.distance, START_LOSS * self.loss / start.loss
        )


def scale_of(asked: Literal["auto", "own", "start"], width: int) -> Scale:
    """What `auto` means for a backbone with hidden states of this width."""
    if asked == "auto":
        return "own" if width == ORIGINAL_WIDTH else "start"
    return asked


def crossed(scaled: Standing, step: int, plan: JointPlan) -> Crossed | None:
    """The line that is crossed behind a step, if one is."""
    if scaled.distance < plan.least_distance:
        return "collapse"
    if step > plan.loss_after and scaled.loss > plan.most_loss:
        return "tactics"
    return None
