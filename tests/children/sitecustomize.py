"""What tests of the lane `check` must not do; Python reads this file in every process that they start.

The first wrong thing that such a process does is written to a file, and ends it. The test that
started it then fails, whatever it expected of the process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

REPORT = "BURN_QED_TEST_REPORT"  # the environment variable that names the file
_HERE = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "", None)


def forbidden(event: str, arguments: Sequence[Any]) -> str:
    """The mark that a test needs to do what Python is about to do; nothing if every test may."""
    if event == "import":
        # Of a module that `importlib` is asked for, Python tells only what that imports in turn.
        return "torch" if arguments[0].split(".")[0] == "torch" else ""
    if event == "subprocess.Popen":
        names = [os.fsdecode(word).rpartition("/")[2] for word in _words(arguments[1])]
        return "lean" if "launch.js" in names else "network" if "npm-cli.js" in names else ""
    if event == "socket.connect":
        address = arguments[1]
        return "" if not isinstance(address, tuple) or address[0] in _HERE else "network"
    if event == "socket.getaddrinfo":
        return "" if arguments[0] in _HERE else "network"
    return ""


def _words(arguments: object) -> list[str | bytes]:
    return list(arguments) if isinstance(arguments, (list, tuple)) else []


def _end(event: str, arguments: tuple[Any, ...]) -> None:
    mark = forbidden(event, arguments)
    if mark:
        with open(os.environ[REPORT], "a", encoding="utf-8") as report:  # noqa: PTH123
            print(mark, file=report)
        os._exit(70)


if __name__ == "sitecustomize" and REPORT in os.environ:
    sys.addaudithook(_end)
