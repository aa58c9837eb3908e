"""From sources to the inputs of a training set: each step of the way in a folder of its own.

    OUT/sources/NAME/validated   a sample, tried on this Lean
    OUT/sources/NAME/migrated    whole proofs, moved to this Lean
    OUT/sources/NAME/traced      Lean files, or whole proofs, as steps
    OUT/sources/NAME/extracted   steps with the states that this Lean prints

A step is done when its report is there, which is written last. What is in the middle goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from burnqed.core.errors import CorruptError
from burnqed.core.files import publish
from burnqed.data import (
    library_trace,
    migration,
    proof_validation,
    re_extract,
    trace_report,
    validation,
)
from burnqed.data.build_inputs import Input
from burnqed.data.contamination import Held
from burnqed.data.drawn_proofs import DrawnProofs
from burnqed.data.drift import Sorter
from burnqed.data.fix_rules import Fixes
from burnqed.data.known_names import known_names
from burnqed.data.lean_files import imports_of
from burnqed.data.ledger import open_ledger
from burnqed.data.recipe import Trace
from burnqed.data.sampled_proofs import census, collected, draw
from burnqed.data.sources.open import Opened, open_source
from burnqed.data.sources.rows import Notes
from burnqed.data.steps import Step
from burnqed.data.trace import LOST, trace_files
from burnqed.data.trace_store import FileTrace, open_trace, read_files
from burnqed.data.whole_proofs import LEAN, lay_out, trace_proofs
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec

REPORT = "report.json"
Report = dict[str, Any]


class Leans(Protocol):
    """Leans with some modules, as long as they are needed."""

    def loadable(self, modules: Sequence[str]) -> list[str]: ...

    def spec(self, modules: Sequence[str]) -> LaunchSpec: ...

    def pool(self, modules: Sequence[str]) -> AbstractAsyncContextManager[Pool]: ...

    def with_judges(self, modules: Sequence[str]) -> AbstractAsyncContextManager[tuple[Pool, Pool]]: ...


class Watch(Protocol):
    """Hears of problems that stop nothing, shows how far a step is, and says when to stop."""

    stop: asyncio.Event

    def warn(self, problem: str) -> None: ...

    def bar(
        self, label: str, total: int
    ) -> AbstractContextManager[Callable[[Mapping[str, int]], None]]: ...


@dataclass(frozen=True, slots=True)
class Ready:
    """Steps that can be prepared; None where a source came to nothing. `told` is of each step."""

    opened: Opened | None
    told: tuple[Report, ...]


@dataclass(frozen=True, slots=True)
class Tools:
    """All that the steps share."""

    leans: Leans
    watch: Watch
    fixes: Fixes
    held: Held
    trace: Trace
    imports: tuple[str, ...]
    workers: int | None
    seed: int


class _Stopped(Exception):
    """Somebody asked for it; what is done is on the disk."""


# ------------------------------------------------------------------------------------- steps


async def make_ready(one: Input, out: Path, tools: Tools) -> Ready | None:
    """Bring a source as far as steps that can be prepared; None if it was stopped."""
    try:
        match one.kind:
            case "lean":
                return await _of_lean_files(one, out, tools)
            case "proofs":
                return await _of_proofs(one, out, tools)
            case "steps":
                return await _of_steps(one, out, tools)
    except _Stopped:
        return None


async def _of_lean_files(one: Input, out: Path, tools: Tools) -> Ready:
    folder = out / "traced"
    found = await _once(folder, lambda: _trace_files(one, folder, tools), _lost)
    return _traced(one, folder, found, [_files_told(found)])


async def _of_proofs(one: Input, out: Path, tools: Tools) -> Ready:
    told: list[Report] = []
    proofs, due = one.rows, one.wish.migrate == "always"
    if one.wish.validate:
        folder = out / "validated"
        found = await _once(folder, lambda: _validate_proofs(one, folder, tools), _errors)
        told.append(_validated_told(found, "whole proofs", found["accepted"], found["causes"]))
        due = due or (one.wish.migrate == "due" and found["verdict"] == "migrate")
    if due:
        moved = out / "migrated"
        found = await _once(moved, lambda: _migrate(one, moved, tools), _error)
        survive = found["unchanged"] + found["fixed"]
        dropped = {**found["causes"], "no proof": found["empty"]}
        told.append(_step("migrate", "whole proofs", found["proofs"], survive, dropped))
        if not survive:
            return Ready(None, tuple(told))
        proofs = replace(open_source(f"proofs={moved / _PROOFS}"), label=one.name)
    traced = out / "traced"
    found = await _once(traced, lambda: _trace_proofs(proofs, traced, tools), _lost)
    counts = found["proofs"]
    why = {kind: some["proofs"] for kind, some in found["does_not_compile"].items()}
    dropped = {**counts["left_out"], **why}
    told.append(_step("compile", "whole proofs", counts["in"], counts["compile"], dropped))
    return _traced(one, traced, found, told)


async def _of_steps(one: Input, out: Path, tools: Tools) -> Ready:
    told: list[Report] = []
    always = one.wish.re_extract == "always"
    due = always
    if one.wish.validate:
        folder = out / "validated"
        found = await _once(folder, lambda: _validate_steps(one, folder, tools), _errors)
        wrong = {k: v["theorems"] for k, v in found["categories"].items() if k != re_extract.DRIFT}
        told.append(_validated_told(found, "theorems drawn", found["replay"], wrong))
        if found["verdict"] == "re-trace" and not always:
            tools.watch.warn(f"{one.name} is left out: {found['replay_rate']:.0%} of it replays")
            return Ready(None, tuple(told))
        due = due or (one.wish.re_extract == "due" and found["verdict"] == "re-extract")
    if not due:
        return Ready(one.rows, tuple(told))
    fresh = out / "extracted"
    found = await _once(fresh, lambda: _re_extract(one, fresh, tools), _errors)
    counts = found["theorems"]
    step = _step("re-extract", "theorems", counts["in"], counts["out"], counts["dropped"])
    told.append(step | {"steps": found["steps"]["out"]})
    if not counts["out"]:
        return Ready(None, tuple(told))
    steps = open_source(f"steps={fresh / re_extract.STEPS}")
    return Ready(replace(steps, label=one.name), tuple(told))


async def _once(
    folder: Path, work: Callable[[], Awaitable[Report | None]], failed: Callable[[Report], int]
) -> Report:
    """The report of a step: the one that is there, or the one that the work comes to.

    What Lean itself failed on is tried again; what it fails on then is counted as that.
    """
    earlier = _begun(folder)
    if earlier is not None:
        return earlier
    told = await work()
    if told is not None and failed(told):
        told = await work()
    if told is None:
        raise _Stopped
    publish(folder / REPORT, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    return told


def _begun(folder: Path) -> Report | None:
    """The folder of a step, there; and its report, if the step is done."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / REPORT
    return read_report(path) if path.exists() else None


