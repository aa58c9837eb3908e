"""Our process on a node: it sets up Lean there, makes the prover, and does jobs. It writes nothing.

What goes wrong is an answer and not an exception, so that the driver sees the error as it was raised.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from burnqed.cluster.hosts import asked_there
from burnqed.cluster.recipe import Recipe, code
from burnqed.core.errors import BurnQedError, SetupError
from burnqed.evaluation.prove import Prover
from burnqed.evaluation.run import Job, Kept
from burnqed.lean.embedded import install, unbundle
from burnqed.lean.embedded.progress import Silent
from burnqed.prover.hosted import Asked
from burnqed.prover.loops import Loop


class Station:
    """Its methods may run in different threads, several at once."""

    def __init__(self) -> None:
        self._loop = Loop()
        self._open = AsyncExitStack()
        self._prover: Prover | None = None

    def hello(self) -> str:
        """The checksum of this machine's burn-qed."""
        return code()

    def has_lean(self) -> bool:
        """Whether the embedded Lean is set up here."""
        return not install.faults(install.location())

    def set_up_lean(self, bundle: bytes) -> BurnQedError | None:
        """Set up the embedded Lean without a network. One process of a machine does it."""
        try:
            with tempfile.NamedTemporaryFile(prefix="burn-qed-", suffix=".tar") as file:
                file.write(bundle)
                file.flush()
                unbundle.unpack(Path(file.name), Silent())
        except BurnQedError as error:
            return error
        except OSError as error:
            return SetupError(f"cannot write the bundle to {tempfile.gettempdir()}: {error.strerror}")
        return None

    def open(self, recipe: Recipe, workers: int, hosts: Sequence[Any]) -> BurnQedError | None:
        """Make the prover, with so many Leans that search, and a model at these hosts if it has one."""
        elsewhere, hosted = None, recipe.hosted
        if hosted is not None:
            elsewhere = Asked(hosted, lambda: asked_there(hosts, hosted, lambda _warning: None))
        try:
            with tempfile.TemporaryDirectory(prefix="burn-qed-") as folder:
                assembled = recipe.assemble(Path(folder), elsewhere)
            opened = assembled.opened(workers=workers)
            self._prover = self._loop.call(self._open.enter_async_context(opened))
        except BurnQedError as error:
            return error
        return None

    def do(self, job: Job) -> Kept | BurnQedError:
        assert self._prover is not None
        try:
            return self._loop.call(job.on(self._prover))
        except BurnQedError as error:
            return error
