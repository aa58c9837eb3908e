"""Our REPL as a program of a native Lean's own, compiled once and kept in the cache.

    CACHE/native/DIGEST/
        repl                           the program, linked with Lean's libraries
        BurnQedRepl.olean  Run.lean    in its place where nothing could link one, for `lean --run`
        manifest.json                  whose it is, how it was made, each file's size, time and SHA-256

The digest is of this Lean, of the REPL and of how it is compiled. A folder is made next to its place,
tried, and renamed, under a lock. So an interruption leaves nothing that looks finished, and of two
processes the second finds the work of the first.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from burnqed.core.cache import cache_root, lock, making
from burnqed.core.errors import SetupError
from burnqed.core.files import publish_json
from burnqed.lean import repl
from burnqed.lean.embedded.install import MANIFEST, record, unchanged
from burnqed.lean.embedded.progress import Progress
from burnqed.lean.native import compiling
from burnqed.lean.native.compiling import MODULE
from burnqed.lean.native.found import NativeLean
from burnqed.lean.process import LaunchSpec, Limits, guarded

PROGRAM, RUNNER = "repl", "Run.lean"
NEEDED_BYTES = 200e6
TRIAL_SECONDS = 300.0


def folder() -> Path:
    """Of all compiled REPLs."""
    return cache_root() / "native"


def compile_lock() -> Path:
    """The path whose lock is held while one is compiled: a single one at a time."""
    return folder() / "compiling"


def location(lean: NativeLean) -> Path:
    digest = hashlib.sha256()
    core = lean.core.stat()
    about = (str(lean.prefix), str(core.st_size), str(core.st_mtime_ns))
    own = Path(compiling.__file__).read_bytes()
    for part in ("\0".join(about).encode(), repl.source().encode(), own):
        digest.update(len(part).to_bytes(8, "little") + part)
    return folder() / digest.hexdigest()[:16]


def manifest(root: Path, thorough: bool = False) -> dict[str, Any] | None:
    """What is known of a compiled REPL that is whole."""
    try:
        known: dict[str, Any] = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
        files = known["files"].items()
        whole = all(unchanged(root / name, entry, thorough) for name, entry in files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return known if whole else None


def ensure(lean: NativeLean, progress: Progress) -> Path:
    """The folder of this Lean's compiled REPL, made now if missing or damaged."""
    root = location(lean)
    if manifest(root) is None:
        held = lock(compile_lock())
        try:
            if manifest(root) is None:  # another process may have made it while we waited
                _make(lean, root, progress)
        finally:
            held.release()
    if wrong := (manifest(root) or {}).get("wrong"):
        raise SetupError(
            f"burn-qed's REPL does not work under Lean {lean.version}: {wrong}",
            hint=f"it was tried with Lean {' and '.join(repl.WORKS_WITH)}: name such a one in "
            "lean-toolchain, or use --toolchain embedded",
        )
    return root


def launch(lean: NativeLean, root: Path, arguments: Sequence[str]) -> LaunchSpec:
    """The command that starts a worker."""
    env = dict(lean.env)
    if (root / PROGRAM).is_file():
        command = (str(root / PROGRAM), *arguments)
    else:
        command = (str(lean.binary), "--run", str(root / RUNNER), *arguments)
        paths = (env.get("LEAN_PATH", ""), str(root))  # last: it hides nothing of the project's
        env["LEAN_PATH"] = os.pathsep.join(filter(None, paths))
    project = lean.project.root if lean.project else None
    return LaunchSpec(command, env, project, sealed=True, may_write=False, bounded=True)


def _make(lean: NativeLean, root: Path, progress: Progress) -> None:
    begun = time.monotonic()
    with making(root, NEEDED_BYTES, "the REPL") as scratch:
        progress.stage(f"compiling the REPL for Lean {lean.version}, once")
        made = scratch / "made"
        made.mkdir()
        # What Lean says against the REPL is kept, too: another try would end in the same way.
        wrong = compiling.to_c(lean, scratch)
        how, failed = ("", []) if wrong else _linked(lean, scratch, made)
        files = {path.name: record(path) for path in sorted(made.iterdir())}
        known = {
            "lean": lean.version, "binary": str(lean.binary), "prefix": str(lean.prefix),
            "wrong": wrong, "compiler": how, "failed": failed,
            "seconds": round(time.monotonic() - begun, 1), "files": files,
        }  # fmt: skip
        publish_json(made / MANIFEST, known)


def _linked(lean: NativeLean, scratch: Path, made: Path) -> tuple[str, list[str]]:
    """Make what is started: which compiler did, and why others could not."""
    how, failed = compiling.link(lean, scratch, made / PROGRAM)
    if how and not (said := _trial(lean, made)):
        return how, failed
    if how:
        failed.append(f"{how}: {said}")
    (made / PROGRAM).unlink(missing_ok=True)
    shutil.copy(scratch / f"{MODULE}.olean", made)
    (made / RUNNER).write_text(f"import {MODULE}\n", encoding="utf-8")
    if said := _trial(lean, made):
        raise SetupError(
            f"burn-qed's REPL does not start under Lean {lean.version}: {said}",
            hint=f"check {lean.binary}, or use --toolchain embedded",
        )
    return "", failed


def _trial(lean: NativeLean, root: Path) -> str:
    """Why a compiled REPL does not answer, if it does not."""
    spec = launch(lean, root, ("Init",))
    try:
        done = subprocess.run(
            guarded(spec, Limits()), input="stat {}\n\n", env=dict(spec.env), cwd=spec.cwd, text=True,
            capture_output=True, errors="replace", timeout=TRIAL_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it did not answer within {TRIAL_SECONDS:g} s"
    if done.stdout.split("\n")[:1] == ["ready."] and '"nGoals"' in done.stdout:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines()
    return said[-1][:300] if said else f"exit code {done.returncode}, and it printed nothing"
