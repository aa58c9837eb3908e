"""One stage: its command as a process, its output in a log, its end looked at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from burnqed.core.errors import InfrastructureError, InputError, NotEnough
from burnqed.core.runs import MANIFEST, SUMMARY
from burnqed.evaluation.results import ABLATION, RESULT
from burnqed.iteration.directory import log_of, note, write_record
from burnqed.iteration.stages import Stage

# What a command writes when it came to its end: those that go on where single theorems fail may then
# say so with an exit code, and are done all the same. The failures are counted, and a gate looks.
FINISHED = (RESULT, ABLATION, SUMMARY)
_ERRORS = (2, 3)
_LOOK_SECONDS = 0.2
_ERROR = "error: "  # before what a command complains of
_BEGUN = "$ "  # before a command's line in its log
_TAIL = 4000  # characters of a log that are read for its last lines

Stopped = Callable[[], signal.Signals | None]


class Watcher(Protocol):
    """Whoever looks on while a stage runs."""

    def begun(self, stage: Stage, log: Path) -> None: ...

    def looked(self, stage: Stage, last_line: str) -> None: ...

    def ended(self, stage: Stage, how: str, why: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Ended:
    how: Literal["done", "skipped", "stopped"]
    signal: signal.Signals | None = None


def run_stage(run: Path, stage: Stage, lock: int, watcher: Watcher, stopped: Stopped) -> Ended:
    """Begin a stage, or go on with it; its record is written when it is over."""
    log = log_of(run, stage)
    log.parent.mkdir(parents=True, exist_ok=True)
    (run / stage.out).parent.mkdir(parents=True, exist_ok=True)
    if stage.whole and (run / stage.out).exists():  # killed before its record was written
        write_record(run, stage, "done")
        watcher.ended(stage, "done", "it was there")
        return Ended("done")
    before = _finished(run / stage.out)
    note(run, stage, "begun")
    watcher.begun(stage, log)
    code = _process(run, stage, log, lock, watcher, stopped)
    note(run, stage, "ended", code)
    came, said = stopped(), last_error(log)
    finished = stage.resumes and _finished(run / stage.out) != before
    if code == 0 or (code in _ERRORS and finished):
        write_record(run, stage, "done")
        watcher.ended(stage, "done", "" if code == 0 else "with errors, which are counted")
        return Ended("done") if came is None else Ended("stopped", came)
    if came is not None:
        watcher.ended(stage, "stopped", "")
        return Ended("stopped", came)
    why = said.removeprefix(_ERROR) or "it said nothing"
    # Python ends with the same code where nothing was caught, but then it says something else.
    if code == NotEnough.exit_code and stage.optional and said.startswith(_ERROR):
        write_record(run, stage, "skipped", why)
        watcher.ended(stage, "skipped", why)
        return Ended("skipped")
    watcher.ended(stage, "failed", why)
    kind = InputError if code == InputError.exit_code else InfrastructureError
    raise kind(
        f"{stage.name} failed with exit code {code}: {why}",
        hint=f"{log} has all that it said; running again goes on from here",
    )


def _finished(out: Path) -> list[int]:
    """When what a finished command writes was written: another time than before, it ended this time."""
    files = (out / name for name in FINISHED)
    return [file.stat().st_mtime_ns for file in files if file.is_file()]


def _process(run: Path, stage: Stage, log: Path, lock: int, watcher: Watcher, stopped: Stopped) -> int:
    again = _again(run, stage)
    arguments = (*stage.command, *again)
    with log.open("ab") as output:
        output.write(f"{_BEGUN}{typed(run, stage)}\n".encode())
        output.flush()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "burnqed.iteration.child", str(os.getpid()), *arguments],
            cwd=run,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C comes here, and is handed on once
            pass_fds=(lock,),
        )
    handed_on = False
    try:
        while True:
            try:
                return process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                watcher.looked(stage, last_line(log))
            if not handed_on and (came := stopped()) is not None:
                process.send_signal(came)
                handed_on = True
    finally:
        if process.poll() is None:  # a second Ctrl-C
            process.kill()
            process.wait()


def typed(run: Path, stage: Stage) -> str:
    """The command as a user would type it in the run's directory now."""
    return " ".join((stage.shown, *_again(run, stage)))


def _again(run: Path, stage: Stage) -> tuple[str, ...]:
    return ("--resume",) if stage.resumes and _is_begun(run / stage.out) else ()


def _is_begun(out: Path) -> bool:
    """An evaluation with and without a value model keeps its two halves in folders of their own."""
    return (out / MANIFEST).is_file() or any(out.glob(f"*/{MANIFEST}"))


def _tail(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    lines = [line for part in text.splitlines() if (line := part.rsplit("\r", 1)[-1].strip())]
    begun = [place for place, line in enumerate(lines) if line.startswith(_BEGUN)]
    return lines[begun[-1] + 1 :] if begun else lines  # of this time, and not of one before


def last_line(log: Path) -> str:
    lines = _tail(log)
    return lines[-1] if lines else ""


def last_error(log: Path) -> str:
    """The last complaint in a log, with its fix; else what its last lines say."""
    lines = _tail(log)
    for place in range(len(lines) - 1, -1, -1):
        if lines[place].startswith(_ERROR):
            fix = [line for line in lines[place + 1 : place + 2] if line.startswith("fix:")]
            return "; ".join([lines[place], *fix])
    words = [line.strip("│╭╮╰╯─ ") for line in lines]
    return next((line for line in reversed(words) if line), "")
