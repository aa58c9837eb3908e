"""Finds runs and reports on embeddings below a folder, and names each by an id that holds no path."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from burnqed.core.errors import BurnQedError, InputError
from burnqed.core.files import read_object
from burnqed.core.runs import MANIFEST, SUMMARY, read_manifest
from burnqed.evaluation.results import RESULT
from burnqed.iteration.directory import COMMAND as ITERATION
from burnqed.iteration.directory import LOCK, LOGS, OUTCOMES, SPECS, STAGES
from burnqed.prover.embeddings import FIGURES
from burnqed.trajectories.schema import TRAJECTORIES
from burnqed.web.locks import is_locked
from burnqed.web.looks import FoundLook

# The commands whose runs have theorems to show, and the file that each writes last.
LAST_FILE = {"search": SUMMARY, "negatives": SUMMARY, "eval": RESULT}
SHOWN = (*LAST_FILE, ITERATION)
# Limits of the walk: a folder such as / must not keep the page waiting.
DEEPEST, MOST_FOLDERS = 9, 20_000

State = Literal["running", "done", "unfinished"]


@dataclass(frozen=True, slots=True)
class Run:
    """The directory of one run. `name` is its path below the folder that is shown."""

    id: str
    name: str
    path: Path
    command: str
    manifest: Mapping[str, Any] = field(repr=False)
    parent: str | None  # the run that it lies in

    @property
    def is_iteration(self) -> bool:
        return self.command == ITERATION

    @property
    def attempts(self) -> list[Path]:
        """The directories of trajectories: one, or one for each attempt of an evaluation."""
        if self.command != "eval":
            return [self.path / TRAJECTORIES]
        found = sorted(self.path.glob("attempt-*"), key=lambda one: (len(one.name), one.name))
        return [one / TRAJECTORIES for one in found]

    @property
    def state(self) -> State:
        """What its process says: the lock that it holds, or the file that it writes last."""
        locks = [self.path / LOCK] if self.is_iteration else [one / ".lock" for one in self.attempts]
        if any(map(is_locked, locks)):
            return "running"
        if self.is_iteration:
            finished = _whole(self.path / SUMMARY).get("finished")
            return "done" if finished is True else "unfinished"
        return "done" if (self.path / LAST_FILE[self.command]).is_file() else "unfinished"

    @property
    def begun(self) -> float:
        """When its settings were frozen."""
        return _time(self.path / MANIFEST)

    @property
    def changed(self) -> float:
        """When a file of the run was written last, in seconds since 1970."""
        places = [self.path, *self.attempts]
        return max((_changed(one) for one in places), default=0.0)


@dataclass(frozen=True, slots=True)
class Found:
    """Runs and reports on embeddings by id, in the order of their names, and what could not be read."""

    runs: Mapping[str, Run]
    looks: Mapping[str, FoundLook] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def find_runs(root: Path) -> Found:
    """All that is shown of a folder and below it. Links to folders and hidden folders are left out."""
    if not os.path.isdir(root):  # noqa: PTH112  (`Path.is_dir` raises where it may not look)
        raise InputError(f"there is no folder {root}", hint="give a run, or a folder of runs")
    runs: dict[str, Run] = {}
    looks: dict[str, FoundLook] = {}
    problems: list[str] = []
    for number, (folder, parents) in enumerate(_folders(root)):
        if number >= MOST_FOLDERS:
            problems.append(f"{root} has more than {MOST_FOLDERS} folders: the rest is not looked at")
            break
        below = folder.relative_to(root)
        name = "/".join(below.parts) or root.resolve().name
        above = next((one for one in map(id_of, parents) if one in runs), None)
        if above and _is_bookkeeping(runs[above], folder):
            continue
        if os.path.isfile(folder / FIGURES):  # noqa: PTH113
            looks[id_of(below)] = FoundLook(id_of(below), name, folder, above)
        if not os.path.isfile(folder / MANIFEST):  # noqa: PTH113
            continue
        try:
            manifest = read_manifest(folder)
        except BurnQedError as error:
            problems.append(error.message)
            continue
        command = str(manifest.get("command", ""))
        if command in SHOWN:
            found = Run(id_of(below), name, folder, command, manifest, above)
            runs[found.id] = found
    return Found(runs, looks, tuple(problems))


def _is_bookkeeping(run: Run, folder: Path) -> bool:
    """Whether an expert iteration keeps there what it knows of its stages, in files of their names."""
    return run.is_iteration and folder.relative_to(run.path).parts[0] in (STAGES, SPECS, OUTCOMES, LOGS)


def id_of(inside: Path) -> str:
    """A run's id: the same each time that the same folder is shown."""
    return hashlib.sha256(os.fsencode(inside)).hexdigest()[:16]


def _folders(root: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Folders with those above them, the nearest first, as paths below the root."""
    for name, inside, files in os.walk(root):
        folder = Path(name)
        below = folder.relative_to(root)
        whole = below.parts and any(f.startswith("part-") and f.endswith(".parquet") for f in files)
        if whole or len(below.parts) >= DEEPEST:
            inside.clear()
        inside[:] = sorted(one for one in inside if not one.startswith("."))
        yield folder, list(below.parents)


def _changed(folder: Path) -> float:
    try:
        return max((one.stat().st_mtime for one in os.scandir(folder) if one.is_file()), default=0.0)
    except OSError:
        return 0.0


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _whole(path: Path) -> dict[str, Any]:
    """A summary, or nothing: a run is shown whatever became of its summary."""
    try:
        return read_object(path)
    except BurnQedError:
        return {}
