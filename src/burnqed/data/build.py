"""From sources to the inputs of a training set: each step of the way in a folder of its own.

    OUT/sources/NAME/validated   a sample, tried on this Lean
    OUT/sources/NAME/migrated    whole proofs, moved to this Lean
    OUT/sources/NAME/traced      Lean files, or whole proofs, as steps
    OUT/sources/NAME/extracted   steps with the states that this Lean prints

A step is done when its report is there, which is written last. What is in the middle goes on.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnqed.core.errors import CorruptError
from burnqed.core.files import publish
from burnqed.data import re_extract, validation, with_lean
from burnqed.data.build_inputs import Input
from burnqed.data.contamination import Held
from burnqed.data.drawn_proofs import DrawnProofs
from burnqed.data.lean_files import imports_of
from burnqed.data.library_trace import LIBRARY
from burnqed.data.sampled_proofs import census, draw
from burnqed.data.sources.open import Opened, open_source
from burnqed.data.sources.rows import Notes
from burnqed.data.steps import Step
from burnqed.data.trace import LOST
from burnqed.data.whole_proofs import LEAN, lay_out
from burnqed.data.with_lean import PROOFS, Needed, Report, Tools, modules_with, needed_by

REPORT = "report.json"


@dataclass(frozen=True, slots=True)
class Ready:
    """Steps that can be prepared; None where a source came to nothing. `told` is of each step."""

    opened: Opened | None
    told: tuple[Report, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What all sources share: tools, the theorems that are held out, and the seed of samples."""

    tools: Tools
    held: Held
    seed: int


class _Stopped(Exception):
    """Somebody asked for it; what is done is on the disk."""


# ------------------------------------------------------------------------------------- steps


async def make_ready(one: Input, out: Path, plan: Plan) -> Ready | None:
    """Bring a source as far as steps that can be prepared; None if it was stopped."""
    try:
        match one.kind:
            case "lean":
                return await _of_lean_files(one, out, plan)
            case "proofs":
                return await _of_proofs(one, out, plan)
            case "steps":
                return await _of_steps(one, out, plan)
    except _Stopped:
        return None


async def _of_lean_files(one: Input, out: Path, plan: Plan) -> Ready:
    folder = out / "traced"
    found = await _once(folder, lambda: _trace_files(one, folder, plan), _lost)
    return _traced(one, folder, found, [_files_told(found)])


async def _of_proofs(one: Input, out: Path, plan: Plan) -> Ready:
    told: list[Report] = []
    proofs, due = one.rows, one.wish.migrate == "always"
    if one.wish.validate:
        folder = out / "validated"
        found = await _once(folder, lambda: _validate_proofs(one, folder, plan), _errors)
        told.append(_validated_told(found, "whole proofs", found["accepted"], found["causes"]))
        due = due or (one.wish.migrate == "due" and found["verdict"] == "migrate")
    if due:
        moved = out / "migrated"
        found = await _once(moved, lambda: _migrate(one, moved, plan), _error)
        survive = found["unchanged"] + found["fixed"]
        dropped = {**found["causes"], "no proof": found["empty"]}
        told.append(_step("migrate", "whole proofs", found["proofs"], survive, dropped))
        if not survive:
            return Ready(None, tuple(told))
        proofs = replace(open_source(f"proofs={moved / PROOFS}"), label=one.name)
    traced = out / "traced"
    found = await _once(traced, lambda: _trace_proofs(one, proofs, traced, plan), _lost)
    counts = found["proofs"]
    why = {kind: some["proofs"] for kind, some in found["does_not_compile"].items()}
    dropped = {**counts["left_out"], **why}
    told.append(_step("compile", "whole proofs", counts["in"], counts["compile"], dropped))
    return _traced(one, traced, found, told)


async def _of_steps(one: Input, out: Path, plan: Plan) -> Ready:
    told: list[Report] = []
    always = one.wish.re_extract == "always"
    due = always
    if one.wish.validate:
        folder = out / "validated"
        found = await _once(folder, lambda: _validate_steps(one, folder, plan), _errors)
        wrong = {k: v["theorems"] for k, v in found["categories"].items() if k != re_extract.DRIFT}
        told.append(_validated_told(found, "theorems drawn", found["replay"], wrong))
        if found["verdict"] == "re-trace" and not always:
            plan.tools.watcher.warn(f"{one.name} is left out: {found['replay_rate']:.0%} of it replays")
            return Ready(None, tuple(told))
        due = due or (one.wish.re_extract == "due" and found["verdict"] == "re-extract")
    if not due:
        return Ready(one.rows, tuple(told))
    fresh = out / "extracted"
    found = await _once(fresh, lambda: _re_extract(one, fresh, plan), _errors)
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


def _tools(one: Input, plan: Plan) -> Tools:
    return replace(plan.tools, label=f"{one.name}: ")


async def _trace_files(one: Input, out: Path, plan: Plan) -> Report | None:
    tools = _tools(one, plan)
    if one.wish.library:
        return await with_lean.trace_library_files(one.files, LIBRARY, out, tools)
    modules = modules_with(tools.leans, tools.imports, imports_of([path for path, _ in one.files]))
    return await with_lean.trace_lean_files(one.files, modules, out, tools)


async def _trace_proofs(one: Input, proofs: Opened, out: Path, plan: Plan) -> Report | None:
    notes = Notes(on_bad=lambda problem: plan.tools.watcher.warn(problem.message))
    laid = lay_out(proofs.proofs(notes), out / LEAN, plan.held)
    return await with_lean.trace_whole_proofs(proofs, laid, out, _tools(one, plan))


async def _validate_steps(one: Input, out: Path, plan: Plan) -> Report | None:
    needed, sample = _needed(one, plan), draw(_quietly(one), one.wish.validate, plan.seed)
    proofs = validation.drawn(_quietly(one), sample, needed.stated)
    return await with_lean.validate_steps(sample, proofs, needed, out, _tools(one, plan))


async def _re_extract(one: Input, out: Path, plan: Plan) -> Report | None:
    found, needed = census(_quietly(one)), _needed(one, plan)
    return await with_lean.extract_again(lambda: _quietly(one), found, needed, out, _tools(one, plan))


def _needed(one: Input, plan: Plan) -> Needed:
    return needed_by(one.rows, plan.tools.leans, plan.tools.imports, plan.tools.watcher.warn)


def _quietly(one: Input) -> Iterator[Step]:
    """The steps of a source; bad rows are reported when the steps are prepared."""
    return one.rows.steps(Notes(on_bad=lambda _: None))


async def _validate_proofs(one: Input, out: Path, plan: Plan) -> Report | None:
    proofs = DrawnProofs(one.rows, one.wish.validate, plan.seed, plan.tools.watcher.warn)
    return await with_lean.validate_whole_proofs(proofs, out, _tools(one, plan))


async def _migrate(one: Input, out: Path, plan: Plan) -> Report | None:
    proofs = DrawnProofs(one.rows, None, plan.seed, lambda _told_already: None)
    return await with_lean.migrate_whole_proofs(proofs, out, _tools(one, plan))


# ------------------------------------------------------------------------------ the reports


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
