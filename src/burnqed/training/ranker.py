"""Training a ranker from beginning to end: lessons, retrieval, ranking, what it is worth.

First which lemmas a state needs, then in which order to try what rules and lemmas propose, then what
tactics cost. How strong
a lemma looks at a state from which its use was learnt says nothing about other states, so while the
order is learnt half of the theorems are looked at with what the other half taught, and conversely.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from burnqed.core.errors import InputError, NotEnough
from burnqed.core.files import publish_directory, publish_json
from burnqed.core.watching import Watcher
from burnqed.data.first_state import goal_of
from burnqed.data.index import TheoremIndex
from burnqed.data.splits import split_of
from burnqed.policy.ranked.files import BEST
from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.policy import Idea, ideas, strength
from burnqed.policy.ranked.retrieval import Retriever, Shared, rows_of
from burnqed.policy.ranked.shapes import lemmas_in, shape_of, shape_row
from burnqed.policy.ranked.weights import as_saved, save, untrained
from burnqed.policy.ranked.words import words_of
from burnqed.training.checkpoints import RESULT
from burnqed.training.costs import learn_costs
from burnqed.training.decisions import Decision, read_lessons
from burnqed.training.order import Choice, learn_order, measured
from burnqed.training.pairs import Pair, is_validation
from burnqed.training.plans import ORDER, RANKER_VAL_SHARE, RETRIEVAL, Effort
from burnqed.training.retrieval import Use, learn_retrieval, recall

_FEWEST = 20  # theorems


@dataclass(frozen=True, slots=True)
class Job:
    """All that decides the result, besides the library."""

    data: tuple[Path, ...]
    without: tuple[TheoremIndex, ...] = ()
    val_share: float = RANKER_VAL_SHARE
    retrieval: Effort = RETRIEVAL
    order: Effort = ORDER


def train_ranker(job: Job, library: Library, out: Path, watch: Watcher) -> dict[str, Any] | None:
    """Train, and write `out` whole; None if it was stopped before."""
    begun = time.monotonic()
    lessons = read_lessons(job.data, job.without, watch.warn)
    if lessons.report["theorems"] < _FEWEST:
        raise NotEnough(
            f"only {lessons.report['theorems']} proved theorems to learn from",
            hint=f"{_FEWEST} are the least; search more of them, or with more nodes",
        )
    shared = Shared.of(library)
    uses = [use for step in lessons.steps if (use := _use(step, library))]
    val = [use for use, name in uses if is_validation(name, job.val_share)]
    train = [(use, name) for use, name in uses if not is_validation(name, job.val_share)]
    sides = [[use for use, name in train if _half(name) == side] for side in (0, 1)]
    with watch.counted("learning lemmas", 3 * job.retrieval.epochs) as tick:
        one, other, whole = (
            learn_retrieval(library, shared, own, job.retrieval, told_by(tick, watch))
            for own in (*sides, [use for use, _ in train])
        )
    if watch.stop():
        return None
    # A half looks at what the other has learnt from, and what validates had no part in either.
    retrievers = [Retriever(library, weights, shared) for weights in (other, one)]
    trained = Retriever(library, whole, shared)
    choices: list[Choice] = []
    checks: list[Choice] = []
    with watch.counted("looking at decisions", len(lessons.decisions)) as tick:
        for decision in lessons.decisions:
            held = is_validation(decision.theorem, job.val_share)
            retriever = trained if held else retrievers[_half(decision.theorem)]
            if choice := _choice(decision, retriever):
                (checks if held else choices).append(choice)
            tick()
            if watch.stop():
                return None
    if not choices:
        raise NotEnough("no decision had both something that worked and something that did not")
    with watch.counted("learning the order", job.order.epochs) as tick:
        weights, best = learn_order(whole, choices, checks, job.order, told_by(tick, watch))
    if watch.stop():
        return None
    costs = learn_costs(job.data, job.without, watch.warn)
    # What is told about them, and their identity, is of what is loaded.
    weights = as_saved(replace(weights, cost=costs.table))
    plain = Retriever(library, untrained(), shared)
    now = measured(weights, checks)
    result: dict[str, Any] = {
        "data": {
            **lessons.report,
            "lemmas": len(uses),
            "decided": len(choices) + len(checks),
            "timed_tactics": costs.tactics,
            "timed_seconds": costs.seconds,
        },
        "library": len(library.names),
        "base": "ranker",
        "identity": weights.identity,
        "train_examples": len(choices),
        "val_examples": len(checks),
        "epochs": best,
        **{("best_val_loss" if key == "loss" else f"val_{key}"): value for key, value in now.items()},
        **{f"baseline_val_{key}": value for key, value in measured(untrained(), checks).items()},
        "lemma_val_examples": len(val),
        **{f"lemma_val_{key}": value for key, value in recall(trained, val).items()},
        **{f"lemma_baseline_{key}": value for key, value in recall(plain, val).items()},
        "seconds": time.monotonic() - begun,
    }

    def write(directory: Path) -> None:
        about = {"seed": job.order.seed, "without": [index.name for index in job.without]}
        save(directory / BEST, weights, about)
        publish_json(directory / RESULT, result)

    publish_directory(out, write)
    return result


def told_by(tick: Callable[[], None], watch: Watcher) -> Callable[[], bool]:
    """What a training calls at each epoch."""

    def told() -> bool:
        tick()
        return watch.stop()

    return told


# -------------------------------------------------------------------------------- in numbers


def _half(theorem: str) -> int:
    return int(split_of(f"half {theorem}", (0.5, 0.5, 0.0)) == "val")


def _use(step: Pair, library: Library) -> tuple[Use, str] | None:
    """The lemmas of a step, if it names any of the library's."""
    own = library.places.get(step.theorem)
    needed = tuple(library.places[name] for name in lemmas_in(step.tactic, library.places))
    needed = tuple(place for place in needed if place != own)
    return (Use(step.state.split("\n\n")[0], needed, own), step.theorem) if needed else None


def _choice(decision: Decision, retriever: Retriever) -> Choice | None:
    """A decision as a ranker would see it; None where there is nothing to choose, or to recognise.

    What was tried is known again by its text. Lists of lemmas are others when the retriever is another,
    and what `exact?` found is not what was proposed: then by its shape.
    """
    try:
        goal = goal_of(decision.state, decision.facts)
    except InputError:
        return None
    own = retriever.library.places.get(decision.theorem)
    every, found = ideas(goal, retriever, () if own is None else (own,))
    by_text = {idea.tactic: idea for idea in every}
    by_shape: dict[str, Idea] = {}
    for idea in every:
        by_shape.setdefault(shape_of(idea.tactic), idea)
    kept: list[Idea] = []
    worked: list[bool] = []
    for tactic in decision.tried:
        known = by_text.get(tactic) or by_shape.get(shape_of(tactic))
        if known is not None:
            # What `exact?` found names lemmas too, but nobody knows of them when it is proposed.
            strong = strength(tactic, retriever, found) if known.strength else 0.0
            kept.append(Idea(tactic, known.weight, strong))
            worked.append(tactic in decision.worked)
    if not any(worked) or all(worked):
        return None
    return Choice(
        rows_of(Counter(words_of(goal.text)), retriever.shared.rarity),
        np.array([shape_row(idea.tactic) for idea in kept]),
        np.array([idea.weight for idea in kept], dtype=np.float32),
        np.array([idea.strength for idea in kept], dtype=np.float32),
        np.array(worked),
    )
