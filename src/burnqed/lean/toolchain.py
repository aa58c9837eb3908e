"""Finds a Lean: the embedded one, a native one, or Pantograph's own REPL.

A toolchain is only a command line and an environment, because all three speak one protocol. The
embedded Lean is always available. A native Lean on PATH or from elan is preferred, and gives access to
Mathlib (inside a lake project). Nothing here starts a REPL.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from burnqed.core.cache import cache_root
from burnqed.core.errors import ConfigError, InputError, SetupError
from burnqed.core.files import publish
from burnqed.lean import project as projects
from burnqed.lean import repl
from burnqed.lean.embedded import install, launch, package, snapshot
from burnqed.lean.embedded.progress import Progress
from burnqed.lean.embedded.snapshot import BOOT_SECONDS, Wanted
from burnqed.lean.process import LaunchSpec
from burnqed.lean.project import Project
from burnqed.lean.statement import is_module_name

Kind = Literal["embedded", "native", "pantograph"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT_MODULES = ("Init",)
ASK_SECONDS = 600.0  # elan may have to fetch a toolchain first
_OPTION = re.compile(r"--[A-Za-z][\w.]*=.*")
# The variables of the user's environment that a native Lean needs. It gets no others.
INHERITED = ("PATH", "HOME", "ELAN_HOME", "LAKE_HOME", "TMPDIR", "LANG")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Lean that was found. `launch` checks the arguments, and `start` makes the command line.

    `why` says how it was chosen, where there was a choice.
    """

    kind: Kind
    version: str
    where: Path
    start: Callable[[Wanted], LaunchSpec]
    project: Project | None = None
    why: str = ""

    @property
    def label(self) -> str:
        return f"{self.kind} Lean {self.version}"

    @property
    def described(self) -> str:
        """Which Lean it is, why, and of which project."""
        why = f" ({self.why})" if self.why else ""
        place = f", project {self.project.root}" if self.project else ""
        return f"{self.label}{why}{place}"

    def launch(
        self, modules: Sequence[str], options: Sequence[str] = (), seconds: float = BOOT_SECONDS
    ) -> LaunchSpec:
        """The command that starts a REPL with modules, by default Init, and `--name=value` options.

        The modules may come from an untrusted file: they cannot contain options, and setting them up
        is limited to these seconds.
        """
        for module in modules:
            if not is_module_name(module):
                raise InputError(f"{module!r:.80} is not the name of a module")
        for option in options:
            if not _OPTION.fullmatch(option):
                raise InputError(f"unknown option {option}", hint="Lean's options are --name=value")
        return self.start(Wanted(tuple(modules) or DEFAULT_MODULES, tuple(options), seconds))


def find(progress: Progress, kind: str | None = None, project: Path | None = None) -> Toolchain:
    """The requested toolchain; by default the best one available."""
    kind = kind or os.environ.get("BURN_QED_TOOLCHAIN") or None
    if kind is None:
        kind = "native" if project or native_lean() else "embedded"
    if kind == "native":
        return native(project)
    if kind == "pantograph":
        return pantograph(project)
    if kind != "embedded":
        raise ConfigError(f"unknown toolchain {kind!r}", hint=f"one of {', '.join(KINDS)}")
    if project:
        raise ConfigError(
            "the embedded Lean cannot run a lake project",
            hint="use --toolchain native, which needs elan",
        )
    return embedded(progress)


# ------------------------------------------------------------------------ embedded


def embedded(progress: Progress) -> Toolchain:
    """The embedded Lean, which is set up on first use."""
    installation = install.ensure(progress)

    def start(wanted: Wanted) -> LaunchSpec:
        memory = snapshot.ensure(installation, wanted, progress)
        return launch.serve_spec(installation, memory)

    return Toolchain("embedded", package.LEAN_VERSION, installation.root, start)


# ------------------------------------------------------------------------ native


def native_lean(folder: Path | None = None) -> Path | None:
    """`lean` on PATH or in elan's folder; elan's for a folder whose `lean-toolchain` asks for one."""
    elan = Path(os.environ.get("ELAN_HOME", Path.home() / ".elan")) / "bin" / "lean"
    if folder is not None and elan.is_file() and projects.pin_of(folder):
        return elan
    found = shutil.which("lean")
    if found:
        return Path(found)
    return elan if elan.is_file() else None


def native(project: Path | None = None) -> Toolchain:
    """A native Lean; in a lake project, the one that it asks for, with its packages."""
    lean = native_lean(project)
    if lean is None:
        raise SetupError(
            "no native Lean on PATH or in ~/.elan", hint="install elan, or use --toolchain embedded"
        )
    env = {name: os.environ[name] for name in INHERITED if name in os.environ}
    version = _ask(lean, project, str(lean), "--version")
    # elan's `lean` is a small program that chooses a Lean. Name the chosen one, so that the guard
    # starts Lean itself, and a kill reaches it.
    prefix = Path(_ask(lean, project, str(lean), "--print-prefix"))
    binary = prefix / "bin" / "lean" if (prefix / "bin" / "lean").is_file() else lean
    loaded = None if project is None else projects.load(project, prefix, _lake(binary, lean))
    if loaded is not None:
        env |= loaded.env

    def start(wanted: Wanted) -> LaunchSpec:
        command = (str(binary), "--run", str(_repl_file()), *wanted.arguments)
        return LaunchSpec(command, env, project)

    found = re.search(r"version ([^,\s)]+)", version)
    number = found[1] if found else version
    return Toolchain("native", number, binary, start, loaded, _why(lean, project, number))


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


def _lake(binary: Path, lean: Path) -> Path:
    """The `lake` that comes with a Lean."""
    beside = (binary.with_name("lake"), lean.with_name("lake"))
    found = next((path for path in beside if path.is_file()), shutil.which("lake"))
    if found is None:
        raise SetupError(
            f"there is no `lake` beside {binary}", hint="a lake project needs it: install elan"
        )
    return Path(found)


def _repl_file() -> Path:
    """The REPL as one file, named by its content, so that versions can coexist."""
    source = repl.source()
    path = cache_root() / "repl" / f"Repl-{repl.digest()}.lean"
    if not path.is_file() or path.read_text(encoding="utf-8") != source:
        publish(path, source)
    return path


def _ask(lean: Path, project: Path | None, *command: str) -> str:
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


# ------------------------------------------------------------------------ pantograph


def pantograph(project: Path | None = None) -> Toolchain:
    """Pantograph's own REPL, if installed. It cannot judge (it has no `qed.verify`)."""
    found = shutil.which("pantograph-repl")
    if found is None:
        raise SetupError(
            "no pantograph-repl on PATH", hint="use --toolchain embedded, which is always available"
        )
    where = Path(found)
    env = {name: os.environ[name] for name in INHERITED if name in os.environ}
    lean, loaded = native_lean(project), None
    if project is not None and lean is not None:
        loaded = projects.load(project, lean.parent.parent, _lake(lean, lean))
        env |= loaded.env

    def start(wanted: Wanted) -> LaunchSpec:
        return LaunchSpec((found, *wanted.modules, *wanted.options), env, project)

    version = _ask(where, project, found, "--version")
    return Toolchain("pantograph", version, where, start, loaded)
