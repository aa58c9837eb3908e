"""When what was searched is saved. The searches are made up, the files are real."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from burnqed.core.types import Proposition, Theorem
from burnqed.evaluation import run
from burnqed.evaluation.prove import Attempt
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.store import open_writer

THEOREMS = [Theorem(f"t{i}", Proposition(f"{i} = {i}")) for i in range(6)]


def parts(directory: Path) -> int:
    return len(list(directory.glob("*.parquet")))


async def parts_while(seconds: float, directory: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files there are before each theorem, when a theorem takes so long."""
    now, seen = [0.0], []
    monkeypatch.setattr("burnqed.evaluation.run.time", SimpleNamespace(monotonic=lambda: now[0]))

    async def one(theorem: Theorem) -> run.Kept:
        seen.append(parts(directory))
        now[0] += seconds
        return run.record_of(Attempt(theorem, "exhausted", "nodes"), 0), []

    with open_writer(directory, lambda _: None) as writer:
        plan = run.Plan(THEOREMS, 0, Provenance(run="made-up", temperature=0.0), save_every=4)
        await run.work_through(plan, one, 1, writer, lambda _: None, asyncio.Event())
    return seen


async def test_quick_theorems_are_saved_by_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await parts_while(0.1, tmp_path, monkeypatch) == [0, 0, 0, 0, 1, 1]


async def test_slow_theorems_are_saved_after_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await parts_while(31.0, tmp_path, monkeypatch) == [0, 0, 1, 1, 2, 2]
