"""Memory of a booted REPL, one file per list of modules.

Elaborating the REPL and importing a library takes this Lean many seconds; reading its memory back takes
a fraction of one. A snapshot is made on the first use of a list of modules. Its name has a digest of
everything that it depends on, so that a changed REPL or launcher makes a new one.

    Init-Std-DIGEST.memory  .json    a snapshot, and its size, time and SHA-256
    Repl-DIGEST.code        .json    the compiled REPL, from which every snapshot is made
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnqed.core.cache import lock
from burnqed.core.errors import InputError, SetupError
from burnqed.core.files import publish
from burnqed.lean import repl
from burnqed.lean.embedded.install import Installation, record, unchanged
from burnqed.lean.embedded.launch import LAUNCHER, boot_spec, pack_spec
from burnqed.lean.embedded.progress import Progress
from burnqed.lean.process import LaunchSpec
from burnqed.lean.statement import is_module_name

BOOT_SECONDS = 600.0
# For our own REPL and for whole libraries: a minute of work, and on a busy machine many.
WHOLE_SECONDS = 3600.0
WHOLE = frozenset({"Init", "Std", "Lean"})
KEPT, KEPT_OTHERS = 6, 2  # kept: of whole libraries, and of other lists of modules; those used last
KEPT_CODES = 6  # a finished snapshot does not need the code, but the next one does
CODE = ".code"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The modules and options of a REPL. They are separate: files name modules, never options."""

    modules: tuple[str, ...]
    options: tuple[str, ...] = ()
    seconds: float = BOOT_SECONDS

    @property
    def arguments(self) -> tuple[str, ...]:
        """The REPL's arguments: options, `--`, modules; without options, only modules."""
        return (*self.options, "--", *self.modules) if self.options else self.modules

    @property
    def is_whole(self) -> bool:
        """Whether it consists of whole libraries: few such lists exist, while files name any other."""
        return not self.options and WHOLE.issuperset(self.modules)


def canonical(wanted: Wanted) -> Wanted:
    """The same form for equal lists: Init includes all of its modules, and order does not matter."""
    if "Init" not in wanted.modules:
        return wanted
    more = sorted({m for m in wanted.modules if m.split(".")[0] != "Init"})
    return replace(wanted, modules=("Init", *more))


def snapshot_path(installation: Installation, wanted: Wanted) -> Path:
    wanted = canonical(wanted)
    name = "-".join((*wanted.modules, *(["options"] if wanted.options else [])))[:60]
    return installation.snapshots / f"{name}-{_digest(*wanted.arguments)}.memory"


def code_path(installation: Installation) -> Path:
    return installation.snapshots / f"Repl-{_digest()}{CODE}"


def belongs_to(folder: Path, name: str) -> Path:
    """The main file among those of a NAME. No module is called Repl."""
    return folder / f"{name}{CODE if name.startswith('Repl-') else '.memory'}"


def _digest(*arguments: str) -> str:
    digest = hashlib.sha256()
    for part in (LAUNCHER.read_bytes(), repl.digest().encode(), "\0".join(arguments).encode()):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:12]


def is_whole(path: Path, thorough: bool = False) -> bool:
    try:
        known = json.loads(path.with_suffix(".json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(known, list) and len(known) == 3 and unchanged(path, known, thorough)


def ensure(
    installation: Installation, wanted: Wanted, progress: Progress, thorough: bool = False
) -> Path:
    """The snapshot for these modules and options, made now if missing or damaged."""
    wanted = canonical(wanted)
    path = snapshot_path(installation, wanted)
    if is_whole(path, thorough):
        os.utime(path.with_suffix(".json"))  # used just now, so the last to be dropped
        return path
    check_modules(installation, wanted.modules)
    held = lock(path)
    try:
        if not is_whole(path, thorough):
            _make(installation, path, wanted, progress)
            _drop_old(installation.snapshots)
    finally:
        held.release()
    return path


def check_modules(installation: Installation, modules: Sequence[str]) -> None:
    """Refuse modules that are not in the library before Lean starts."""
    for module in modules:
        parts = module.split(".")
        file = installation.library.joinpath(*parts).with_suffix(".olean")
        if not is_module_name(module) or not file.is_file():
            raise InputError(
                f"the embedded Lean has no module {module}",
                hint="it has Init, Std and Lean; Mathlib needs a native Lean in a lake project",
            )


def _make(installation: Installation, path: Path, wanted: Wanted, progress: Progress) -> None:
    code = _ensure_code(installation, progress)
    said = " ".join((*wanted.modules, *wanted.options))
    progress.stage(f"starting Lean once ({said})")
    # Whole libraries are part of the installation; other lists of modules have a limit of their own.
    seconds = WHOLE_SECONDS if wanted.is_whole else wanted.seconds
    scratch = path.with_suffix(".new")
    _run(boot_spec(installation, scratch, code, wanted.arguments), path, seconds, f"start with {said}")


def _ensure_code(installation: Installation, progress: Progress) -> Path:
    """The compiled REPL, made now if missing or damaged."""
    path = code_path(installation)
    held = lock(path)
    try:
        if not is_whole(path, thorough=True):
            progress.stage("compiling the REPL")
            source, scratch = path.with_suffix(".lean"), path.with_suffix(".new")
            source.write_text(repl.packing(), encoding="utf-8")
            try:
                _run(pack_spec(installation, scratch, source), path, WHOLE_SECONDS, "compile the REPL")
            finally:
                source.unlink(missing_ok=True)
        os.utime(path.with_suffix(".json"))
    finally:
        held.release()
    return path


def _run(spec: LaunchSpec, path: Path, seconds: float, what: str) -> None:
    """Run the command that writes `path`, with the suffix `.new`."""
    scratch = path.with_suffix(".new")
    try:
        result = subprocess.run(
            spec.command, env=dict(spec.env), cwd=spec.cwd, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
        )  # fmt: skip
        if result.returncode or not scratch.exists():
            raise SetupError(
                f"Lean did not {what}: {_reason(result.stderr)}",
                hint="reinstall it: burn-qed lean install --force",
            )
        scratch.replace(path)
        publish(path.with_suffix(".json"), json.dumps(record(path)))
    except subprocess.TimeoutExpired:
        raise SetupError(
            f"Lean did not {what} within {seconds:.0f} s",
            hint="burn-qed lean install MODULE… does this once, without a time limit",
        ) from None
    finally:
        scratch.unlink(missing_ok=True)


def _reason(text: str) -> str:
    """The line of Node's output with the reason: Node also quotes source lines of any length."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "[DEBUG" not in line]
    said = [line for line in lines if "Error" in line or "error" in line] or lines
    return said[0][:300] if said else "it printed nothing"


def _drop_old(folder: Path) -> None:
    """Drop old snapshots. Those of files' lists of modules never displace whole libraries."""

    def used(path: Path) -> float:
        try:
            return path.with_suffix(".json").stat().st_mtime
        except OSError:
            return 0.0

    newest = sorted(folder.glob("*.memory"), key=used, reverse=True)
    whole = [path for path in newest if WHOLE.issuperset(path.stem.split("-")[:-1])]
    others = [path for path in newest if path not in whole]
    codes = sorted(folder.glob(f"*{CODE}"), key=used, reverse=True)
    for path in (*whole[KEPT:], *others[KEPT_OTHERS:], *codes[KEPT_CODES:]):
        path.unlink(missing_ok=True)
        path.with_suffix(".json").unlink(missing_ok=True)
