"""Everything that burn-qed needs, found or not, with the fix in one line."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

from burnqed.core.cache import cache_root
from burnqed.core.errors import BurnQedError, LeanError, SetupError
from burnqed.core.types import Proposition
from burnqed.lean import judge, toolchain
from burnqed.lean.embedded import install, package, snapshot, walls
from burnqed.lean.embedded.progress import Silent, Terminal
from burnqed.lean.native import found, program
from burnqed.lean.native import walls as native_walls
from burnqed.lean.pool import Pool, default_size, run_sync
from burnqed.lean.process import LaunchSpec
from burnqed.lean.verdict import Verdict
from burnqed.policy.models import cpu

WORKER_BYTES = 1.0e9  # used by a worker of the embedded Lean after some work


@dataclass(frozen=True, slots=True)
class Finding:
    """`ok` is None for something optional that is missing."""

    what: str
    ok: bool | None
    found: str
    fix: str = ""


def examine(*, lean: bool = True) -> list[Finding]:
    """Look at everything, down to a proof that Lean judges; with no `lean`, only at the rest."""
    every = (_installation, _memory_image, _proof, _walls, _native, _native_walls)
    leans = every if lean else ()
    checks: tuple[Callable[[], Finding], ...] = (
        _python, _memory, _node, *leans, _models, _training, _agents, _cluster,
        _precision,
    )  # fmt: skip
    return [_safely(check) for check in checks]


def _safely(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except BurnQedError as error:
        return Finding(str(check.__doc__), False, error.message, error.hint)


def _python() -> Finding:
    """Python"""
    fine = sys.version_info >= (3, 11)
    return Finding("Python", fine, platform.python_version(), "" if fine else "needs 3.11 or later")


def _memory() -> Finding:
    """Memory"""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    workers = default_size()
    fine = total > 2e9 + workers * WORKER_BYTES
    fix = "" if fine else "use fewer workers"
    return Finding("Memory", fine, f"{total / 1e9:.0f} GB for {workers} worker(s)", fix)


def _node() -> Finding:
    """Node 24"""
    node = package.node_executable()
    return Finding("Node 24", True, f"{package.node_version(node)} ({node})")


def _installation() -> Finding:
    """Embedded Lean"""
    root = install.location()
    wrong = install.faults(root, thorough=True)
    if wrong:
        free = shutil.disk_usage(cache_root().parent if root.parent.exists() else "/").free
        state = f"damaged: {wrong[0]}" if root.exists() else f"not set up ({free / 1e9:.0f} GB free)"
        return Finding("Embedded Lean", False, state, "burn-qed lean install")
    return Finding("Embedded Lean", True, f"{package.LEAN_VERSION} in {root}")


def _memory_image() -> Finding:
    """Snapshot of Init"""
    wanted = snapshot.Wanted(toolchain.DEFAULT_MODULES)
    path = snapshot.snapshot_path(install.Installation(install.location()), wanted)
    fine = snapshot.is_whole(path, thorough=True)
    found = f"{path.stat().st_size / 1e6:.0f} MB" if fine else "missing or damaged"
    return Finding("Snapshot of Init", fine, found, "" if fine else "burn-qed lean install")


def _proof() -> Finding:
    """A proof, judged"""
    if install.faults(install.location()):
        return Finding("A proof, judged", False, "Lean is not set up", "burn-qed lean install")
    spec = toolchain.embedded(Silent()).launch(())
    return _judged("A proof, judged", spec, "burn-qed lean install --force")


def _judged(what: str, spec: LaunchSpec, remedy: str, about: str = "") -> Finding:
    async def work() -> Verdict:
        async with Pool(spec, 1) as pool:
            goal = Proposition("∀ a b : Nat, a + b = b + a")
            return await judge.judge_proof(pool, goal, ["intro a b", "omega"])

    try:
        verdict = run_sync(work())
    except LeanError as error:
        return Finding(what, False, f"{about}{error.message}", remedy)
    found = f"accepted in {verdict.seconds:.1f} s" if verdict.accepted else verdict.reason
    return Finding(what, verdict.accepted, about + found, "" if verdict.accepted else remedy)


def _walls() -> Finding:
    """Walls around Lean"""
    if install.faults(install.location()):
        return Finding("Walls around Lean", False, "Lean is not set up", "burn-qed lean install")
    tried = run_sync(walls.try_walls(toolchain.embedded(Silent()).launch(())))
    found = "; ".join(map(str, tried))
    fallen = [wall.around for wall in tried if not wall.stands]
    if fallen == ["network"]:  # the wall around code still stands before it
        return Finding("Walls around Lean", None, found, "optional: a Linux that allows seccomp")
    fix = "burn-qed lean install --force" if fallen else ""
    return Finding("Walls around Lean", not fallen, found, fix)


def _native() -> Finding:
    """Native Lean"""
    what = "Native Lean"
    if found.on_path() is None:
        return Finding(what, None, "none", "optional: install elan, for Mathlib")
    try:
        with Terminal() as progress:
            native = toolchain.native(progress)
    except SetupError as error:  # the embedded one is used instead
        return Finding(what, None, error.message, f"optional: {error.hint}")
    about = f"{native.version} ({native.where}): a proof, judged: "
    return _judged(what, native.launch(()), "burn-qed lean info; --toolchain embedded", about)


def _native_walls() -> Finding:
    """Walls around a native Lean"""
    what = "Walls around a native Lean"
    lean = found.look() if found.on_path() is not None else None
    root = program.location(lean) if lean is not None else None
    if lean is None or root is None or program.manifest(root) is None:
        return Finding(what, None, "no native Lean to try them with")
    tried = run_sync(native_walls.try_walls(program.launch(lean, root, ("Init",))))
    said = "; ".join(map(str, tried))
    stand = all(wall.stands for wall in tried)
    # Before them stand the judge's rules for what a text may say.
    return Finding(what, stand or None, said, "" if stand else "optional: a Linux that allows seccomp")


def _models() -> Finding:
    """Models"""
    return _packages("Models", ("torch", "transformers", "safetensors", "httpx"), "models")


def _training() -> Finding:
    """Training"""
    return _packages("Training", ("torch", "transformers", "accelerate", "peft"), "train")


def _agents() -> Finding:
    """Tools for agents"""
    return _packages("Tools for agents", ("mcp",), "mcp")


def _cluster() -> Finding:
    """Several machines"""
    return _packages("Several machines", ("ray",), "cluster")


def _precision() -> Finding:
    """Half precision on the CPU"""
    what = "Half precision on the CPU"
    if find_spec("torch") is None:
        return Finding(what, None, "not tried: torch is not installed", "")
    can = cpu.look()  # not the cached answer: somebody may have repaired something
    without = [name for name in cpu.FORMATS if name not in can.formats]
    if without:
        fix = f"optional: --dtype float32, which is used instead of {' and '.join(without)}"
        return Finding(what, None, f"{', '.join(can.formats) or 'none'}: {can.trouble}", fix)
    found = ", ".join(can.formats)
    if can.limit is not None:
        found += f", with {cpu.LIMIT}={can.limit}, which burn-qed sets (else {can.trouble})"
    return Finding(what, True, found)


def _packages(what: str, needed: tuple[str, ...], extra: str) -> Finding:
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        fix = f"optional: pip install 'burn-qed[{extra}]'"
        return Finding(what, None, f"not installed: {', '.join(missing)}", fix)
    return Finding(what, True, ", ".join(f"{name} {version(name)}" for name in needed))
