"""Writes theorem after theorem to the directory in its argument, on from what is there, until killed.

Prints how many theorems are saved after each save.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from burnqed.trajectories.store import open_writer
from tests.trajectories.samples import record, rows, steps_of


def main() -> None:
    with open_writer(Path(sys.argv[1])) as writer:
        for number in count(len(writer.earlier)):
            writer.add(record(number, steps_of(number)), rows(number, steps_of(number)))
            if number % 3 == 2:
                writer.save()
                print(number + 1, flush=True)


if __name__ == "__main__":
    main()
