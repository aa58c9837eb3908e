"""The portfolio: every rule asked, their ratings one distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from burnqed.core.types import Candidate, Goal, Theorem
from burnqed.lean.tactic_words import mathlib_tactics
from burnqed.policy.candidates import Rated, candidates_of
from burnqed.policy.portfolio import (
    automation,
    divisibility,
    hypotheses,
    least,
    mathlib,
    membership,
    numbers,
    recurrences,
    structure,
    witnesses,
)
from burnqed.policy.portfolio.reading import Reading
from burnqed.policy.portfolio.sizes import has_large_power

RULES: tuple[Callable[[Reading], Iterable[Rated]], ...] = (
    automation.closers,
    automation.tidying,
    automation.unfolding,
    structure.introductions,
    structure.splits,
    witnesses.witnesses,
    witnesses.diagonals,
    structure.inductions,
    structure.later_start,
    structure.naming,
    structure.generalizations,
    hypotheses.taking_apart,
    hypotheses.applying,
    hypotheses.rewriting,
    hypotheses.definitions,
    hypotheses.instances,
    numbers.bounds,
    numbers.finite_search,
    numbers.below,
    numbers.truncated,
    numbers.values,
    divisibility.divisors,
    divisibility.combinations,
    divisibility.exponents,
    divisibility.residues,
    divisibility.powers,
    divisibility.remainders,
    recurrences.recurrences,
    numbers.nonlinear,
    numbers.casts,
    membership.listings,
    least.least,
)


class Portfolio:
    """`Policy` without a model. It acts on a state's first goal.

    `tactics` are those that its Lean has besides core Lean's.
    """

    def __init__(self, tactics: Set[str] = frozenset()) -> None:
        self._tactics = tactics

    def about(self, theorem: Theorem) -> Portfolio:
        return self

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        return [candidates_of(rate(goals[0], self._tactics), n, temperature, seed) for goals in states]


def rate(goal: Goal, tactics: Set[str] = frozenset()) -> list[Rated]:
    """Every tactic that some rule has for this goal, with its log-weight.

    Those that would say a name that Lean prints with a dagger are left out: nobody can say it. So is
    what the kernel would not come to the end of.
    """
    reading = Reading(goal)
    found = [rated for rule in RULES for rated in rule(reading)]
    if tactics:
        more = (rated for rule in mathlib.RULES for rated in rule(reading))
        found += [rated for rated in more if tactics >= set(mathlib_tactics(rated[0]))]
    unfit = ("✝", "+kernel") if has_large_power(reading.all_text) else ("✝",)
    return [rated for rated in found if not any(word in rated[0] for word in unfit)]
