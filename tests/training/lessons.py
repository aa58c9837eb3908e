"""Searches of one node each: what was tried at a state, and what became of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from burnqed.search.tree import Result
from burnqed.trajectories.schema import Origin, PathStep, StepRow
from burnqed.trajectories.store import open_writer
from tests.trajectories.samples import record, rows

Tried = Mapping[str, Result]  # a tactic, and what became of it


def steps(
    name: str, state: str, tried: Tried, origin: Origin = "search",
    seconds: Mapping[str, float] | None = None, errors: Mapping[str, str] | None = None,
) -> list[StepRow]:  # fmt: skip
    """One node, and what was tried there; what closes it is on the path of the proof.

    `seconds`: what the tactics took, where it is known.
    """
    (row,) = rows(0, 1)
    return [
        replace(
            row, theorem=name, state=state, root_goal=state, tactic=tactic, outcome=outcome,
            on_proof_path=outcome == "closed", origin=origin,
            lean_seconds=(seconds or {}).get(tactic), error=(errors or {}).get(tactic, row.error),
        )
        for tactic, outcome in tried.items()
    ]  # fmt: skip


def run(
    directory: Path,
    theorems: Mapping[str, tuple[str, Tried]],
    *,
    origin: Origin = "search",
    shas: Mapping[str, str] | None = None,
    seconds: Mapping[str, float] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Path:
    """A run; theorems of which something closed the state are proved by that."""
    with open_writer(directory / "trajectories") as writer:
        for name, (state, tried) in theorems.items():
            made = steps(name, state, tried, origin, seconds, errors)
            path = tuple(PathStep(state, row.tactic, 0) for row in made if row.on_proof_path)
            sha = (shas or {}).get(name, hashlib.sha256(name.encode()).hexdigest())
            about = record(0 if path else 1, len(made))
            writer.add(replace(about, theorem=name, statement_sha=sha, path=path), made)
    return directory
