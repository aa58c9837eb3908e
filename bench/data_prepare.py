"""How fast is `data prepare`, and how much memory does it take?

    python bench/data_prepare.py [--rows 1000000] [--tokenizer MODEL] [--inspect]

Makes so many pairs (states of about 450 bytes, four steps to a theorem, a tenth of them there twice,
one theorem of 500 with a sorry), and prepares them in a process of its own, whose largest memory the
kernel tells. The floor is set beside it: the same file read and written line by line (nothing can be
faster), and each line parsed as JSON and written again (what any tool in Python has to do). --inspect
does the same for `data inspect`. Seconds of work are the processor's own; those on the clock depend on
what else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from burnqed.cli.main import app

STEPS = 4  # of a theorem
TACTICS = ("simp", "rfl", "rw [Nat.add_comm]", "induction n with", "exact h0", "omega", "intro x hx")


def rows(count: int) -> Iterator[str]:
    """The same ones every time."""
    for number in range(count):
        theorem, depth = divmod(number, STEPS)
        twice = theorem % 10 == 9  # says what the theorem before it said
        seed = theorem - 1 if twice else theorem
        hypotheses = "\n".join(f"h{i} : f {seed} + {i * depth} ≤ g (x{i} * {seed})" for i in range(12))
        cheats = theorem % 500 == 0 and depth == 2
        tactic = "sorry" if cheats else TACTICS[(seed * 31 + depth) % len(TACTICS)]
        yield json.dumps(
            {
                "state": f"x n : Nat\n{hypotheses}\n⊢ f {seed} ≤ g {depth}",
                "tactic": tactic,
                "theorem": f"Bench.Area{theorem % 97}.theorem_{theorem}",
                "depth": depth,
            },
            ensure_ascii=False,
        )


def apart(work: Callable[[], None]) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of work, and MB of a piece of work in a child process."""
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            work()
        except SystemExit as error:
            os._exit(int(error.code or 0))
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    if status:
        sys.exit(f"the work failed: {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def copied(source: Path, target: Path, change: Callable[[bytes], bytes]) -> None:
    with source.open("rb") as read, target.open("wb") as written:
        for line in read:
            written.write(change(line))


def parsed(line: bytes) -> bytes:
    return json.dumps(json.loads(line), ensure_ascii=False).encode() + b"\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tokenizer")
    parser.add_argument("--inspect", action="store_true")
    asked = parser.parse_args()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        pairs = folder / "pairs.jsonl"
        with pairs.open("w", encoding="utf-8") as file:
            file.writelines(f"{row}\n" for row in rows(asked.rows))
        print(
            f"{asked.rows:,} rows, {pairs.stat().st_size / 1e6:,.0f} MB; Python itself {before:.0f} MB"
        )
        more = ["--tokenizer", asked.tokenizer] if asked.tokenizer else []
        command = ["data", "prepare", str(pairs), "--out", str(folder / "out"), "--json", *more]
        pieces: dict[str, Callable[[], None]] = {
            "lines read and written": lambda: copied(pairs, folder / "copy", lambda line: line),
            "parsed and written": lambda: copied(pairs, folder / "copy", parsed),
            "data prepare": lambda: quietly(command),
        }
        if asked.inspect:
            pieces["data inspect"] = lambda: quietly(["data", "inspect", str(pairs), "--json"])
        for name, work in pieces.items():
            clock, seconds, memory = apart(work)
            rates = (
                f"{asked.rows / clock:9,.0f} rows/s, {asked.rows / seconds:9,.0f} per second of work"
            )
            print(f"{name:24} {clock:6.1f} s, {rates}, at most {memory:,.0f} MB")


def quietly(command: list[str]) -> None:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        app(command)


if __name__ == "__main__":
    main()
