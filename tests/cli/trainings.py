"""Trainings as processes: where one is, and a signal when it has got somewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE = 120.0
# More threads than cores is what makes small models slow.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}


def saved(out: Path) -> int:
    """The step of the last checkpoint; 0 when there is none, or it is just being replaced."""
    try:
        return int(json.loads((out / "checkpoint" / "state.json").read_text())["step"])
    except FileNotFoundError:
        return 0


def interrupted(
    command: Sequence[str],
    out: Path,
    number: signal.Signals,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> int:
    """Send a signal once the training has left a checkpoint of its own; its exit code."""
    before = saved(out)
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:  # fmt: skip
        end = time.monotonic() + PATIENCE
        while saved(out) <= before:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.005)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
        assert ("Ctrl-C again stops now" in said) == (number is not signal.SIGKILL)
        return process.returncode
