"""Held-out theorems stay held out: nothing that is learnt from has any of them.

The theorems to search are made without them; this looks once more, by name and by what is stated,
right before each search, at the very file that it is given. What lies between, a stage, a person or
another program may have changed. Pairs that are given to begin with come from elsewhere, and are looked
at before anything is searched.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from burnqed.core.errors import InputError
from burnqed.data.benchmarks import theorem_set
from burnqed.data.contamination import held_out
from burnqed.data.index import TheoremIndex, read_index
from burnqed.iteration.config import Config
from burnqed.training.pairs import read_source


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


def refuse_held_out_pairs(config: Config) -> None:
    """Refuse `[data] base` with a proof of a held-out theorem."""
    if not config.data.base:
        return
    held = held_out(theorem_set(given, None, None) for given in config.eval.sets)
    for path in config.data.base:
        for pair in read_source(Path(path), lambda _: None).pairs:
            same = held.has_state(pair.state) if pair.depth == 0 else None
            if pair.theorem in held.names or same is not None:
                where = held.names.get(pair.theorem) or "{} as {}".format(*same or ())
                raise InputError(
                    f"[data]: {path} has a proof of {pair.theorem}, which is held out in {where}",
                    hint="`burn-qed data prepare --without SET` makes pairs without; begin another run",
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
