"""The judged proofs of a directory of trajectories, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from burnqed.trajectories.schema import PathStep, TheoremRecord
from burnqed.trajectories.store import iter_steps, read_records

_COLUMNS = ("theorem", "state", "tactic", "depth", "origin", "on_proof_path")


@dataclass(frozen=True, slots=True)
class JudgedProof:
    """A theorem's proof: the steps that the judge accepted, or, in older files, those of the search.

    `origins` are the kinds of searches that found it; if several did, `path` has the steps of all.
    `found_steps` is the length of the search's path, before shortening.
    """

    record: TheoremRecord
    path: tuple[PathStep, ...]
    found_steps: int
    origins: frozenset[str]


def read_proofs(directory: Path, on_problem: Callable[[str], None]) -> list[JudgedProof]:
    """The proofs in the order saved. A record without rows on its path is left out."""
    found: dict[str, list[PathStep]] = {}
    origins: dict[str, set[str]] = {}
    for batch in iter_steps(directory, _COLUMNS, on_problem):
        kept = batch.filter(batch.column("on_proof_path"))
        columns = (kept.column(name).to_pylist() for name in _COLUMNS[:-1])
        for theorem, state, tactic, depth, origin in zip(*columns, strict=True):
            found.setdefault(theorem, []).append(PathStep(state, tactic, depth))
            origins.setdefault(theorem, set()).add(origin)
    return [
        JudgedProof(
            record,
            record.path or tuple(found[record.theorem]),
            len(found[record.theorem]),
            frozenset(origins[record.theorem]),
        )
        for record in read_records(directory, lambda _told_already: None)
        if record.outcome == "proved" and record.theorem in found
    ]
