"""Lemmas of the library for a goal, by the retrieval of the ranker."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnqed.core.errors import InputError
from burnqed.policy.ranked.files import CORE, find_ranker
from burnqed.prover import policies
from burnqed.prover.assembly import Assembled

if TYPE_CHECKING:  # it loads numpy
    from burnqed.policy.ranked.retrieval import Retriever


@dataclass(frozen=True, slots=True)
class Lemma:
    """A theorem of the library. `share`: how far it outdoes the others that were considered, of 1."""

    name: str
    module: str
    statement: str
    share: float


def retriever_of(parts: Assembled) -> Retriever:
    """That of the prover's policy, or else of the shipped library and ranker."""
    if parts.policy.retriever is not None:
        return parts.policy.retriever
    from burnqed.policy.ranked.library import shipped_library
    from burnqed.policy.ranked.weights import load

    lean = parts.lean
    own = shipped_library(lean.toolchain, lean.modules) if lean.project is None else None
    if own is None:
        raise InputError(
            "this prover has not read the library of its Lean",
            hint="use --policy ranked: it reads the library once, which takes minutes",
        )
    return policies.retriever(own, load(find_ranker(CORE)))


def lemmas_for(retriever: Retriever, goal: str, count: int) -> list[Lemma]:
    """The strongest lemmas for a goal as Lean prints it, or for a statement."""
    library = retriever.library
    return [
        Lemma(
            library.names[one.place],
            library.modules[one.place],
            library.statements[one.place],
            math.exp(one.strength),
        )
        for one in retriever.find(goal)[:count]
    ]
