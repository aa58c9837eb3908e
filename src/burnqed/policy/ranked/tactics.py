"""What can be done with lemmas: all that were found at once, or one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.reading import Reading

_SINGLE = 8
_FEW = 4


@dataclass(frozen=True, slots=True)
class Picked:
    """Lemmas for a goal: the strongest, and the strongest of other namespaces than theirs.

    What is said about one structure is often proved of the one that it is made of, and the words that
    the two share are outdone by those that a structure's own lemmas share with each other.
    """

    near: tuple[str, ...]
    abroad: tuple[str, ...]

    @property
    def both(self) -> tuple[str, ...]:
        return (*self.near[:_FEW], *self.abroad[:_FEW])


def pick(names: Sequence[str]) -> Picked:
    """Of lemmas with the strongest first."""
    near = names[:_SINGLE]
    seen = {_namespace(name) for name in near[:_FEW]}
    abroad: list[str] = []
    for name in names[_FEW:]:
        if _namespace(name) not in seen and len(abroad) < _SINGLE:
            seen.add(_namespace(name))
            abroad.append(name)
    return Picked(tuple(near), tuple(abroad))


def _namespace(name: str) -> str:
    return name.rpartition(".")[0]


def lemma_tactics(r: Reading, picked: Picked, for_grind: Picked) -> Iterator[Rated]:
    """Tactics with log-weights, on the scale of the portfolio's rules."""
    near, abroad, grind = picked.near, picked.abroad, instances(for_grind.near)
    if not near:
        return
    if for_grind.near:
        yield f"grind {instances(for_grind.near[:_FEW])}", -0.6
        yield f"grind {grind}", -0.8
    yield f"simp_all {_rewrites(near)}", -0.9
    yield f"simp {_rewrites(near)}", -1.6
    if for_grind.abroad:
        yield f"grind {instances(for_grind.both)}", -1.4
    if abroad:
        yield f"simp_all {_rewrites(picked.both)}", -1.6
    yield f"simp {_rewrites(near[:_FEW])}", -2.2
    behind = "intros; " if r.target.startswith("∀") or r.shape.kind == "implies" else ""
    for worth, lemmas in ((0.0, near), (-0.2, abroad)):
        if lemmas:
            yield behind + _first("exact {} ..", lemmas), -1.0 + worth
            yield behind + _first("apply {} <;> assumption", lemmas), -1.4 + worth
            yield behind + _first("simpa using {} ..", lemmas), -2.2 + worth
    for rank, lemma in enumerate(filter(None, chain(*zip_longest(near[:_FEW], abroad[:_FEW])))):
        yield f"{behind}apply {lemma}", -2.0 - 0.2 * rank
    if behind:
        return
    for rank, lemma in enumerate(near[:_FEW]):
        yield f"rw [{lemma}]", -2.0 - 0.3 * rank
        yield f"simp only [{lemma}]", -3.0 - 0.3 * rank
        yield f"rw [← {lemma}]", -3.2 - 0.3 * rank
    if r.shape.kind == "eq":
        yield f"ext <;> simp {_rewrites(near)}", -2.4
        yield f"ext <;> grind {grind}", -2.4
    for rank, variable in enumerate(reversed(r.variables[-3:])):
        yield f"cases {variable.name} <;> simp_all {_rewrites(near)}", -2.6 - 0.3 * rank
        yield f"cases {variable.name} <;> grind {grind}", -2.8 - 0.3 * rank
        yield f"induction {variable.name} <;> simp_all {_rewrites(near)}", -2.8 - 0.3 * rank
        yield f"induction {variable.name} <;> grind {grind}", -3.0 - 0.3 * rank


def _rewrites(lemmas: Sequence[str]) -> str:
    return f"[{', '.join(lemmas)}]"


def instances(lemmas: Sequence[str]) -> str:
    """For `grind`. The dot has it take the first pattern that it finds in a lemma, where by itself it
    would look for the best: that takes ten times as long, and proves no more.
    """
    return f"[{', '.join(f'. {lemma}' for lemma in lemmas)}]"


def _first(tactic: str, lemmas: Sequence[str]) -> str:
    """One tactic that tries a lemma after the other; a proof keeps the one that it needs."""
    return "first | " + " | ".join(tactic.format(lemma) for lemma in lemmas)
