"""Finds a Lean: the embedded one, a native one, or Pantograph's own REPL.

A toolchain is only a command line and an environment, because all three speak one protocol. The
embedded Lean is always available. A native Lean on PATH or from elan is preferred where our REPL
compiles under it, and gives access to Mathlib (inside a lake project).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from burnqed.core.errors import ConfigError, InputError, SetupError
from burnqed.lean import project as projects
from burnqed.lean.embedded import install, launch, package, snapshot
from burnqed.lean.embedded.progress import Progress
from burnqed.lean.embedded.snapshot import BOOT_SECONDS, Wanted
from burnqed.lean.native import found, program
from burnqed.lean.process import LaunchSpec
from burnqed.lean.project import Project
from burnqed.lean.statement import is_module_name

Kind = Literal["embedded", "native", "pantograph"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT_MODULES = ("Init",)
_OPTION = re.compile(r"--[A-Za-z][\w.]*=.*")


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
    kind = kind or os.environ.get("BURN_QED_TOOLCHAIN") or ("native" if project else None)
    if kind is None:
        return _usual(progress)
    if kind == "native":
        return native(progress, project)
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


def _usual(progress: Progress) -> Toolchain:
    """What nobody chose: a native Lean that can run the REPL, else the embedded one. It says so."""
    if found.on_path() is None:
        return embedded(progress)
    try:
        chosen = native(progress)
    except SetupError as error:
        progress.stage(f"the embedded Lean, since the one on PATH cannot be used: {error.message}")
        return embedded(progress)
    progress.stage(f"{chosen.described}; --toolchain chooses another")
    return chosen


# ------------------------------------------------------------------------ embedded


def embedded(progress: Progress) -> Toolchain:
    """The embedded Lean, which is set up on first use."""
    installation = install.ensure(progress)

    def start(wanted: Wanted) -> LaunchSpec:
        memory = snapshot.ensure(installation, wanted, progress)
        return launch.serve_spec(installation, memory)

    return Toolchain("embedded", package.LEAN_VERSION, installation.root, start)


# ------------------------------------------------------------------------ native


def native(progress: Progress, project: Path | None = None) -> Toolchain:
    """A native Lean; in a lake project, the one that it asks for, with its packages.

    The REPL is compiled for it on first use.
    """
    lean = found.look(project)
    compiled = program.ensure(lean, progress)

    def start(wanted: Wanted) -> LaunchSpec:
        return program.launch(lean, compiled, wanted.arguments)

    return Toolchain("native", lean.version, lean.binary, start, lean.project, lean.why)


# ------------------------------------------------------------------------ pantograph


def pantograph(project: Path | None = None) -> Toolchain:
    """Pantograph's own REPL, if installed. It cannot judge (it has no `qed.verify`)."""
    there = shutil.which("pantograph-repl")
    if there is None:
        raise SetupError(
            "no pantograph-repl on PATH", hint="use --toolchain embedded, which is always available"
        )
    where = Path(there)
    env = found.inherited()
    lean, loaded = found.on_path(project), None
    if project is not None and lean is not None:
        loaded = projects.load(project, lean.parent.parent, found.lake(lean, lean))
        env |= loaded.env

    def start(wanted: Wanted) -> LaunchSpec:
        return LaunchSpec((there, *wanted.modules, *wanted.options), env, project)

    version = found.ask(where, project, there, "--version")
    return Toolchain("pantograph", version, where, start, loaded)
