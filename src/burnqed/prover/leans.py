"""Sets up a Lean: the toolchain, the command that starts its REPL, and its library."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from burnqed.core.errors import SetupError
from burnqed.lean.embedded.progress import Progress, Silent, Terminal
from burnqed.lean.embedded.snapshot import BOOT_SECONDS
from burnqed.lean.native import found
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.project import Project, header_option, project_of
from burnqed.lean.source_file import read_source
from burnqed.lean.statement import split_header
from burnqed.lean.toolchain import Toolchain, find
from burnqed.prover.config import LeanConfig

if TYPE_CHECKING:  # it loads numpy
    from burnqed.policy.ranked.library import Library

C = TypeVar("C", bound=LeanConfig)


@dataclass(frozen=True, slots=True)
class Lean:
    """A toolchain, and the command that starts its REPL with some modules.

    A judge is started with `judging`: a file of the module system is searched with what its imports
    make public, which has no proofs, and a judge must see whether these use `sorry`. Pantograph's own
    REPL cannot judge at all, because it does not have our requests: a native Lean beside it does.
    """

    toolchain: Toolchain
    spec: LaunchSpec
    modules: tuple[str, ...]
    project: Path | None = None
    for_judges: LaunchSpec | SetupError | None = None
    judge: str = ""  # which Lean, where it is another

    @property
    def judging(self) -> LaunchSpec:
        """Raises `SetupError` where nothing here can judge."""
        if isinstance(self.for_judges, SetupError):
            raise self.for_judges
        return self.for_judges or self.spec

    @property
    def label(self) -> str:
        """Which Lean it is, and which state of which project: for manifests."""
        own = self.toolchain.project
        which = (
            f"{self.toolchain.label}, judged by {self.judge}" if self.judge else self.toolchain.label
        )
        return f"{which}, project {own.identity}" if own else which

    def library(self, workers: int | None) -> Library:
        """The theorems of this Lean's modules: shipped with burn-qed, or read once and cached."""
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
    file: Path | None = None,
) -> Lean:
    """Set up the Lean of the settings, with its progress shown to the user.

    In a lake project it has the project's options: those of the library that a `file` is of.
    """
    with Terminal() as progress:
        toolchain = _found(config, progress)
        if toolchain.kind == "pantograph":
            return _beside(toolchain, config, modules, options, seconds)
        project = toolchain.project
        own = project.setup(modules, file) if project else ()
        header = _header(project, file, config) if project and file else ()
        spec = toolchain.launch(modules, (*own, *header, *options), seconds)
        whole = toolchain.launch(modules, (*own, *options), seconds) if header else None
    return Lean(toolchain, spec, tuple(modules), config.project, whole)


def _beside(
    toolchain: Toolchain,
    config: LeanConfig,
    modules: Sequence[str],
    options: Sequence[str],
    seconds: float,
) -> Lean:
    """Pantograph's REPL, and the native Lean of the same project that judges what it proves."""
    spec = toolchain.launch(modules, options, seconds)
    try:
        native = set_up(msgspec.structs.replace(config, toolchain="native"), modules, options, seconds)
    except SetupError as error:
        lacking = SetupError(
            f"pantograph-repl searches, but does not judge, and no Lean beside it can: {error.message}",
            hint="install elan, and in it the Lean that pantograph-repl was built with",
        )
        return Lean(toolchain, spec, tuple(modules), config.project, lacking)
    judge = native.toolchain.label
    return Lean(toolchain, spec, tuple(modules), config.project, native.judging, judge)


def _header(project: Project, file: Path, config: LeanConfig) -> tuple[str, ...]:
    source = split_header(read_source(file))
    return header_option(source, project.module_at(file) or "_unknown", config.imports)


def in_project(config: C, path: Path | None) -> C:
    """The settings with the lake project that a file is of, unless they name a project or a Lean.

    Without a native Lean they stay: the embedded one reads files that import no more than its library.
    """
    kind = config.toolchain or os.environ.get("BURN_QED_TOOLCHAIN") or "native"
    if path is None or config.project is not None or kind == "embedded":
        return config
    root = project_of(path)
    if root is None or found.on_path(root) is None:
        return config
    return msgspec.structs.replace(config, project=root)


def modules_of(config: LeanConfig, own: Sequence[str] | None = None) -> tuple[str, ...]:
    """The modules that Lean must load: Init, those of the settings, and those of the file or set.

    Where nothing says what is imported, a lake project gives all of its own modules.
    """
    if own is None and config.project is not None and not config.imports:
        project = _found(config, Silent()).project
        own = project.tops() if project else ()
    return tuple(dict.fromkeys(["Init", *config.imports, *(own or ())]))


class Leans:
    """Leans of one toolchain, with modules as they are needed."""

    def __init__(self, config: LeanConfig) -> None:
        self._config = config
        with Terminal() as progress:
            self._toolchain = _found(config, progress)

    @property
    def label(self) -> str:
        return self._toolchain.label

    def loadable(self, modules: Sequence[str]) -> list[str]:
        """The modules that the toolchain may have, as far as that can be known before it starts."""
        project = self._toolchain.project
        if project is not None:
            return [module for module in modules if project.built(module)]
        if self._toolchain.kind != "embedded":
            return list(modules)
        return [module for module in modules if module.split(".")[0] in ("Init", "Std", "Lean")]

    @property
    def project(self) -> Project | None:
        return self._toolchain.project

    def spec(self, modules: Sequence[str]) -> LaunchSpec:
        return set_up(self._config, modules).spec

    def launch(self, modules: Sequence[str], options: Sequence[str]) -> LaunchSpec:
        return self._toolchain.launch(modules, options)

    @asynccontextmanager
    async def pool(self, modules: Sequence[str]) -> AsyncIterator[Pool]:
        async with Pool(self.spec(modules), self._config.workers) as pool:
            yield pool

    @asynccontextmanager
    async def with_judges(self, modules: Sequence[str]) -> AsyncIterator[tuple[Pool, Pool]]:
        """Some for quick looks, and as many for the judge."""
        lean = set_up(self._config, modules)
        judging = lean.judging
        pool = Pool(lean.spec, self._config.workers)
        async with pool, Pool(judging, max(2, pool.size)) as judges:
            yield pool, judges


def _found(config: LeanConfig, progress: Progress) -> Toolchain:
    if config.project is None:
        return find(progress, config.toolchain)
    found = find(progress, config.toolchain, config.project.expanduser().resolve())
    _tell(found.described)
    return found


@cache
def _tell(which: str) -> None:
    """Say once which Lean runs a project: it may be another one than the user expects."""
    print(f"Lean: {which}", file=sys.stderr)
