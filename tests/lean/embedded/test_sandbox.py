"""What Lean code can do when it runs after all: nothing to this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from burnqed.lean.pool import Pool
from burnqed.lean.requests import Process
from tests.lean.lines import stat

pytestmark = pytest.mark.lean


async def messages(pool: Pool, source: str) -> str:
    """Everything Lean says about a text, which no rule has filtered here."""
    async with pool.lease() as worker:
        reply: dict[str, Any] = await worker.request(Process(source).line)
    return "\n".join(m["data"] for unit in reply["units"] for m in unit["messages"])


async def test_code_runs_here(lean_pool: Pool) -> None:
    assert "42" in await messages(lean_pool, "#eval (6 * 7 : Nat)")


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "/lib/lean/../../etc/passwd"])
async def test_files_of_the_host_are_not_there(lean_pool: Pool, path: str) -> None:
    said = await messages(lean_pool, f'#eval (do return (← IO.FS.readFile "{path}").length : IO Nat)')
    assert "no such file" in said.lower() or "error" in said.lower()
    assert not said.strip().isdigit()


async def test_nothing_can_be_written(lean_pool: Pool, lean_launch: Any, tmp_path: Path) -> None:
    library = Path(lean_launch.env["LEAN_LIBRARY"])
    target = tmp_path / "written"
    for path in (target, "/lib/lean/Init.olean", "/lib/lean/new.olean"):
        await messages(lean_pool, f'#eval (IO.FS.writeFile "{path}" "gone" : IO Unit)')
    await messages(lean_pool, '#eval (IO.FS.removeFile "/lib/lean/Init.olean" : IO Unit)')
    assert not target.exists()
    assert (library / "Init.olean").stat().st_size > 10
    assert not (library / "new.olean").exists()


async def test_no_process_can_be_started(lean_pool: Pool, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    said = await messages(
        lean_pool,
        f'#eval (do let _ ← IO.Process.output {{ cmd := "touch", args := #["{marker}"] }} : IO Unit)',
    )
    assert said
    assert not marker.exists()


async def test_what_lean_prints_is_no_reply(lean_pool: Pool) -> None:
    said = await messages(lean_pool, """#eval (IO.println "{\\"units\\":[]}" : IO Unit)""")
    assert "units" in said or said == ""
    async with lean_pool.lease() as worker:
        assert "nGoals" in await worker.request(stat())
