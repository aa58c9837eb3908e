"""Puts energies on the scale of log-probabilities, and decides whether they help a search.

The two cannot simply be added: log-probabilities are in nats and grow with the length of a path, and
the scale of energies depends on training. A search must distinguish siblings, so each is scaled by its
variation among siblings, and the weights are those that rank validation siblings best. The verdict
compares the rankings of the two alone, with an interval over theorems, because siblings of one theorem
are much alike.
"""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, get_args

from burnqed.core.errors import CorruptError, InputError
from burnqed.core.files import publish
from burnqed.core.statistics import mcnemar
from burnqed.value.metrics import Group, rank1

CALIBRATION = "calibration.json"
Verdict = Literal["better", "no better", "undecided"]
FEWEST_THEOREMS = 10  # for a verdict: fewer may easily agree by chance
_RESAMPLES = 2000
_TIE = 1e-9  # of ranks, which are fractions where siblings are alike
_SHARES = [step / 20 for step in range(21)]


@dataclass(frozen=True, slots=True)
class Scored:
    """A state's energy, and the log-probability of the step that led to it.

    The latter is divided by a power of the path's length, as in a search.
    """

    energy: float
    logprob: float


@dataclass(frozen=True, slots=True)
class ScoredSiblings:
    """Children of one state, as a value model and the policy see them.

    `theorem` and `depth` say where the state stands. The `positive` led to a proof. The `negatives`
    were explored to the end and did not.
    """

    theorem: str
    depth: int
    positive: Scored
    negatives: tuple[Scored, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """`(energy - mean) * scale` varies among siblings as much as log-probabilities do.

    A search adds the two with the weights `alpha` and `beta`. `low` and `high` are the 95% interval of
    how much more often the energy ranks the best sibling first. The verdict follows from these
    (`verdict_of`). `gained` are the theorems of which the energy is right about more groups than
    log-probability, `lost` those of which it is right about fewer.
    """

    verdict: Verdict
    difference: float
    low: float
    high: float
    rank1_energy: float
    rank1_logprob: float
    rank1_both: float
    chance: float
    groups: int
    theorems: int
    mean: float
    scale: float
    alpha: float
    beta: float
    policies: tuple[str, ...]  # the policies whose log-probabilities those were
    heads: int = 1  # that judged: of several, each theorem by one that did not learn from it
    gained: int | None = None  # not in older files
    lost: int | None = None

    def __post_init__(self) -> None:
        values = asdict(self).values()
        numbers = [value for value in values if isinstance(value, float | int)]
        unknown = sum(value is None for value in (self.gained, self.lost))
        if len(numbers) != len(values) - 2 - unknown or not all(map(math.isfinite, numbers)):
            raise ValueError("some of its figures are not numbers")
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"unknown verdict: {self.verdict!r}")

    def scaled(self, energy: float) -> float:
        # Rounded, because in float32 the last digits depend on which states are computed together.
        return round((energy - self.mean) * self.scale, 4)

    @property
    def told(self) -> str:
        few = self.theorems < FEWEST_THEOREMS
        short = f"; {self.theorems} theorems are too few to tell" if few else ""
        if self.gained is not None and self.lost is not None:
            p = mcnemar(self.gained, self.lost)
            of = f"of {self.theorems} theorems {self.gained} gained, {self.lost} lost"
            short = f"; {of}, p = {p:.2g}{short}"
        if self.heads > 1:
            short += f"; {self.heads} heads judged, each the theorems that it did not learn from"
        return (
            f"the value model is right about {self.rank1_energy:.1%} of {self.groups} groups of "
            f"siblings, log-probability about {self.rank1_logprob:.1%} (chance {self.chance:.1%}): "
            f"{self.difference:+.1%}, 95% interval {self.low:+.1%} to {self.high:+.1%}{short}"
        )


def verdict_of(low: float, high: float, theorems: int) -> Verdict:
    """What the interval of the difference shows, if anything."""
    if theorems < FEWEST_THEOREMS or low <= 0 < high:
        return "undecided"
    return "better" if low > 0 else "no better"


@dataclass(frozen=True, slots=True)
class Exam:
    """Energies of one head: of groups that its weights are chosen by, and of groups that judge it."""

    tuning: Sequence[ScoredSiblings]
    judging: Sequence[ScoredSiblings]


