"""One stage: its specification as a file, its process, its output in a log, its outcome."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from burnqed.core.config import as_content
from burnqed.core.errors import InfrastructureError
from burnqed.core.files import publish
from burnqed.core.runs import MANIFEST
from burnqed.iteration.directory import log_of, note, outcome_of, spec_of, write_record
from burnqed.iteration.outcome import Done, Failed, Skipped, read_outcome
from burnqed.iteration.specs import Stage

_LOOK_SECONDS = 0.2
_BEGUN = "$ "  # before the command in a log that does what the stage does
_TAIL = 4000  # characters of a log that are read for its last line

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
    log = log_of(run, stage.key)
    log.parent.mkdir(parents=True, exist_ok=True)
    (run / stage.out).parent.mkdir(parents=True, exist_ok=True)
    specification = msgspec.json.format(msgspec.json.encode(as_content(stage))) + b"\n"
    if _is_done(run, stage, specification):  # the run was killed before its record was written
        write_record(run, stage, "done")
        watcher.ended(stage, "done", "it was there")
        return Ended("done")
    (run / outcome_of(stage)).unlink(missing_ok=True)  # of a time before, and another specification
    publish(run / spec_of(stage), specification)
    note(run, stage, "begun")
    watcher.begun(stage, log)
    code = _process(run, stage, log, lock, watcher, stopped)
    note(run, stage, "ended", code)
    came, outcome = stopped(), read_outcome(run / outcome_of(stage))
    if isinstance(outcome, Done):
        write_record(run, stage, "done")
        watcher.ended(stage, "done", outcome.told)
        return Ended("done") if came is None else Ended("stopped", came)
    if came is not None:
        watcher.ended(stage, "stopped", "")
        return Ended("stopped", came)
    if isinstance(outcome, Skipped):
        write_record(run, stage, "skipped", outcome.why)
        watcher.ended(stage, "skipped", outcome.why)
        return Ended("skipped")
    hint = f"{log} has all that it said; running again goes on from here"
    if isinstance(outcome, Failed):
        watcher.ended(stage, "failed", outcome.why)
        raise outcome.kind(f"{stage.name} failed: {outcome.why}", hint=hint)
    why = _died(code) if outcome is None else "was stopped by a signal of somebody else's"
    watcher.ended(stage, "failed", why)
    raise InfrastructureError(f"{stage.name} {why}", hint=hint)


def _is_done(run: Path, stage: Stage, specification: bytes) -> bool:
    """Whether what the stage makes is there, by its form or by what its process said when it ended."""
    if not (run / stage.out).exists():
        return False
    if stage.spec.whole:
        return True
    try:
        asked = (run / spec_of(stage)).read_bytes()
        return asked == specification and isinstance(read_outcome(run / outcome_of(stage)), Done)
    except (OSError, InfrastructureError):  # nothing can be said of a time before
        return False


def _died(code: int) -> str:
    """How a process ended that wrote no outcome, in words."""
    if code >= 0:
        return f"ended with exit code {code} before it could say how"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    said = ", as the system does where memory runs out" if -code == signal.SIGKILL else ""
    return f"was killed by {name}{said}"


def _process(run: Path, stage: Stage, log: Path, lock: int, watcher: Watcher, stopped: Stopped) -> int:
    again = ("--resume",) if _goes_on(run, stage) else ()
    with log.open("ab") as output:
        output.write(f"{_BEGUN}{typed(run, stage)}\n".encode())
        output.flush()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "burnqed.iteration.child", str(os.getpid()),
             str(spec_of(stage)), str(outcome_of(stage)), *again],
            cwd=run,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C comes here, and is handed on once
            pass_fds=(lock,),
        )  # fmt: skip
    handed_on = False
    try:
        while True:
            # Before the first wait too: a quick stage would end before it is asked to stop.
            if not handed_on and (came := stopped()) is not None:
                process.send_signal(came)
                handed_on = True
            try:
                return process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                watcher.looked(stage, last_line(log))
    finally:
        if process.poll() is None:  # a second Ctrl-C
            process.kill()
            process.wait()


def typed(run: Path, stage: Stage) -> str:
    """The public command that does now what the stage would do, in the run's directory."""
    return stage.shown(_goes_on(run, stage))


def _goes_on(run: Path, stage: Stage) -> bool:
    """An evaluation with and without a value model keeps its two halves in folders of their own."""
    out = run / stage.out
    begun = (out / MANIFEST).is_file() or any(out.glob(f"*/{MANIFEST}"))
    return stage.spec.resumes and begun


def last_line(log: Path) -> str:
    """What the stage said last, for whoever looks on."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    lines = [line for part in text.splitlines() if (line := part.rsplit("\r", 1)[-1].strip())]
    return lines[-1] if lines and not lines[-1].startswith(_BEGUN) else ""
