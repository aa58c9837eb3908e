"""Recorded proofs tried on this Lean: validated, their states extracted again, moved to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError
from burnqed.core.files import publish_json
from burnqed.core.runs import check_out, open_run
from burnqed.core.watching import Watcher
from burnqed.data.drawn_proofs import DrawnProofs
from burnqed.data.fix_rules import Fixes, load_fixes
from burnqed.data.index import TheoremIndex
from burnqed.data.re_extract import refuse_nothing
from burnqed.data.recipe import Trace
from burnqed.data.sampled_proofs import census, draw
from burnqed.data.sources.open import Opened, open_source
from burnqed.data.sources.rows import BadRows, Notes
from burnqed.data.steps import Step
from burnqed.data.validation import drawn
from burnqed.data.with_lean import (
    Needed,
    Report,
    Tools,
    extract_again,
    migrate_whole_proofs,
    needed_by,
    validate_steps,
    validate_whole_proofs,
)
from burnqed.lean.pool import run_sync
from burnqed.prover.config import LeanConfig
from burnqed.prover.data_config import MigrateConfig, ReExtractConfig, ValidateConfig
from burnqed.prover.leans import Leans
from burnqed.prover.sets import chosen

REPORT = "report.json"


@dataclass(frozen=True, slots=True)
class _Run:
    """A source, the Lean that it is tried on, and where what comes of it goes."""

    source: Opened
    out: Path
    config: LeanConfig
    here: Leans
    fixes: Fixes
    watcher: Watcher

    @classmethod
    def of(
        cls, given: str, out: Path, config: LeanConfig, renames: Sequence[Path], watcher: Watcher
    ) -> _Run:
        check_out(out)
        return cls(open_source(given), out, config, Leans(config), load_fixes(renames), watcher)

    def open(self, command: str, resume: bool, **more: Any) -> dict[str, Any]:
        """The directory, begun or gone on with: by these settings, and what is always one."""
        asked = {
            "command": command, "source": self.source.info.name, "sha256": self.source.checksum(),
            **more, "toolchain": self.here.label,
        }  # fmt: skip
        open_run(self.out, asked, resume=resume)
        return asked

    def tools(self) -> Tools:
        return Tools(
            self.here, self.watcher, self.watcher.stopping(), self.fixes, Trace(),
            self.config.workers, self.config.imports,
        )  # fmt: skip

    def needed(self, index: TheoremIndex | None) -> Needed:
        needed = needed_by(self.source, self.here, self.config.imports, self.watcher.warn, index)
        self.here.spec(needed.modules)  # what cannot be set up is refused before anything is written
        return needed

    def again(self) -> Iterator[Step]:
        """The steps, once what is wrong with some rows was reported."""
        return self.source.steps(Notes(on_bad=lambda _told_already: None))


def validate(
    given: str, out: Path, config: ValidateConfig, watcher: Watcher, *, resume: bool
) -> Report | None:
    """Try a sample of steps or of whole proofs, and give the report that is written.

    None if it was stopped.
    """
    run = _Run.of(given, out, config, config.renames, watcher)
    drawing = {"sample": config.sample, "seed": config.seed}
    gives = run.source.info.gives
    if "steps" not in gives and "proofs" in gives:
        told = _validate_whole(run, config, drawing, resume)
    else:
        told = _validate_steps(run, config, drawing, resume)
    if told is not None:
        publish_json(out / REPORT, told)
    return told


def _validate_steps(
    run: _Run, config: ValidateConfig, drawing: dict[str, Any], resume: bool
) -> Report | None:
    index = None if config.theorems is None else chosen(config.theorems)
    needed = run.needed(index)
    asked = run.open(
        "data validate", resume, **drawing, theorems=index.checksum if index else None,
        rules=run.fixes.digest(), modules=needed.modules, **({"judge": True} if config.judge else {}),
    )  # fmt: skip
    bad = BadRows()
    sample = draw(run.source.steps(Notes(run.watcher.warn, bad.add)), config.sample, config.seed)
    bad.tell(run.watcher.warn)
    proofs = drawn(run.again(), sample, needed.stated)
    if not proofs:
        raise InputError(f"{run.source.given} has no theorem to try")

    async def work() -> Report | None:
        return await validate_steps(sample, proofs, needed, run.out, run.tools(), config.judge)

    told = run_sync(work())
    if told is None:
        return None
    return {"settings": asked, "given": run.source.given, "absent": list(needed.absent), **told}


def _validate_whole(
    run: _Run, config: ValidateConfig, drawing: dict[str, Any], resume: bool
) -> Report | None:
    if config.theorems is not None:
        raise InputError("whole proofs have their statements", hint="leave out --theorems")
    if config.imports:
        raise InputError("whole proofs name what they import", hint="leave out --import")
    asked = run.open("data validate", resume, **drawing, rules=run.fixes.digest())
    proofs = DrawnProofs(run.source, config.sample, config.seed, run.watcher.warn)

    async def work() -> Report | None:
        return await validate_whole_proofs(proofs, run.out, run.tools())

    told = run_sync(work())
    return None if told is None else {"settings": asked, "given": run.source.given, **told}


def re_extract(
    given: str, out: Path, config: ReExtractConfig, watcher: Watcher, *, resume: bool
) -> Report | None:
    """Write a set of steps anew, with this Lean's states, and give its report; None if stopped."""
    run = _Run.of(given, out, config, (), watcher)
    bad = BadRows()
    found = census(run.source.steps(Notes(watcher.warn, bad.add)))
    bad.tell(watcher.warn)
    index = None if config.theorems is None else chosen(config.theorems)
    needed = run.needed(index)
    run.open(
        "data re-extract", resume, theorems=index.checksum if index else None, modules=needed.modules
    )

    async def work() -> Report | None:
        return await extract_again(run.again, found, needed, out, run.tools())

    told = run_sync(work())
    if told is not None:
        refuse_nothing(told, given)
    return told


def migrate(
    given: str, out: Path, config: MigrateConfig, watcher: Watcher, *, resume: bool
) -> Report | None:
    """Move whole proofs to this Lean, and give the report that is written; None if stopped."""
    run = _Run.of(given, out, config, config.renames, watcher)
    run.source.proofs(Notes())  # has it any?
    asked = run.open(
        "data migrate", resume, sample=config.sample, seed=config.seed, rules=run.fixes.digest()
    )
    proofs = DrawnProofs(run.source, config.sample, config.seed, watcher.warn)

    async def work() -> Report | None:
        return await migrate_whole_proofs(proofs, out, run.tools())

    told = run_sync(work())
    if told is None:
        return None
    told = {"settings": asked, **told}
    publish_json(out / REPORT, told)
    return told
