"""The command line in the test's own process, for tests that are not about processes.

A command that needs torch takes seconds to start, and one that only says what is wrong takes longer to
start than to say so. Each file still starts some commands for real.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from burnqed.cli.main import main


@dataclass(frozen=True, slots=True)
class Done:
    """What a process would have left."""

    returncode: int
    stdout: str
    stderr: str


def _stream(text: str = "") -> io.TextIOWrapper:
    """As a pipe is: text with bytes below it, and no terminal."""
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline="")


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


def burn_qed(*arguments: str | Path, code: int = 0, stdin: str = "", cwd: Path | None = None) -> Done:
    """Run a command by its entry point; what it raises, but for its exit, fails the test."""
    out, err = _stream(), _stream()
    argv = ["burn-qed", *map(str, arguments)]
    returned: object = 0
    with (
        patch.object(sys, "argv", argv),
        patch.object(sys, "stdin", _stream(stdin)),
        redirect_stdout(out),
        redirect_stderr(err),
        chdir(cwd or os.curdir),
    ):
        try:
            main()
        except SystemExit as exit_:
            returned = exit_.code or 0
    done = Done(returned if isinstance(returned, int) else 1, _read(out), _read(err))
    assert done.returncode == code, done
    return done
