"""The process of a stage: carries out the specification in a file, and writes down what came of it.

Run as `python -m burnqed.iteration.child PARENT_PID STAGE OUTCOME [--resume]` in the run's directory.
It is asked to stop when the run that started it ends, by SIGKILL too. SIGTERM lets the stage save what
it has; its own Lean processes end with it.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from pathlib import Path

from burnqed.lean.guard import die_with_parent


def main(arguments: list[str]) -> int:
    parent, stage, outcome, *again = arguments
    die_with_parent(int(parent), signal.SIGTERM)
    # Until a stage listens itself, a signal ends it wherever it is, in the way that Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    faulthandler.enable()
    from burnqed.core import screen
    from burnqed.iteration.execute import perform
    from burnqed.iteration.outcome import write_outcome

    with screen.shown():
        ended, code = perform(Path(stage), resume=bool(again))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    write_outcome(Path(outcome), ended)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
