"""Held-out theorems stay held out: a search whose proofs will be learnt from has none of them.

The theorems to search are made without them; this looks once more, by name and by what is stated,
right before each search, at the very file that it is given. What lies between, a stage, a person or
another program may have changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from burnqed.core.errors import InputError
from burnqed.data.benchmarks import theorem_set
from burnqed.data.contamination import held_out
from burnqed.data.index import TheoremIndex, read_index
from burnqed.iteration.config import Config


def refuse_held_out(config: Config, index: Path) -> None:
    """Refuse an index with a theorem of a held-out set."""
    sets = [theorem_set(given, None, None) for given in config.eval.sets]
    found = list(shared(read_index(index), sets))
    if found:
        name, where = found[0]
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise InputError(
            f"{index} has {name}, which is held out in {where}{more}: nothing was searched",
            hint="remove the index and its record in stages/, and it is made again without",
        )


def shared(index: TheoremIndex, sets: Iterable[TheoremIndex]) -> Iterable[tuple[str, str]]:
    """The theorems of an index that a held-out set has as well, and which one does."""
    held = held_out(sets)
    for entry in index.entries:
        name, stated = entry.theorem.name, entry.fields.get("statement")
        if name in held.names:
            yield name, held.names[name]
        elif isinstance(stated, str) and (same := held.has_statement(stated)) is not None:
            yield name, f"{same[0]} as {same[1]}"
