"""What can be done with lemmas: all that were found at once, or one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.reading import Reading

LEMMAS = 16  # that tactics are made of
_SINGLE = 8
_FEW = 4


def lemma_tactics(r: Reading, lemmas: Sequence[str]) -> Iterator[Rated]:
    """Tactics with log-weights, on the scale of the portfolio's rules."""
    if not lemmas:
        return
    few, some, many = (", ".join(lemmas[:count]) for count in (_FEW, _SINGLE, LEMMAS))
    yield f"grind [{few}]", -0.6
    yield f"grind [{some}]", -0.8
    yield f"simp_all [{some}]", -0.9
    yield f"simp [{some}]", -1.6
    yield f"grind [{many}]", -2.8
    yield f"simp_all [{many}]", -2.4
    yield f"simp [{few}]", -2.2
    behind = "intros; " if r.target.startswith("∀") or r.shape.kind == "implies" else ""
    yield behind + _first("exact {} ..", lemmas[:_SINGLE]), -1.0
    yield behind + _first("apply {} <;> assumption", lemmas[:_SINGLE]), -1.4
    yield behind + _first("simpa using {} ..", lemmas[:_SINGLE]), -2.2
    if behind:
        return
    for rank, lemma in enumerate(lemmas[:_FEW]):
        yield f"rw [{lemma}]", -2.0 - 0.3 * rank
        yield f"apply {lemma}", -2.6 - 0.3 * rank
        yield f"simp only [{lemma}]", -3.0 - 0.3 * rank
        yield f"rw [← {lemma}]", -3.2 - 0.3 * rank
    if r.shape.kind == "eq":
        yield f"ext <;> simp [{some}]", -2.4
        yield f"ext <;> grind [{some}]", -2.4
    for rank, variable in enumerate(reversed(r.variables[-3:])):
        yield f"cases {variable.name} <;> simp_all [{some}]", -2.6 - 0.3 * rank
        yield f"cases {variable.name} <;> grind [{some}]", -2.8 - 0.3 * rank
        yield f"induction {variable.name} <;> simp_all [{some}]", -2.8 - 0.3 * rank
        yield f"induction {variable.name} <;> grind [{some}]", -3.0 - 0.3 * rank


def _first(tactic: str, lemmas: Sequence[str]) -> str:
    """One tactic that tries a lemma after the other; a proof keeps the one that it needs."""
    return "first | " + " | ".join(tactic.format(lemma) for lemma in lemmas)
