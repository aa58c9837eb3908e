"""A real native Lean: what the REPL is made of, projects' own code, walls and memory."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from burnqed.core.errors import LeanMemoryExceeded
from burnqed.core.types import Closed, Proposition, Theorem
from burnqed.lean import process, repl
from burnqed.lean.embedded.progress import Silent
from burnqed.lean.judge import judge_proof
from burnqed.lean.native import compiling, found, program, walls
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec, LeanProcess, Limits
from burnqed.lean.protocol import start
from burnqed.lean.requests import GoalTactic
from burnqed.lean.session import open_session
from burnqed.lean.toolchain import Toolchain
from tests.lean.test_guard import needs_seal

pytestmark = pytest.mark.native

OWN = """import Lean
open Lean Elab Tactic

initialize counted : IO.Ref Nat ← IO.mkRef 7

register_simp_attr own_simp

elab "own_tactic" : tactic => do
  unless (← counted.get) == 7 do throwError "what it initializes is not there"
  evalTactic (← `(tactic| trivial))
"""
USE = """import Own
opaque secret : Nat
axiom secret_eq : secret = 1
attribute [own_simp] secret_eq
"""


def test_the_version_is_among_those_that_it_is_said_to_work_with(toolchain: Toolchain) -> None:
    assert toolchain.version in repl.WORKS_WITH, "then add it there, and to docs/lean.md"


def test_the_program_is_small_and_starts_nothing_else(lean_launch: LaunchSpec) -> None:
    assert len(lean_launch.command) == 2, "Lean itself, not a `lean --run`"
    assert Path(lean_launch.command[0]).stat().st_size < 30e6, "it is linked with Lean's libraries"
    assert (lean_launch.sealed, lean_launch.may_write) == (True, False)


@pytest.fixture(scope="module")
def modules(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Modules with code of their own that runs when they are imported."""
    folder = tmp_path_factory.mktemp("modules")
    lean = found.look()
    for name, text in (("Own", OWN), ("Use", USE)):
        (folder / f"{name}.lean").write_text(text)
        subprocess.run(
            [lean.binary, "-R", folder, "-o", folder / f"{name}.olean", folder / f"{name}.lean"],
            env={**lean.env, "LEAN_PATH": str(folder)}, check=True, timeout=300,
        )  # fmt: skip
    return folder


async def test_what_modules_initialize_is_there(toolchain: Toolchain, modules: Path) -> None:
    spec = toolchain.launch(("Init", "Use"))
    spec = replace(spec, env={**spec.env, "LEAN_PATH": str(modules)})
    async with Pool(spec, 1) as pool, open_session(pool) as session:
        state = await session.start(Theorem("t", Proposition("True")))
        outcome = await session.apply(state, "own_tactic")
        assert isinstance(outcome, Closed), outcome
        state = await session.start(Theorem("s", Proposition("secret + 1 = 2")))
        outcome = await session.apply(state, "simp only [own_simp]")
        assert isinstance(outcome, Closed), outcome


@needs_seal
async def test_the_walls_stand(lean_launch: LaunchSpec) -> None:
    for wall in await walls.try_walls(lean_launch):
        assert wall.stands, wall
    opened = replace(lean_launch, sealed=False)
    fallen = {wall.around for wall in await walls.try_walls(opened) if not wall.stands}
    assert fallen == {"changes of files", "processes", "network"}, "the attempts are real"


async def test_the_kernel_stops_what_grows_faster_than_we_look(
    lean_launch: LaunchSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "resident_bytes", lambda pid: 0)
    lean = await LeanProcess.start(lean_launch, Limits(memory_bytes=0, request_seconds=120))
    try:
        await lean.request(start(Proposition("(List.replicate 200000000 1).length = 200000000")))
        with pytest.raises(LeanMemoryExceeded):
            await lean.request(GoalTactic(0, 0, "decide +kernel", auto_resume=True).line)
    finally:
        await lean.kill()


@pytest.fixture
def without_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toolchain: Toolchain) -> Path:
    """The REPL, compiled where nothing can link."""
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path))
    monkeypatch.setattr(compiling, "_compilers", lambda lean: iter(()))
    return program.ensure(found.look(), Silent())


@pytest.mark.soak
async def test_without_a_c_compiler_it_works_too(without_compilers: Path) -> None:
    spec = program.launch(found.look(), without_compilers, ("Init",))
    assert spec.command[1] == "--run"
    async with Pool(spec, 2) as pool:
        goal = Proposition("∀ a b : Nat, a + b = b + a")
        assert (await judge_proof(pool, goal, ["intro a b", "omega"])).accepted
        assert not (await judge_proof(pool, Proposition("False"), ["sorry"])).accepted