def read_report(path: Path) -> Report:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise CorruptError(
            f"cannot read {path}: {error}", hint="remove it; the step goes on"
        ) from error


def _errors(told: Report) -> int:
    return len(told["errors"]) if isinstance(told["errors"], list) else int(told["errors"])


def _error(told: Report) -> int:
    return int(told["error"])


def _lost(told: Report) -> int:
    return int(told["files"]["skipped"].get(LOST, 0))


# -------------------------------------------------------------------------------- each step


def _modules(tools: Tools, needed: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(["Init", *tools.imports, *tools.leans.loadable(needed)]))


async def _trace_files(one: Input, out: Path, tools: Tools) -> Report | None:
    if one.wish.library:
        return await _trace_library(one, out, tools)
    modules = _modules(tools, imports_of([path for path, _ in one.files]))
    async with tools.leans.with_judges(modules) as (pool, judges):
        with (
            tools.watch.bar(f"{one.name}: tracing", len(one.files)) as count,
            open_trace(out, tools.watch.warn) as writer,
        ):
            await trace_files(
                pool, judges if tools.trace.judge else None, one.files, tools.trace.file_seconds,
                writer, lambda file: count(_counts(file)), tools.watch.stop,
            )  # fmt: skip
    if tools.watch.stop.is_set():
        return None
    return trace_report.report(read_files(out, tools.watch.warn))


async def _trace_library(one: Input, out: Path, tools: Tools) -> Report | None:
    spec, stop = tools.leans.spec(library_trace.LIBRARY), tools.watch.stop
    with open_trace(out, tools.watch.warn) as writer:
        with tools.watch.bar(f"{one.name}: tracing", len(one.files)) as count:
            await library_trace.trace_library(
                spec, tools.workers, one.files, tools.trace.file_seconds, writer,
                lambda file: count(_counts(file)), stop,
            )  # fmt: skip
        if tools.trace.judge and not stop.is_set():
            with tools.watch.bar(f"{one.name}: judging", len(one.files)) as count:
                await library_trace.judge_library(
                    spec, out, writer, lambda file: count(_counts(file)), tools.watch.warn, stop
                )
    if stop.is_set():
        return None
    return trace_report.report(read_files(out, tools.watch.warn))


async def _trace_proofs(proofs: Opened, out: Path, tools: Tools) -> Report | None:
    notes = Notes(on_bad=lambda problem: tools.watch.warn(problem.message))
    laid = lay_out(proofs.proofs(notes), out / LEAN, tools.held)
    modules = _modules(tools, laid.imports)
    async with tools.leans.with_judges(modules) as (pool, judges):
        sorter = Sorter(await known_names(pool), tools.fixes, _absent(proofs, modules))
        with tools.watch.bar(f"{proofs.label}: tracing", len(laid.files)) as count:
            return await trace_proofs(
                out, laid, pool, judges if tools.trace.judge else None, sorter,
                tools.trace.file_seconds, tools.watch.warn, lambda file: count(_counts(file)),
                tools.watch.stop,
            )  # fmt: skip


