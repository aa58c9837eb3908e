"""A worker is what was asked for, and little besides."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnqed.lean.embedded import install, snapshot
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from tests.lean.embedded.test_sandbox import messages

pytestmark = pytest.mark.lean


def test_init_takes_less_than_300_mb(lean_launch: LaunchSpec) -> None:
    """The REPL needs all of Lean's library to be elaborated, and none of it to run."""
    assert Path(lean_launch.command[-1]).stat().st_size < 300e6


def test_what_it_was_made_with_is_kept(lean_launch: LaunchSpec) -> None:
    """So that the next list of modules need not compile the REPL again."""
    memory = Path(lean_launch.command[-1])
    code = snapshot.code_path(install.Installation(memory.parent.parent))
    assert snapshot.is_whole(code, thorough=True)
    assert code.stat().st_size < 10e6


async def test_modules_that_nobody_asked_for_are_not_there(lean_pool: Pool) -> None:
    said = await messages(lean_pool, "#check Nat.add_comm\n#check Lean.Environment\n#check Std.HashMap")
    assert "Nat.add_comm" in said
    assert "Unknown identifier `Lean.Environment`" in said
    assert "Unknown identifier `Std.HashMap`" in said


async def test_a_thread_starts_when_something_needs_one(lean_pool: Pool) -> None:
    source = "#eval (Task.spawn fun _ => 6 * 7 : Task Nat).get"
    assert await messages(lean_pool, source) == "42"
    source = "#eval (do let t ← IO.asTask (pure 7); IO.ofExcept t.get : IO Nat)"
    assert await messages(lean_pool, source) == "7"
