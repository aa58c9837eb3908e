"""Which part of a value model helped: arms that differ in one thing each, compared theorem by theorem.

The policy of iteration 1 comes from a joint training, so its arms and those of iteration 0 differ in
the policy as well. An arm without a head beside each policy shows how much that alone is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from burnqed.core.statistics import paired_interval
from burnqed.evaluation.compare import LEVEL, Pairing, Score, count, p_text, pairing
from burnqed.evaluation.results import IterationResult
from burnqed.trajectories.schema import TheoremOutcome

ARMS = {
    "none-0": "iteration-0 policy, no head",
    "A": "iteration-0 policy, a head trained on its embeddings",
    "none-1": "iteration-1 policy, no head",
    "B": "iteration-1 policy, a head trained on its embeddings",
    "C": "iteration-1 policy, the head that was trained jointly with it",
}
WITHOUT = {"A": "none-0", "B": "none-1", "C": "none-1"}  # the same policy without the arm's head
STEPS = (
    ("A", "B", "embeddings"),
    ("B", "C", "live gradients"),
    ("A", "C", "in total"),
    ("none-0", "none-1", "the policy alone"),
    *((none, arm, f"the head of {arm}") for arm, none in WITHOUT.items()),
)
ALL = "all sets"
BY_COST = ("A", "C", "B")  # B needs both trainings, one after the other
RULE = (
    f"Arms are taken by what they cost to train, {', '.join(BY_COST)}. An arm is recommended if it "
    "proves more than its own policy without a head, and more than the arm recommended so far; each by "
    f"McNemar's exact test over all sets at the largest budget, p < {LEVEL}. If none is, search "
    "without a head."
)
LEAST_PROBE = 0.65  # the red line of the linear probe
_ADVICE = {
    "": "search without a value model",
    "A": "train the policy first, and a head on its embeddings afterwards",
    "B": "train jointly, and then another head on the embeddings that this leaves",
    "C": "train policy and head jointly",
}

Results = Mapping[str, Mapping[str, IterationResult]]  # by set, then by arm
Outcomes = Mapping[str, TheoremOutcome]


@dataclass(frozen=True, slots=True)
class Difference:
    """Within a budget: theorems gained and lost, and the difference of rates with its 95% interval."""

    pairing: Pairing
    points: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one arm proves more than another, on a set or on all of them."""

    on: str
    before: str
    after: str
    what: str
    budgets: dict[int, Difference]

    @property
    def last(self) -> Difference:
        return self.budgets[max(self.budgets)]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """An arm, or "" for none, and why."""

    arm: str
    advice: str
    reasons: tuple[str, ...]
    causes: tuple[str, ...]  # why no head helped, as far as measurements say


@dataclass(frozen=True, slots=True)
class Attribution:
    """The whole table. `measured` are figures of the trainings, by arm, and of the joint one."""

    arms: dict[str, str]
    budgets: tuple[int, ...]
    scores: dict[str, dict[str, dict[int, Score]]]  # by set, arm and budget
    effects: tuple[Effect, ...]
    measured: dict[str, dict[str, Any]]
    recommendation: Recommendation
    rule: str = RULE


def attributed(results: Results, measured: Mapping[str, Mapping[str, Any]]) -> Attribution:
    """The arms' results, compared. All are of the same sets with the same budgets."""
    budgets = next(iter(next(iter(results.values())).values())).budgets
    groups = [[name] for name in results]
    pooled = [list(results)] if len(results) > 1 else []
    effects = tuple(
        _effect(results, sets, budgets, *step) for sets in (*pooled, *groups) for step in STEPS
    )
    decisive = {(one.before, one.after): one for one in effects[: len(STEPS)]}
    return Attribution(
        arms=dict(ARMS),
        budgets=budgets,
        scores={
            name: {arm: dict(_scores(found[arm])) for arm in ARMS} for name, found in results.items()
        },
        effects=effects,
        measured={name: dict(figures) for name, figures in measured.items()},
        recommendation=_recommended(decisive, measured),
    )


