"""Become a stage that is asked to stop when the run that started it ends, by SIGKILL too.

Run as `python -m burnqed.iteration.child PARENT_PID ARGUMENTS…`. SIGTERM lets the stage save what it
has; its own Lean processes end with it.
"""

from __future__ import annotations

import os
import signal
import sys

from burnqed.lean.guard import die_with_parent


def main(arguments: list[str]) -> None:
    parent, *command = arguments
    die_with_parent(int(parent), signal.SIGTERM)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "burnqed", *command])


if __name__ == "__main__":
    main(sys.argv[1:])
