"""Finds a native Lean: on PATH or from elan, and in a lake project the one that the project asks for.

It is asked for its version and where it is. A `LaunchSpec` then names its own files, so that the guard
starts a program directly, and a kill reaches it: elan's `lean` is only a small program that chooses.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from burnqed.core.errors import SetupError
from burnqed.lean import project as projects
from burnqed.lean.project import Project

ASK_SECONDS = 600.0  # elan may have to fetch a toolchain first
# The variables of the user's environment that a native Lean needs. It gets no others.
INHERITED = ("PATH", "HOME", "ELAN_HOME", "LAKE_HOME", "TMPDIR", "LANG")


@dataclass(frozen=True, slots=True)
class NativeLean:
    """A Lean that was asked, and the environment in which its processes run.

    `why` says how it came to be chosen.
    """

    binary: Path
    prefix: Path
    version: str
    env: Mapping[str, str]
    project: Project | None = None
    why: str = ""

    @property
    def libraries(self) -> Path:
        return self.prefix / "lib" / "lean"

    @property
    def core(self) -> Path:
        """The file with Lean's own code: another build of Lean has another one."""
        shared = (self.libraries / f"libleanshared{suffix}" for suffix in (".so", ".dylib"))
        return next((path for path in shared if path.is_file()), self.binary)


def on_path(folder: Path | None = None) -> Path | None:
    """`lean` on PATH or in elan's folder; elan's for a folder whose `lean-toolchain` asks for one."""
    elan = Path(os.environ.get("ELAN_HOME", Path.home() / ".elan")) / "bin" / "lean"
    if folder is not None and elan.is_file() and projects.pin_of(folder):
        return elan
    there = shutil.which("lean")
    if there:
        return Path(there)
    return elan if elan.is_file() else None


def look(project: Path | None = None) -> NativeLean:
    """The native Lean; in a lake project the one that it asks for, with its packages."""
    lean = on_path(project)
    if lean is None:
        raise SetupError(
            "no native Lean on PATH or in ~/.elan", hint="install elan, or use --toolchain embedded"
        )
    said = ask(lean, project, str(lean), "--version")
    prefix = Path(ask(lean, project, str(lean), "--print-prefix"))
    own = prefix / "bin" / "lean"
    binary = own if own.is_file() else lean
    env, loaded = inherited(), None
    if project is not None:
        loaded = projects.load(project, prefix, lake(binary, lean))
        env |= loaded.env
    env["LEAN_SYSROOT"] = str(prefix)  # else it would ask the `lean` on PATH, maybe another one
    number = re.search(r"version ([^,\s)]+)", said)
    version = number[1] if number else said
    return NativeLean(binary, prefix, version, env, loaded, _why(lean, project, version))


def inherited() -> dict[str, str]:
    """What a native Lean gets of the user's environment."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def lake(binary: Path, lean: Path) -> Path:
    """The `lake` that comes with a Lean."""
    beside = (binary.with_name("lake"), lean.with_name("lake"))
    there = next((path for path in beside if path.is_file()), shutil.which("lake"))
    if there is None:
        raise SetupError(
            f"there is no `lake` beside {binary}", hint="a lake project needs it: install elan"
        )
    return Path(there)


def ask(lean: Path, project: Path | None, *command: str) -> str:
    """What a command of the toolchain prints, run in the project."""
    try:
        result = subprocess.run(
            command, cwd=project, capture_output=True, text=True, timeout=ASK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"cannot run {command[0]}: {error}", hint=f"check {lean}") from error
    if result.returncode:
        said = (result.stderr or result.stdout).strip().splitlines()
        raise SetupError(
            f"`{' '.join(command)}` failed: {said[-1] if said else result.returncode}",
            hint="run it yourself in that folder",
        )
    return result.stdout.strip()


def _why(lean: Path, project: Path | None, version: str) -> str:
    """How this Lean came to be chosen."""
    pin = projects.pin_of(project or Path.cwd())
    if lean.with_name("elan").exists() or lean.parent == Path.home() / ".elan" / "bin":
        if "ELAN_TOOLCHAIN" in os.environ:
            return f"elan's, as ELAN_TOOLCHAIN says: {os.environ['ELAN_TOOLCHAIN']}"
        return f"elan's, as {pin[0]} asks: {pin[1]}" if pin else "elan's default"
    if pin is None or pin[1].rpartition(":")[2].removeprefix("v") == version:
        return f"{lean}"
    return f"{lean}; {pin[0]} asks for {pin[1]}, which elan would bring"
