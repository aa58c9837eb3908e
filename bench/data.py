"""How fast is data made? Tracing, against Lean's own time for the same files.

    python bench/data.py [--rounds N] [PATH...]

A file is elaborated as it is, and traced, in turns, in one warm worker; what counts is the work of
Lean's process and ours, so that a busy machine measures the same. By itself it takes the proofs of
qed-core and those that the tests trace.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from burnqed.data.lean_files import imports_of
from burnqed.data.lean_sources import imported_text, loaded_modules, read_text, sources
from burnqed.data.trace_replay import NotReplayed, replay
from burnqed.lean import protocol
from burnqed.lean.embedded.progress import Terminal
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.statement import split_header
from burnqed.lean.toolchain import embedded
from burnqed.lean.trace import trace_file

ROOT = Path(__file__).parent.parent
# Proofs of some length, and proofs in every style, whose steps are small.
CORPUS = [ROOT / "src" / "burnqed" / "data" / "qed_core", ROOT / "tests" / "data" / "traced"]
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the clock, and of the processor: Lean's process and this one."""

    wall: float
    work: float

    def least(self, other: Cost | None) -> Cost:
        return self if other is None or self.work < other.work else other


def worked(pid: int | None) -> float:
    """Seconds of the processor that a process has used so far, and this one."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = time.process_time()
    return own + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def elaborate(worker: Worker, text: str) -> Cost:
    """Lean's own work: every command of the file, and nothing about it."""
    begun, before = time.perf_counter(), worked(worker.pid)
    protocol.raise_if_refused(await worker.request(protocol.frontend_process(text), SECONDS))
    return Cost(time.perf_counter() - begun, worked(worker.pid) - before)


async def trace(worker: Worker, text: str, offset: int) -> tuple[Cost, int, int]:
    """The same file traced: the cost, proofs and steps."""
    begun, before = time.perf_counter(), worked(worker.pid)
    found = await trace_file(worker, text, SECONDS, offset)
    assert all(bad.start < offset for bad in found.bad), found.bad[-1].error
    proofs = steps = 0
    for theorem in found.theorems:
        if theorem.state is None:
            continue
        try:
            steps += len((await replay(worker, text, theorem)).steps)
            proofs += 1
        except NotReplayed:
            pass
    return Cost(time.perf_counter() - begun, worked(worker.pid) - before), proofs, steps


async def tracing(paths: Sequence[Path], rounds: int) -> None:
    with Terminal() as progress:
        modules = [m for m in imports_of(paths) if m.split(".")[0] in ("Init", "Std", "Lean")]
        spec = embedded(progress).launch(list(dict.fromkeys(["Init", *modules])))
    print(f"{'file':40} {'proofs':>6} {'steps':>6} {'Lean s':>8} {'trace s':>8} {'ratio':>6}")
    total_lean = total_trace = 0.0
    all_steps = 0
    async with Pool(spec, 1) as pool:
        loaded = await loaded_modules(pool)
        async with pool.lease() as worker:
            for path, _ in sources(paths):
                source = split_header(read_text(path))
                before = imported_text(path, source.imports, loaded)
                text = before + source.body
                lean: Cost | None = None
                ours: Cost | None = None
                proofs = steps = 0
                for _ in range(rounds):
                    lean = (await elaborate(worker, text)).least(lean)
                    cost, proofs, steps = await trace(worker, text, len(before))
                    ours = cost.least(ours)
                assert lean is not None
                assert ours is not None
                total_lean, total_trace = total_lean + lean.work, total_trace + ours.work
                all_steps += steps
                print(
                    f"{path.name:40} {proofs:6} {steps:6} {lean.work:8.2f} {ours.work:8.2f} "
                    f"{ours.work / lean.work:6.2f}",
                    flush=True,
                )
    print(
        f"tracing over Lean's own elaboration: {total_trace / total_lean:.2f} times (goal: at most 2)"
    )
    print(f"{all_steps / total_trace:.0f} steps/s of one worker")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=CORPUS, help="Lean files, or folders")
    parser.add_argument("--rounds", type=int, default=5, help="of each, the cheapest counts")
    given = parser.parse_args()
    asyncio.run(tracing(given.paths, given.rounds))


if __name__ == "__main__":
    main()
