"""Lemmas in front of the states that a policy learns from, as a search will show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from burnqed.core.types import LibraryConstant, Theorem
from burnqed.policy.informed import found_for
from burnqed.policy.prompt import with_lemmas
from burnqed.policy.ranked.files import CORE, find_ranker
from burnqed.policy.ranked.library import shipped
from burnqed.policy.ranked.retrieval import Retriever
from burnqed.policy.ranked.shared_words import shared_words
from burnqed.policy.ranked.weights import load
from burnqed.training.pairs import Chosen, Pair


def with_found_lemmas(chosen: Chosen, count: int, on_one: Callable[[], None]) -> Chosen:
    """What is trained and validated on, with `count` lemmas in front of each state."""
    shown = partial(pairs_with_lemmas, count=count, on_one=on_one)
    return replace(chosen, train=shown(chosen.train), val=shown(chosen.val))


def pairs_with_lemmas(
    pairs: Sequence[Pair], count: int, on_one: Callable[[], None] = lambda: None
) -> tuple[Pair, ...]:
    """All pairs with `count` lemmas each, but those of theorems that this library cannot help.

    These are the ones that a data set gives of another library, such as Mathlib's. A theorem of the
    library itself is not shown among its own lemmas.
    """
    library = shipped()
    retriever = Retriever(library, load(find_ranker(CORE)), shared_words(library))
    found = []
    for pair in pairs:
        if pair.found or pair.theorem in library.places:
            own = Theorem(pair.theorem, LibraryConstant(pair.theorem, "self"))
            names = found_for(pair.state, retriever, count, library.forbidden(own))
            pair = replace(pair, state=with_lemmas(pair.state, names))
        found.append(pair)
        on_one()
    return tuple(found)