def _scores(result: IterationResult) -> Iterator[tuple[int, Score]]:
    for b in result.budget_results:
        yield b.budget, Score(b.solved, b.total, b.rate, b.interval, sum(b.errors.values()))


def _effect(
    results: Results, sets: Sequence[str], budgets: Sequence[int], before: str, after: str, what: str
) -> Effect:
    found = {}
    for budget in budgets:
        first, second = (_outcomes(results, sets, arm, budget) for arm in (before, after))
        paired = pairing(first, second, list(first))
        gained, lost, tested = len(paired.gained), len(paired.lost), paired.tested
        low, high = paired_interval(gained, lost, tested)
        points = 100 * (gained - lost) / max(tested, 1)
        found[budget] = Difference(paired, points, (100 * low, 100 * high))
    return Effect(ALL if len(sets) > 1 else sets[0], before, after, what, found)


def _outcomes(results: Results, sets: Sequence[str], arm: str, budget: int) -> Outcomes:
    return {
        f"{name}: {theorem.name}" if len(sets) > 1 else theorem.name: theorem.outcome
        for name in sets
        for theorem in results[name][arm].at(budget).per_theorem
    }


# ------------------------------------------------------------------------------ recommendation


def _recommended(
    effects: Mapping[tuple[str, str], Effect], measured: Mapping[str, Mapping[str, Any]]
) -> Recommendation:
    best, reasons = "", []

    def is_more(before: str, after: str) -> bool:
        # C against B is the step from B to C, read backwards.
        forward = (before, after) in effects
        one = effects[(before, after) if forward else (after, before)]
        reasons.append(said(one))
        return one.last.pairing.verdict == ("better" if forward else "worse")

    for arm in BY_COST:
        if is_more(WITHOUT[arm], arm) and (not best or is_more(best, arm)):
            best = arm
    found = () if best else tuple(_causes(measured, effects[(WITHOUT["C"], "C")]))
    return Recommendation(best, _ADVICE[best], tuple(dict.fromkeys(reasons)), found)


def said(effect: Effect) -> str:
    """An effect at the largest budget, in words."""
    one, budget = effect.last, max(effect.budgets)
    it = one.pairing
    left_out = f", {len(it.undecided)} left out because of errors" if it.undecided else ""
    return (
        f"{effect.after} against {effect.before} within {count(budget, 'node')}: {len(it.gained)} "
        f"gained, {len(it.lost)} lost of {count(it.tested, 'theorem')}{left_out}, {points_text(one)}, "
        f"{p_text(it.p_value)}: {it.verdict}"
    )


def points_text(one: Difference) -> str:
    low, high = one.interval
    return f"{one.points:+z.1f} points ({low:+z.1f} to {high:+z.1f})"


def _causes(measured: Mapping[str, Mapping[str, Any]], head: Effect) -> Iterator[str]:
    """Of the known causes, those that the measurements show."""
    joint, it = measured.get("joint", {}), head.last.pairing
    if joint.get("stopped") == "collapse":
        yield (
            "collapse: joint training was ended because provable states and others came together "
            f"(step {joint.get('best_step')} is what was kept)"
        )
    first, kept = joint.get("first_probe"), joint.get("best_probe")
    if first is not None and kept is not None and kept < LEAST_PROBE <= first:
        yield f"drift: a linear probe tells states apart in {first:.0%} before and {kept:.0%} after"
    for arm in WITHOUT:
        figures = measured.get(arm, {})
        if figures.get("verdict") == "undecided":
            yield (
                f"labels: {figures.get('test_groups')} groups of {figures.get('test_theorems')} "
                f"theorems do not decide whether the head of {arm} ranks siblings better than "
                "log-probability"
            )
        elif figures.get("verdict") == "no better":
            yield f"labels: the head of {arm} ranks siblings no better than log-probability"
    if not it.gained and not it.lost:
        yield f"nothing to choose between: the head of {head.after} changed no theorem's outcome"
