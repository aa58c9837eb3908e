"""A run's directory: what was asked for, which stages are done, when each was begun and ended.

A stage's specification is written before its process begins, and its outcome by that process when it
ends. Its record is written when it is over, and is what says so. The journal tells what it took, and
how many iterations were asked for; it has a line for each begin and end, so that what was killed is
seen as well.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.files import publish
from burnqed.core.runs import MANIFEST, read_manifest, shown_by
from burnqed.core.storage import remedy
from burnqed.iteration.config import Config, from_content
from burnqed.iteration.history import BASELINE
from burnqed.iteration.made import Status, folder
from burnqed.iteration.specs import Stage

STAGES, LOGS, JOURNAL, LOCK = "stages", "logs", "journal.jsonl", ".lock"
SPECS, OUTCOMES = "specs", "outcomes"
COMMAND = "run"
_RESET, _ASKED = "reset", "asked"
_WAIT_SECONDS = 60.0  # for a stage of a run that was killed, while it saves and ends


@dataclass(frozen=True, slots=True)
class Spent:
    """How often a stage was begun, and the wall clock of those times whose end is known."""

    runs: int
    seconds: float


def is_run(run: Path) -> bool:
    """Whether a directory holds a run of expert iteration, and no other."""
    if not (run / MANIFEST).is_file():
        return False
    return read_manifest(run).get("command") == COMMAND


def read_run(run: Path) -> tuple[Config, dict[str, Any]]:
    """The configuration that a run was begun with, and its whole manifest."""
    manifest = read_manifest(run)
    if manifest.get("command") != COMMAND or not isinstance(manifest.get("config"), dict):
        raise InputError(
            f"{run} holds no expert iteration",
            hint=shown_by(run) or "`burn-qed run --config …` begins one",
        )
    return from_content(manifest["config"], str(run / MANIFEST)), manifest


def freeze(run: Path, manifest: dict[str, Any]) -> None:
    """Begin a run; what is frozen decides its results."""
    names = [path.name for path in run.iterdir()] if run.is_dir() else []
    if any(not name.startswith(".") for name in names):  # the lock, and what a kill left of a manifest
        raise InputError(
            f"{run} is not empty, and holds no run", hint="give another directory with --out"
        )
    publish(run / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


# -------------------------------------------------------------------------------------- stages


def log_of(run: Path, key: tuple[int, str]) -> Path:
    iteration, name = key
    return run / LOGS / folder(iteration) / f"{name}.log"


def spec_of(stage: Stage) -> Path:
    """Where its specification is, in the run's directory."""
    return Path(SPECS) / folder(stage.iteration) / f"{stage.name}.json"


def outcome_of(stage: Stage) -> Path:
    """Where its process says how it ended, in the run's directory."""
    return Path(OUTCOMES) / folder(stage.iteration) / f"{stage.name}.json"


def record_of(run: Path, iteration: int, name: str) -> Path:
    return run / STAGES / folder(iteration) / f"{name}.json"


def read_done(run: Path) -> dict[tuple[int, str], Status]:
    """What became of the stages that are over."""
    done: dict[tuple[int, str], Status] = {}
    for path in (run / STAGES).glob("*/*.json"):
        if path.name.startswith("."):
            continue
        number = iteration_of(path.parent.name)
        if number is not None:
            done[number, path.stem] = cast(Status, read_record(path)["status"])
    return done


