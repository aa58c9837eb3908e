"""What was stopped ends with the command that goes on with it, to be pasted into a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

_PROGRAM = "burn-qed"


def stopped(number: signal.Signals) -> typer.Exit:
    """The end of a command that a signal stopped and that --resume goes on with."""
    typer.echo(f"stopped; go on with: {to_resume(sys.argv[1:])}", err=True)
    return typer.Exit(128 + number)


def to_resume(arguments: Sequence[str]) -> str:
    """The same command line with --resume."""
    given = list(arguments)
    if "--resume" not in given:
        given.insert(given.index("--") if "--" in given else len(given), "--resume")
    return shlex.join([*_program(), *given])


def _program() -> list[str]:
    """How a shell starts this burn-qed: by its name only where that finds this one."""
    script = Path(sys.executable).with_name(_PROGRAM)
    processes = os.environ.get("WORLD_SIZE", "1")
    if processes != "1":
        return ["accelerate", "launch", "--num_processes", processes, str(script)]
    found = shutil.which(_PROGRAM)
    if found is not None and Path(found).absolute() == script:
        return [_PROGRAM]
    return [str(script)] if script.is_file() else [sys.executable, "-m", "burnqed"]
