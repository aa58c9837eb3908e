"""Compares a run's iterations on a held-out set, and finds which proved each theorem first.

After an error nothing is known about a theorem: it counts neither as proved nor as lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from burnqed.evaluation.compare import Pairing, pairing
from burnqed.evaluation.results import BudgetResult, IterationResult, TheoremResult
from burnqed.iteration.history import Evaluated, History, Iteration
from burnqed.report.wording import natural


@dataclass(frozen=True, slots=True)
class Entry:
    """An iteration that was evaluated on the set.

    `place` is its place among all iterations, which gives it its colour in every plot.
    """

    place: int
    iteration: Iteration
    evaluated: Evaluated

    @property
    def label(self) -> str:
        return self.iteration.label

    @property
    def arms(self) -> list[tuple[str, IterationResult]]:
        """Both evaluations, with their labels."""
        given = self.evaluated.given
        with_value = [("with the value model", given)] if given is not None else []
        return [("without", self.evaluated.without), *with_value]


@dataclass(frozen=True, slots=True)
class Against:
    """Two results compared, theorem by theorem.

    `budget` is the largest number of nodes that both have.
    """

    budget: int
    pairing: Pairing


@dataclass(frozen=True, slots=True)
class First:
    """A theorem that no earlier evaluation proved. `before` is its previous outcome."""

    theorem: TheoremResult
    only_given: bool  # the value model was needed
    before: str


def entries(history: History, name: str) -> list[Entry]:
    """The iterations that were evaluated on a set, in order."""
    return [
        Entry(place, one, one.evaluated[name])
        for place, one in enumerate(history.iterations)
        if name in one.evaluated and one.evaluated[name].without.budget_results
    ]


def sets(history: History) -> list[str]:
    """The sets that some iteration was evaluated on."""
    return [name for name in history.sets if entries(history, name)]


def budgets(found: Sequence[Entry]) -> list[int]:
    return sorted({b for entry in found for _, result in entry.arms for b in result.budgets})


def at(result: IterationResult | None, budget: int) -> BudgetResult | None:
    if result is None or budget not in result.budgets:
        return None
    return result.at(budget)


def against(before: IterationResult, after: IterationResult) -> Against | None:
    """Compare two results; None if they share no budget."""
    shared = set(before.budgets) & set(after.budgets)
    return Against(max(shared), paired(before, after, max(shared))) if shared else None


def paired(before: IterationResult, after: IterationResult, budget: int) -> Pairing:
    first, second = (
        {t.name: t.outcome for t in result.at(budget).per_theorem} for result in (before, after)
    )
    return pairing(first, second, [name for name in first if name in second])


def first_proofs(found: Sequence[Entry]) -> list[list[First]]:
    """For each entry, the theorems that it was the first to prove, within any budget, in any arm."""
    known: set[str] = set()
    last: dict[str, str] = {}
    firsts = []
    for entry in found:
        proofs: dict[str, tuple[TheoremResult, bool]] = {}
        for arm, (_, result) in enumerate(entry.arms):
            for b in reversed(result.budget_results):
                for t in b.per_theorem:
                    if t.proved:
                        proofs.setdefault(t.name, (t, arm > 0))
        new = sorted(proofs.keys() - known, key=natural)
        firsts.append([First(*proofs[name], last.get(name, "")) for name in new])
        known |= proofs.keys()
        last |= _ends(entry.evaluated.without)
    return firsts


def _ends(result: IterationResult) -> Mapping[str, str]:
    return {t.name: t.outcome for t in result.largest.per_theorem}


def same_theorems(found: Sequence[Entry]) -> bool:
    return len({result.benchmark.checksum for entry in found for _, result in entry.arms}) <= 1


def file_names(names: Sequence[str]) -> dict[str, str]:
    """A unique name for each set, for files and anchors."""
    given: dict[str, str] = {}
    for name in names:
        slug = re.sub("[^A-Za-z0-9]+", "-", name)[:40].strip("-").lower() or "set"
        clash = slug in given.values()
        given[name] = f"{slug}-{len(given) + 1}" if clash else slug
    return given
