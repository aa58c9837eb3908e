"""What is done with recorded proofs in Lean: traced, tried, moved to this Lean, printed anew.

Each function goes on with what is in its folder, and gives its report; None if it was stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from burnqed.core.files import publish
from burnqed.core.types import Theorem
from burnqed.core.watching import Watcher
from burnqed.data import library_trace, migration, proof_validation, re_extract, validation
from burnqed.data.drawn_proofs import DrawnProofs
from burnqed.data.drift import Sorter
from burnqed.data.fix_rules import Fixes
from burnqed.data.index import TheoremIndex
from burnqed.data.known_names import known_names
from burnqed.data.ledger import Ledger, open_ledger
from burnqed.data.project_trace import ProjectTracer
from burnqed.data.recipe import Trace
from burnqed.data.sampled_proofs import Census, Sample
from burnqed.data.sources import written
from burnqed.data.sources.open import Opened
from burnqed.data.steps import Step
from burnqed.data.trace import FileTracer, trace_files
from burnqed.data.trace_leans import OwnLeans, SharedLeans, TraceLeans
from burnqed.data.trace_report import report as traced
from burnqed.data.trace_store import FileTrace, open_trace, read_files
from burnqed.data.validation import Proof, stated_by, stated_in
from burnqed.data.whole_proofs import LaidOut, trace_proofs
from burnqed.lean.pool import Pool, default_size
from burnqed.lean.process import LaunchSpec
from burnqed.lean.project import Project

PROOFS, RESULTS = "proofs.jsonl", "results.jsonl"
Report = dict[str, Any]
Row = Mapping[str, Any]


class Leans(Protocol):
    """Leans with some modules, as long as they are needed."""

    @property
    def project(self) -> Project | None: ...

    def loadable(self, modules: Sequence[str]) -> list[str]: ...

    def spec(self, modules: Sequence[str]) -> LaunchSpec: ...

    def launch(self, modules: Sequence[str], options: Sequence[str]) -> LaunchSpec:
        """The command for just these modules and options, of a Lean that was set up already."""
        ...

    def pool(self, modules: Sequence[str]) -> AbstractAsyncContextManager[Pool]: ...

    def with_judges(self, modules: Sequence[str]) -> AbstractAsyncContextManager[tuple[Pool, Pool]]: ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What all of them need. `label` begins the name of each bar."""

    leans: Leans
    watcher: Watcher
    stop: asyncio.Event
    fixes: Fixes
    trace: Trace
    workers: int | None
    imports: tuple[str, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Needed:
    """The statements that are known of a source's theorems, and the modules that they need.

    `own` are those of theorems of a lake project, by name: a theorem cannot be stated where its file,
    or what imports that, is loaded.
    """

    stated: Mapping[str, Theorem]
    modules: list[str]
    absent: tuple[str, ...]  # modules that cannot be loaded here
    own: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def groups(self, proofs: Iterable[Proof]) -> dict[tuple[str, ...], list[Proof]]:
        """The proofs by the modules that they are tried with."""
        found: dict[tuple[str, ...], list[Proof]] = {}
        for proof in proofs:
            own = self.own.get(proof.steps[0].theorem)
            found.setdefault(tuple(self.modules if own is None else own), []).append(proof)
        return found


def modules_with(leans: Leans, imports: Sequence[str], needed: Sequence[str]) -> list[str]:
    """The modules that are asked for, and those that are needed and can be loaded."""
    return list(dict.fromkeys(["Init", *imports, *leans.loadable(needed)]))


def needed_by(
    source: Opened,
    leans: Leans,
    imports: Sequence[str],
    warn: Callable[[str], None],
    index: TheoremIndex | None = None,
) -> Needed:
    """What the steps of a source need to be started; an index may state its theorems."""
    stated, needed = stated_in(source, warn)
    if index is not None:
        stated, needed = {**stated, **stated_by(index)}, (*needed, *index.imports)
    modules = modules_with(leans, imports, needed)
    absent = tuple(module for module in dict.fromkeys(needed) if module not in modules)
    own = {}
    if leans.project is not None and source.info is written.TRACE:
        for name, its in written.traced_imports(source.parts, warn).items():
            own[name] = modules_with(leans, imports, its)
    return Needed(stated, modules, absent, own)


# ------------------------------------------------------------------------------------ tracing


async def trace_lean_files(
    files: Sequence[tuple[Path, str]], modules: Sequence[str], out: Path, tools: Tools
) -> Report | None:
    """Files of one's own, elaborated as they are."""
    async with tools.leans.with_judges(modules) as (pool, judges):
        shared = SharedLeans(pool, judges if tools.trace.judge else None)
        return await _trace(shared, files, out, tools, FileTracer())


async def trace_project_files(
    files: Sequence[tuple[Path, str]], tracer: ProjectTracer, out: Path, tools: Tools
) -> Report | None:
    """Files of a lake project, each with a Lean of its own."""
    own = OwnLeans(tools.leans.launch, tools.workers or default_size(), tools.trace.judge)
    return await _trace(own, files, out, tools, tracer)


async def _trace(
    leans: TraceLeans,
    files: Sequence[tuple[Path, str]],
    out: Path,
    tools: Tools,
    tracer: FileTracer,
) -> Report | None:
    with (
        tools.watcher.tally(f"{tools.label}tracing", len(files)) as count,
        open_trace(out, tools.watcher.warn) as writer,
    ):
        await trace_files(
            leans, files, tools.trace.file_seconds, writer, lambda file: count(_of_file(file)),
            tools.stop, tracer,
        )  # fmt: skip
    return None if tools.stop.is_set() else traced(read_files(out, tools.watcher.warn))


async def trace_library_files(
    files: Sequence[tuple[Path, str]], modules: Sequence[str], out: Path, tools: Tools
) -> Report | None:
    """Files of Lean's own library, whose theorems are proved again."""
    spec, warn = tools.leans.spec(modules), tools.watcher.warn
    with open_trace(out, warn) as writer:
        with tools.watcher.tally(f"{tools.label}tracing", len(files)) as count:
            await library_trace.trace_library(
                spec, tools.workers, files, tools.trace.file_seconds, writer,
                lambda file: count(_of_file(file)), tools.stop,
            )  # fmt: skip
        if tools.trace.judge and not tools.stop.is_set():
            with tools.watcher.tally(f"{tools.label}judging", len(files)) as count:
                await library_trace.judge_library(
                    spec, out, writer, lambda file: count(_of_file(file)), warn, tools.stop
                )
    return None if tools.stop.is_set() else traced(read_files(out, warn))


async def trace_whole_proofs(source: Opened, laid: LaidOut, out: Path, tools: Tools) -> Report | None:
    """Whole proofs, which were laid out as Lean files."""
    modules = modules_with(tools.leans, tools.imports, laid.imports)
    # What others publish may be about Mathlib without a word of it.
    absent = ("Mathlib",) if source.is_published and "Mathlib" not in modules else ()
    async with tools.leans.with_judges(modules) as (pool, judges):
        sorter = Sorter(await known_names(pool), tools.fixes, absent)
        with tools.watcher.tally(f"{tools.label}tracing", len(laid.files)) as count:
            return await trace_proofs(
                out, laid, pool, judges if tools.trace.judge else None, sorter,
                tools.trace.file_seconds, tools.watcher.warn, lambda file: count(_of_file(file)),
                tools.stop,
            )  # fmt: skip


def _of_file(file: FileTrace) -> dict[str, int]:
    return {"steps": sum(theorem.steps for theorem in file.theorems), "skipped": bool(file.problem)}


# -------------------------------------------------------------------------------------- steps


async def validate_steps(
    sample: Sample,
    proofs: Sequence[Proof],
    needed: Needed,
    out: Path,
    tools: Tools,
    judge: bool = False,
) -> Report | None:
    """Proofs that were drawn, replayed and compared."""
    with open_ledger(out / PROOFS, tools.watcher.warn) as ledger:
        with tools.watcher.tally(f"{tools.label}replaying", len(proofs)) as count:
            for modules, some in needed.groups(proofs).items():
                if tools.stop.is_set():
                    break
                async with tools.leans.with_judges(modules) as (pool, judges):
                    sorter = Sorter(await known_names(pool), tools.fixes, needed.absent)
                    await validation.validate(
                        pool, some, sorter, ledger, lambda row: count(_of_replay(row)), tools.stop,
                        judges if judge else None,
                    )  # fmt: skip
        rows = list(ledger.rows())
    return None if tools.stop.is_set() else validation.report(sample, rows)


def _of_replay(row: Row) -> dict[str, int]:
    otherwise = row["outcome"] == "replays" and row.get("equal") is False
    return {str(row["outcome"]): 1, "prints otherwise": otherwise}


async def extract_again(
    read: Callable[[], Iterable[Step]], found: Census, needed: Needed, out: Path, tools: Tools
) -> Report | None:
    """The steps with the states that this Lean prints. `read` gives the steps that are `found`."""
    async with tools.leans.pool(needed.modules) as pool:
        sorter = Sorter(await known_names(pool), tools.fixes, needed.absent)
        with tools.watcher.tally(f"{tools.label}replaying", len(found.whole)) as count:
            return await re_extract.re_extract(
                out, read, found, needed.stated, pool, sorter, tools.watcher.warn,
                lambda row: count({str(row["outcome"]): 1}), tools.stop,
            )  # fmt: skip


# ------------------------------------------------------------------------------- whole proofs


async def validate_whole_proofs(proofs: DrawnProofs, out: Path, tools: Tools) -> Report | None:
    """Proofs that were drawn, judged as they are."""
    with open_ledger(out / PROOFS, tools.watcher.warn) as ledger:
        if not await _changed(proofs, ledger, tools, "judging", drafts=0):
            return None
        return proof_validation.report(ledger.rows(), proofs.there)


async def migrate_whole_proofs(proofs: DrawnProofs, out: Path, tools: Tools) -> Report | None:
    """Proofs changed by rules until the judge accepts them; the survivors are written."""
    with open_ledger(out / RESULTS, tools.watcher.warn) as ledger:
        if not await _changed(proofs, ledger, tools, "migrating"):
            return None
        rows = (asdict(proof) for proof in migration.survivors(ledger, proofs()))
        publish(out / PROOFS, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return migration.report(ledger.rows())


async def _changed(
    proofs: DrawnProofs, ledger: Ledger, tools: Tools, doing: str, drafts: int = migration.DRAFTS
) -> bool:
    """Whether all of them are judged, after so many changes of each at the most."""
    called = {} if drafts else {"unchanged": "accepted"}
    with tools.watcher.tally(f"{tools.label}{doing}", proofs.count) as count:

        def judged(row: Row) -> None:
            outcome = str(row["outcome"])
            count({called.get(outcome, outcome): 1})

        await migration.migrate(
            migration.Work(
                tools.leans.with_judges, proofs, tools.leans.loadable, tools.fixes, ledger, judged,
                tools.stop, drafts,
            )
        )  # fmt: skip
    return not tools.stop.is_set()
