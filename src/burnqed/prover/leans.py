"""Sets up a Lean: the toolchain, the command that starts its REPL, and its library."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.lean.embedded.progress import Progress, Terminal
from burnqed.lean.embedded.snapshot import BOOT_SECONDS
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.toolchain import Toolchain, find
from burnqed.prover.config import LeanConfig

if TYPE_CHECKING:  # it loads numpy
    from burnqed.policy.ranked.library import Library


@dataclass(frozen=True, slots=True)
class Lean:
    """A toolchain, and the command that starts its REPL with some modules."""

    toolchain: Toolchain
    spec: LaunchSpec
    modules: tuple[str, ...]
    project: Path | None = None

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
) -> Lean:
    """Set up the Lean of the settings, with its progress shown to the user."""
    with Terminal() as progress:
        toolchain = _found(config, progress)
        spec = toolchain.launch(modules, options, seconds)
    return Lean(toolchain, spec, tuple(modules), config.project)


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
        """The modules that the toolchain may have. The embedded Lean's are known in advance."""
        if self._toolchain.kind != "embedded":
            return list(modules)
        return [module for module in modules if module.split(".")[0] in ("Init", "Std", "Lean")]

    def spec(self, modules: Sequence[str]) -> LaunchSpec:
        return set_up(self._config, modules).spec

    @asynccontextmanager
    async def pool(self, modules: Sequence[str]) -> AsyncIterator[Pool]:
        async with Pool(self.spec(modules), self._config.workers) as pool:
            yield pool

    @asynccontextmanager
    async def with_judges(self, modules: Sequence[str]) -> AsyncIterator[tuple[Pool, Pool]]:
        """Some for quick looks, and as many for the judge."""
        spec = self.spec(modules)
        async with Pool(spec, self._config.workers) as pool, Pool(spec, max(2, pool.size)) as judges:
            yield pool, judges


def _found(config: LeanConfig, progress: Progress) -> Toolchain:
    return find(progress, config.toolchain, config.project.resolve() if config.project else None)
