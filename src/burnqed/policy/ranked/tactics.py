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
    few, some, many = (", ".join(lemmas[:count]) for count in (4, 8, LEMMAS))
    yield f"grind [{few}]", -0.8
    yield f"simp_all [{some}]", -1.2
    yield f"grind [{some}]", -1.2
    yield f"simp [{some}]", -1.4
    yield f"grind [{many}]", -1.6
    yield f"simp [{few}]", -2.0
    if r.target.startswith("∀") or r.shape.kind == "implies":
        for rank, lemma in enumerate(lemmas[:_SINGLE]):
            yield f"intros; exact {lemma} ..", -1.6 - 0.2 * rank
            yield f"intros; apply {lemma} <;> assumption", -2.0 - 0.2 * rank
        return
    for rank, lemma in enumerate(lemmas[:_SINGLE]):
        yield f"exact {lemma} ..", -1.4 - 0.2 * rank
        yield f"apply {lemma} <;> try assumption", -1.8 - 0.2 * rank
        yield f"rw [{lemma}]", -2.2 - 0.2 * rank
    for rank, lemma in enumerate(lemmas[:_FEW]):
        yield f"simp [{lemma}]", -2.4 - 0.2 * rank
        yield f"grind [{lemma}]", -2.4 - 0.2 * rank
        yield f"simpa using {lemma} ..", -2.6 - 0.2 * rank
        yield f"rw [← {lemma}]", -3.4 - 0.2 * rank
    if r.shape.kind == "eq":
        yield f"ext <;> simp [{some}]", -2.8
        yield f"ext <;> grind [{some}]", -3.0
    for rank, variable in enumerate(r.variables[-3:]):
        yield f"cases {variable.name} <;> simp_all [{few}]", -3.0 - 0.2 * rank
        yield f"induction {variable.name} <;> simp_all [{few}]", -3.2 - 0.2 * rank
        yield f"induction {variable.name} <;> grind [{few}]", -3.4 - 0.2 * rank