def _counts(file: FileTrace) -> dict[str, int]:
    return {"steps": sum(t.steps for t in file.theorems), "skipped": bool(file.problem)}


def _absent(opened: Opened, modules: Sequence[str]) -> tuple[str, ...]:
    return ("Mathlib",) if opened.is_published and "Mathlib" not in modules else ()


async def _validate_steps(one: Input, out: Path, tools: Tools) -> Report | None:
    stated, needed = validation.stated_in(one.rows, tools.watch.warn)
    modules = _modules(tools, needed)
    sample = draw(_quietly(one), one.wish.validate, tools.seed)
    found = collected(_quietly(one), sample.chosen)
    proofs = [
        validation.startable(key, sample.chosen[key], proof, stated) for key, proof in found.items()
    ]
    with open_ledger(out / _PROOFS, tools.watch.warn) as ledger:
        async with tools.leans.pool(modules) as pool:
            sorter = Sorter(await known_names(pool), tools.fixes, _absent(one.rows, modules))
            with tools.watch.bar(f"{one.name}: replaying", len(proofs)) as count:
                await validation.validate(
                    pool, proofs, sorter, ledger, lambda row: count({str(row["outcome"]): 1}),
                    tools.watch.stop,
                )  # fmt: skip
        rows = list(ledger.rows())
    return None if tools.watch.stop.is_set() else validation.report(sample, rows)


async def _re_extract(one: Input, out: Path, tools: Tools) -> Report | None:
    stated, needed = validation.stated_in(one.rows, tools.watch.warn)
    modules = _modules(tools, needed)
    found = census(_quietly(one))
    async with tools.leans.pool(modules) as pool:
        sorter = Sorter(await known_names(pool), tools.fixes, _absent(one.rows, modules))
        with tools.watch.bar(f"{one.name}: replaying", len(found.whole)) as count:
            return await re_extract.re_extract(
                out, lambda: _quietly(one), found, stated, pool, sorter, tools.watch.warn,
                lambda row: count({str(row["outcome"]): 1}), tools.watch.stop,
            )  # fmt: skip


def _quietly(one: Input) -> Iterator[Step]:
    """The steps of a source; rows that are none are told of when they are prepared."""
    return one.rows.steps(Notes(on_bad=lambda _: None))


_PROOFS = "proofs.jsonl"
_RESULTS = "results.jsonl"


async def _validate_proofs(one: Input, out: Path, tools: Tools) -> Report | None:
    proofs = DrawnProofs(one.rows, one.wish.validate, tools.seed, tools.watch.warn)
    with open_ledger(out / _PROOFS, tools.watch.warn) as ledger:
        with tools.watch.bar(f"{one.name}: judging", proofs.count) as count:
            await proof_validation.validate_proofs(
                tools.leans.with_judges, proofs, tools.leans.loadable, tools.fixes, ledger,
                lambda row: count({str(row["outcome"]): 1}), tools.watch.stop,
            )  # fmt: skip
        if tools.watch.stop.is_set():
            return None
        return proof_validation.report(ledger.rows(), proofs.there)


async def _migrate(one: Input, out: Path, tools: Tools) -> Report | None:
    proofs = DrawnProofs(one.rows, None, tools.seed, lambda _told_already: None)
    with open_ledger(out / _RESULTS, tools.watch.warn) as ledger:
        with tools.watch.bar(f"{one.name}: migrating", proofs.count) as count:
            await migration.migrate(
                tools.leans.with_judges, proofs, tools.leans.loadable, tools.fixes, ledger,
                lambda row: count({str(row["outcome"]): 1}), tools.watch.stop,
            )  # fmt: skip
        if tools.watch.stop.is_set():
            return None
        rows = (asdict(proof) for proof in migration.survivors(ledger, proofs()))
        publish(out / _PROOFS, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return migration.report(ledger.rows())


# ------------------------------------------------------------------------------ what is told


def _step(step: str, what: str, came: int, left: int, dropped: Mapping[str, int]) -> Report:
    why = {reason: count for reason, count in sorted(dropped.items()) if count}
    return {"step": step, "what": what, "in": came, "out": left, "dropped": why}


def _validated_told(found: Report, what: str, fine: int, wrong: Mapping[str, int]) -> Report:
    tried = _step("validate", what, found["tried"], fine, wrong)
    return tried | {"verdict": found["verdict"]}


def _files_told(found: Report) -> Report:
    files = found["files"]
    return _step("read", "Lean files", files["found"], files["traced"], files["skipped"])


def _traced(one: Input, folder: Path, found: Report, told: Sequence[Report]) -> Ready:
    theorems = found["theorems"]
    dropped = {"proved by a term": theorems["proved_by_terms"], **theorems["not_recorded"]}
    step = _step("trace", "theorems", theorems["found"], theorems["recorded"], dropped)
    every = (*told, step | {"steps": found["steps"]})
    if not found["steps"]:
        return Ready(None, every)
    return Ready(replace(open_source(f"trace={folder}"), label=one.name), every)
