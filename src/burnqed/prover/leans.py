"""A Lean that is set up: the toolchain, how to start its REPL, the library that it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.lean.embedded.progress import Progress, Terminal
from burnqed.lean.embedded.snapshot import BOOT_SECONDS
from burnqed.lean.process import LaunchSpec
from burnqed.lean.toolchain import Toolchain, find
from burnqed.prover.config import LeanConfig

if TYPE_CHECKING:  # it loads numpy
    from burnqed.policy.ranked.library import Library


@dataclass(frozen=True, slots=True)
class Lean:
    """A toolchain, and how to start a REPL with some modules."""

    toolchain: Toolchain
    spec: LaunchSpec
    modules: tuple[str, ...]
    project: Path | None = None

    def library(self, workers: int | None) -> Library:
        """The theorems that this Lean has with its modules: those that come along, or read once."""
        from burnqed.policy.ranked.library import ensure_library, library_file, shipped_library

        if self.project is None and (own := shipped_library(self.toolchain, self.modules)) is not None:
            return own
        path = library_file(self.toolchain, self.modules, self.project)
        with Terminal() as progress:
            return ensure_library(path, self.spec, workers, progress)


def set_up(
    config: LeanConfig,
    modules: Sequence[str],
    options: Sequence[str] = (),
    seconds: float = BOOT_SECONDS,
) -> Lean:
    """The Lean that is asked for. What has to be set up is set up now, in front of the user."""
    with Terminal() as progress:
        toolchain = _found(config, progress)
        spec = toolchain.launch(modules, options, seconds)
    return Lean(toolchain, spec, tuple(modules), config.project)


def loadable(config: LeanConfig, modules: Sequence[str]) -> list[str]:
    """Those that the toolchain may have; of the embedded Lean it is known without asking."""
    with Terminal() as progress:
        return loaded_by(_found(config, progress), modules)


def _found(config: LeanConfig, progress: Progress) -> Toolchain:
    return find(progress, config.toolchain, config.project.resolve() if config.project else None)


def loaded_by(toolchain: Toolchain, modules: Sequence[str]) -> list[str]:
    """The same of a toolchain that was found."""
    known = ("Init", "Std", "Lean")
    return [m for m in modules if toolchain.kind != "embedded" or m.split(".")[0] in known]