def calibrate(
    tuning: Sequence[ScoredSiblings],
    exams: Sequence[Exam],
    policies: Sequence[str] = (),
    seed: int = 0,
) -> Calibration:
    """Scale and weights of a head from some theorems, the verdict from others.

    It learned from neither. Of several exams each is another head's, and all together are the verdict.
    Their energies have scales of their own, so each is compared with none but its own.
    """
    judging = [group for exam in exams for group in exam.judging]
    if not tuning or not judging:
        raise ValueError("nothing to calibrate with")
    weights = _weigh(tuning)
    by_energy = [_rank1(group, lambda s: s.energy) for group in judging]
    by_logprob = [_rank1(group, lambda s: -s.logprob) for group in judging]
    by_both = [rank for exam in exams for rank in _weigh(exam.tuning).ranks(exam.judging)]
    gains = defaultdict(list)
    for group, ours, theirs in zip(judging, by_energy, by_logprob, strict=True):
        gains[group.theorem].append(ours - theirs)
    low, high = _interval(list(gains.values()), seed)
    sums = [sum(own) for own in gains.values()]
    return Calibration(
        verdict=verdict_of(low, high, len(gains)),
        difference=fmean(by_energy) - fmean(by_logprob),
        low=low,
        high=high,
        rank1_energy=fmean(by_energy),
        rank1_logprob=fmean(by_logprob),
        rank1_both=fmean(by_both),
        chance=fmean(1 / (1 + len(group.negatives)) for group in judging),
        groups=len(judging),
        theorems=len(gains),
        mean=weights.mean,
        scale=weights.scale,
        alpha=weights.alpha,
        beta=1 - weights.alpha,
        policies=tuple(policies),
        heads=len(exams),
        gained=sum(one > _TIE for one in sums),
        lost=sum(one < -_TIE for one in sums),
    )


@dataclass(frozen=True, slots=True)
class _Weights:
    mean: float
    scale: float
    alpha: float

    def ranks(self, groups: Sequence[ScoredSiblings]) -> list[float]:
        alpha, beta = self.alpha, (1 - self.alpha) * self.scale
        return [_rank1(group, lambda s: beta * s.energy - alpha * s.logprob) for group in groups]


def _weigh(tuning: Sequence[ScoredSiblings]) -> _Weights:
    """The scale of a head's energies, and the weights that rank these siblings best."""
    states = [state for group in tuning for state in (group.positive, *group.negatives)]
    mean = fmean(state.energy for state in states)
    spread = _spread(tuning, lambda state: state.energy)
    # If all log-probabilities are equal, energies may have any scale.
    scale = (_spread(tuning, lambda state: state.logprob) or 1.0) / spread if spread else 0.0
    # Of equally good weights the middle one: those at an edge are right about siblings by a hair, and
    # a search compares more than siblings.
    told = {share: round(fmean(_Weights(mean, scale, share).ranks(tuning)), 9) for share in _SHARES}
    best = [share for share in _SHARES if told[share] == max(told.values())]
    return _Weights(mean, scale, best[len(best) // 2])


def policy_label(about: Mapping[str, Any]) -> str:
    """The policy and model whose log-probabilities a run has, from its manifest."""
    identity = about.get("model_identity") or about.get("model") or ""
    return f"{about.get('policy', 'unknown')} {str(identity)[:12]}".strip()


def _rank1(group: ScoredSiblings, energy: Callable[[Scored], float]) -> float:
    return rank1(Group(energy(group.positive), tuple(map(energy, group.negatives)), group.depth))


def _spread(groups: Sequence[ScoredSiblings], of: Callable[[Scored], float]) -> float:
    """The deviation of siblings from their mean, over all groups."""
    squares = []
    for group in groups:
        values = [of(state) for state in (group.positive, *group.negatives)]
        centre = fmean(values)
        squares += [(value - centre) ** 2 for value in values]
    return math.sqrt(fmean(squares))


def _interval(gains: Sequence[Sequence[float]], seed: int) -> tuple[float, float]:
    """The bootstrap interval of the mean gain, over theorems."""
    sums = [(sum(own), len(own)) for own in gains]
    chance = random.Random(seed)
    means = []
    for _ in range(_RESAMPLES):
        drawn = chance.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]


def write_calibration(directory: Path, calibration: Calibration) -> None:
    """Write calibration.json next to the head."""
    publish(directory / CALIBRATION, json.dumps(asdict(calibration), indent=2) + "\n")


def read_calibration(directory: Path) -> Calibration:
    path = directory / CALIBRATION
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = Calibration(**{**content, "policies": tuple(content["policies"])})
        if found.verdict == "no better":  # older files use it for undecided, too
            found = replace(found, verdict=verdict_of(found.low, found.high, found.theorems))
        return found
    except FileNotFoundError:
        raise InputError(
            f"{directory} has no {CALIBRATION}: the training that made the head is not finished",
            hint="finish it: burn-qed train value --resume",
        ) from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CorruptError(
            f"cannot read {path}: {error}", hint="train the value model again"
        ) from error
