"""Memory of a booted REPL, one file per list of modules.

Elaborating the REPL and importing a library takes this Lean many seconds; reading its memory back
takes a fraction of one. A snapshot is made the first time a list of modules is asked for. Its name
is a digest of everything that it depends on, so that a changed REPL or launcher makes a new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from burnqed.core.cache import lock
from burnqed.core.errors import InputError, SetupError
from burnqed.lean import repl
from burnqed.lean.embedded.install import Installation, record, unchanged, write_last
from burnqed.lean.embedded.launch import LAUNCHER, boot_spec
from burnqed.lean.embedded.progress import Progress
from burnqed.lean.process import LaunchSpec

BOOT_SECONDS = 600.0
KEPT = 6  # snapshots of other module lists and older versions, newest first


def snapshot_path(installation: Installation, arguments: Sequence[str]) -> Path:
    digest = hashlib.sha256()
    for part in (LAUNCHER.read_bytes(), repl.digest().encode(), "\0".join(arguments).encode()):
        digest.update(len(part).to_bytes(8, "little") + part)
    name = "-".join(a for a in arguments if not a.startswith("-"))[:60] or "Init"
    return installation.snapshots / f"{name}-{digest.hexdigest()[:12]}.memory"


def is_whole(path: Path, thorough: bool = False) -> bool:
    try:
        known = json.loads(path.with_suffix(".json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(known, list) and len(known) == 3 and unchanged(path, known, thorough)


def ensure(
    installation: Installation,
    arguments: Sequence[str],
    progress: Progress,
    thorough: bool = False,
) -> Path:
    """The snapshot for these modules and options, made now if it is not there or not whole."""
    path = snapshot_path(installation, arguments)
    if is_whole(path, thorough):
        os.utime(path.with_suffix(".json"))  # used just now: the last to be dropped
        return path
    check_modules(installation, arguments)
    held = lock(path)
    try:
        if not is_whole(path, thorough):
            _make(installation, path, arguments, progress)
            _drop_old(installation.snapshots)
    finally:
        held.release()
    return path


def check_modules(installation: Installation, arguments: Sequence[str]) -> None:
    """A module that is not in the library is the user's mistake, and is named before Lean starts."""
    for module in arguments:
        if module.startswith("--") and "=" in module:
            continue
        if module.startswith("-"):
            raise InputError(f"unknown option {module}", hint="Lean's options are --name=value")
        parts = module.split(".")
        file = installation.library.joinpath(*parts).with_suffix(".olean")
        if not all(parts) or "/" in module or not file.is_file():
            raise InputError(
                f"no module {module} in the embedded Lean",
                hint="it has Init, Std and Lean; Mathlib needs a native Lean in a lake project",
            )


def _make(installation: Installation, path: Path, arguments: Sequence[str], progress: Progress) -> None:
    progress.stage(f"starting Lean once ({' '.join(arguments)})")
    scratch = path.with_suffix(".new")
    spec = boot_spec(installation, scratch, arguments)
    scratch.with_suffix(".lean").write_text(repl.source())
    try:
        result = _run(spec)
        if result.returncode or not scratch.exists():
            raise SetupError(
                f"Lean did not start with {' '.join(arguments)}: {_reason(result.stderr)}",
                hint="burn-qed lean install --force makes the installation anew",
            )
        scratch.replace(path)
        write_last(path.with_suffix(".json"), json.dumps(record(path)))
    finally:
        scratch.unlink(missing_ok=True)
        scratch.with_suffix(".lean").unlink(missing_ok=True)


def _run(spec: LaunchSpec) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            spec.command, env=dict(spec.env), cwd=spec.cwd, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=BOOT_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SetupError(f"Lean did not start within {BOOT_SECONDS:.0f} s") from None


def _reason(text: str) -> str:
    """The line that says why, of what Node printed: it quotes source lines of any length."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "[DEBUG" not in line]
    said = [line for line in lines if "Error" in line or "error" in line] or lines
    return said[0][:300] if said else "it said nothing"


def _drop_old(folder: Path) -> None:
    def used(path: Path) -> float:
        try:
            return path.with_suffix(".json").stat().st_mtime
        except OSError:
            return 0.0

    for path in sorted(folder.glob("*.memory"), key=used, reverse=True)[KEPT:]:
        path.unlink(missing_ok=True)
        path.with_suffix(".json").unlink(missing_ok=True)