def read_record(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("status") not in ("done", "skipped"):
            raise ValueError("it is not a stage's record")
    except (OSError, ValueError) as error:
        raise InfrastructureError(
            f"cannot read {path}: {error}", hint="remove it, and the stage is looked at again"
        ) from error
    return content


def write_record(run: Path, stage: Stage, status: Status, why: str = "") -> None:
    """Say that a stage is over; from now on it is not begun again."""
    content = {
        "status": status,
        "command": stage.shown(),
        "out": stage.out,
        "why": why,
        "ended": _now(),
    }
    path = record_of(run, stage.iteration, stage.name)
    content = {**content, "ended": _now()}
    publish(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def iteration_of(name: str) -> int | None:
    """Whose folder this is; None where it is not an iteration's."""
    if name == folder(BASELINE):
        return BASELINE
    head, _, number = name.partition("_")
    return int(number) if head == "iter" and number.isdigit() else None


# ------------------------------------------------------------------------------------- journal


def note(run: Path, stage: Stage, event: str, exit_code: int | None = None) -> None:
    code = {} if exit_code is None else {"exit_code": exit_code}
    _write(run, stage.iteration, stage.name, event, **code)


def note_reset(run: Path, first: int) -> None:
    """From now on, what iterations from `first` on took before is no longer counted."""
    _write(run, first, "", _RESET)


def note_asked(run: Path, iterations: int) -> None:
    """How many iterations there are to be after the baseline, until somebody asks for others."""
    if iterations != read_asked(run):
        _write(run, iterations, "", _ASKED)


def read_asked(run: Path) -> int | None:
    """None where nobody said: in a run of an older burn-qed."""
    asked = [int(entry["iteration"]) for entry in _journal(run) if entry["event"] == _ASKED]
    return asked[-1] if asked else None


def is_taught(stage: str) -> bool:
    """Whether a stage is the teacher's, who owes nothing to any model: a reset keeps what it found."""
    return stage.startswith("teacher-")


def _write(run: Path, iteration: int, stage: str, event: str, **more: int) -> None:
    line = {"time": _now(), "iteration": iteration, "stage": stage, "event": event, **more}
    try:
        with (run / JOURNAL).open("a", encoding="utf-8") as journal:
            journal.write("\n" + json.dumps(line) + "\n")  # a line before it may have been cut off
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {run / JOURNAL}: {error.strerror}",
            hint=remedy(error, run / JOURNAL, "move the run elsewhere; the same command goes on"),
        ) from error


def read_spent(run: Path) -> dict[tuple[int, str], Spent]:
    """What each stage took since the last reset. A line that was cut off by a kill says nothing."""
    spent: dict[tuple[int, str], Spent] = {}
    begun: dict[tuple[int, str], float] = {}
    for entry in _journal(run):
        key = (int(entry["iteration"]), str(entry["stage"]))
        before = spent.get(key, Spent(0, 0.0))
        if entry["event"] == _RESET:
            spent = {at: took for at, took in spent.items() if at[0] < key[0] or is_taught(at[1])}
        elif entry["event"] == "begun":
            spent[key] = Spent(before.runs + 1, before.seconds)
            begun[key] = float(entry["time"])
        elif key in begun:
            spent[key] = Spent(before.runs, before.seconds + float(entry["time"]) - begun.pop(key))
    return spent


def at_work(run: Path) -> tuple[tuple[int, str], float] | None:
    """The key of the stage that was begun last, and when, unless it ended.

    Of a run that was killed, too: its lock says whether somebody is at work.
    """
    last = deque((one for one in _journal(run) if one["event"] != _ASKED), maxlen=1)
    if not last or last[0]["event"] != "begun":
        return None
    return (int(last[0]["iteration"]), str(last[0]["stage"])), float(last[0]["time"])


def _journal(run: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = (run / JOURNAL).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        known = isinstance(entry, dict) and isinstance(entry.get("iteration"), int)
        if known and isinstance(entry.get("time"), float) and {"stage", "event"} <= entry.keys():
            yield entry


def _now() -> float:
    return round(time.time(), 3)


# ---------------------------------------------------------------------------------------- lock


@contextmanager
def locked(run: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Nobody else works on the run meanwhile. The lock's descriptor is for stages to inherit: while
    one of a killed run still saves what it has, the lock is held.
    """
    try:
        run.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(run / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(
            f"cannot use {run}: {error.strerror}", hint=remedy(error, run / LOCK)
        ) from error
    try:
        _lock(descriptor, run, say)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, run: Path, say: Callable[[str], None]) -> None:
    end, told = time.monotonic() + _WAIT_SECONDS, False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                raise InputError(
                    f"another burn-qed is at work on {run}",
                    hint="let it end, or stop it; `burn-qed status` says what it does",
                ) from None
            if not told:
                say(f"waiting for another burn-qed that is at work on {run}")
                told = True
            time.sleep(0.2)
