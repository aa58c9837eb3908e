"""A program in the place of the one that tries what the CPU can do: it works, dies, hangs or fails."""

from __future__ import annotations

import sys
from pathlib import Path

# Each start leaves a line, and then does what is asked of it under the limit that it finds.
_PROGRAM = """
import os, resource, signal, sys, time
limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "")
with open({log!r}, "a") as log:
    print(limit, file=log)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for word in {script!r}.get(limit, {script!r}[""]).split():
    if word == "SIGILL":
        os.kill(os.getpid(), signal.SIGILL)
    if word == "hang":
        time.sleep(600)
    if word == "fail":
        sys.exit("no such library")
    print(word, flush=True)
"""
ALL = "loaded bfloat16 float16"


class Stand:
    """A program in the place of the one that tries, and the limits under which it was started."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "starts"
        self.command = (sys.executable, str(folder / "stand_in.py"))

    def does(self, usually: str, **limited: str) -> tuple[str, ...]:
        self.log.write_text("")
        program = _PROGRAM.format(log=str(self.log), script={"": usually, **limited})
        Path(self.command[1]).write_text(program)
        return self.command

    @property
    def starts(self) -> list[str]:
        return self.log.read_text().splitlines()
