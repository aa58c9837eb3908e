"""What a file may not change of its task, whatever it is called: generated tasks, one change each.

Every text here is harmless, so one process serves for all of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from burnqed.core.errors import StatementError
from burnqed.lean.judge import judge_file
from burnqed.lean.pool import Kind, Pool, Worker
from burnqed.lean.process import LaunchSpec
from tests.lean.mutations import NAMES, TASKS, Task

pytestmark = pytest.mark.lean


class Reused(Pool):
    """A pool whose processes compile one text after the other."""

    @asynccontextmanager
    async def lease(self, kind: Kind = "any") -> AsyncIterator[Worker]:
        async with super().lease("any") as worker:
            worker.retire = lambda: None  # type: ignore[method-assign]
            yield worker


@pytest.fixture(scope="module")
async def reused(lean_launch: LaunchSpec) -> AsyncIterator[Pool]:
    async with Reused(lean_launch, 1) as pool:
        yield pool


async def refusals(pool: Pool, task: Task, name: str) -> list[str] | None:
    """Why each file is refused (empty: accepted); none where Lean does not take the name itself."""
    reasons = []
    for file in task.files(name):
        try:
            verdicts = await judge_file(pool, file, task.reference(name))
        except StatementError:
            return None
        reasons.append(next((v.reason for v in verdicts if not v.accepted), ""))
    return reasons


async def all_are_told_apart(pool: Pool, tasks: Sequence[Task], name: str) -> None:
    taken = 0
    for task in tasks:
        reasons = await refusals(pool, task, name)
        if reasons is None:
            continue
        taken += 1
        honest, *mutated = reasons
        assert honest == "", task.title
        assert all(mutated), (task.title, mutated)
        # A mutation that does not compile would be refused whatever the judge compares.
        assert not any("does not compile" in reason for reason in mutated), (task.title, mutated)
    assert taken > len(tasks) / 2


@pytest.mark.parametrize("name", NAMES)
async def test_the_honest_file_is_accepted_and_no_other(reused: Pool, name: str) -> None:
    """A quarter of the tasks for each name, and all of them for some name."""
    await all_are_told_apart(reused, TASKS[NAMES.index(name) % 4 :: 4], name)


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
async def test_every_task_with_every_name(reused: Pool, name: str) -> None:
    await all_are_told_apart(reused, TASKS, name)


def test_there_are_enough() -> None:
    assert sum(len(task.ways) - 1 for task in TASKS) * len(NAMES) >= 900
