"""Least elements: a hypothesis `∀ x, p x → u ≤ x`, put to use at numbers of which p holds."""

from __future__ import annotations

from collections.abc import Iterator

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.arithmetic import Kinds
from burnqed.policy.portfolio.reading import Reading, Said, premises
from burnqed.policy.portfolio.truth import Effort, truth_of

_LOOKED_AT = 1000  # numbers that are tried
_MOST = 2  # that are put in, where it cannot be said of all that p holds


def least(r: Reading) -> Iterator[Rated]:
    """Every such hypothesis at the first numbers that have the property, for linear arithmetic."""
    if r.shape.kind in ("forall", "implies", "exists"):
        return
    effort = Effort()
    steps: list[str] = []
    for name, shape in r.fact_shapes.items():
        for proof, said in _conjuncts(name, shape):
            for number in _numbers(said, effort):
                hu = r.fresh(f"hu{len(steps)}")
                steps.append(f"have {hu} := {proof} {number}\ntry simp at {hu}")
    if steps:
        yield "\n".join([*steps, "omega"]), -1.2


def _conjuncts(proof: str, said: Said) -> Iterator[tuple[str, Said]]:
    if said.kind == "and":
        for i, part in enumerate(said.parts):
            yield from _conjuncts(f"{proof}.{i + 1}", part)
    else:
        yield proof, said


def _numbers(said: Said, effort: Effort) -> list[int]:
    """The first numbers that all premises hold of, as far as can be said."""
    binders, conclusion = premises(said)
    if said.kind != "forall" or conclusion is None or conclusion.kind not in ("le", "lt"):
        return []
    variable = binders[0].name
    if variable is None or binders[0].type != "Nat" or conclusion.right != variable:
        return []
    if any(binder.name is not None for binder in binders[1:]):
        return []
    kinds: Kinds = {variable: "Nat"}
    parts = [part for b in binders[1:] for _, part in _conjuncts("", b.said)]
    tests = [truth_of(part, kinds, effort) for part in parts]
    found: list[int] = []
    for number in range(_LOOKED_AT):
        held = [test({variable: number}) for test in tests]
        if effort.is_spent or len(found) == _MOST:
            break
        if False not in held and True in held:
            found.append(number)
            if None not in held:
                break
    return found
