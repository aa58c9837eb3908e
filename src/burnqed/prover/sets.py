"""Work on a set of theorems: finding the set, and one pass through it that can be resumed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.core.errors import InputError
from burnqed.core.types import LeakRule
from burnqed.core.watching import Bar, Watcher
from burnqed.data.benchmarks import theorem_set
from burnqed.data.index import TheoremIndex
from burnqed.evaluation.run import Plan, Site, run, unfinished, without_lean

if TYPE_CHECKING:  # it loads pyarrow
    from burnqed.trajectories.store import TrajectoryWriter


def chosen(given: str, leak_rule: LeakRule | None = None, split: str | None = None) -> TheoremIndex:
    """Find the set. A set without theorems is an error."""
    index = theorem_set(given, leak_rule, split)
    if not index.entries:
        raise InputError(
            f"{given} contains no theorem",
            hint='an index is {"theorems": [{"name": …, "statement": …}, …]}: `burn-qed data index`',
        )
    return index


async def go_through(
    plan: Plan,
    directory: Path,
    watcher: Watcher,
    work: Callable[[TrajectoryWriter, Bar], Awaitable[None]],
    label: str = "",
) -> None:
    """Do the rest of a plan, and keep the results in a directory of trajectories."""
    from burnqed.trajectories.store import open_writer

    with open_writer(directory, watcher.warn, again=without_lean) as writer:
        todo = len(unfinished(plan, writer.earlier))
        bar = watcher.bar(len(plan.theorems), len(plan.theorems) - todo, label)
        bar.count(writer.earlier)
        if todo:
            with bar.shown():
                await work(writer, bar)


async def search_through(
    site: Site, plan: Plan, directory: Path, watcher: Watcher, stop: asyncio.Event, label: str = ""
) -> None:
    """Search the rest of a plan."""

    async def work(writer: TrajectoryWriter, bar: Bar) -> None:
        await run(site, plan, writer, bar.record, stop, bar.event)

    await go_through(plan, directory, watcher, work, label)
