"""How fast is data made? Tracing, against Lean's own time; preparing a million pairs, and its memory.

    python bench/data.py [--rounds N] [PATH...] [--rows N] [--tokenizer MODEL]

Tracing: a file is elaborated as it is, and traced, in turns, in one warm worker; what counts is the
work of Lean's process and ours, so that a busy machine measures the same. By itself it takes the proofs
of qed-core and those that the tests trace. `--rounds 0` leaves it out.

Preparing: makes so many pairs (states of about 450 bytes, four steps to a theorem, a tenth of them
there twice, one theorem of 500 with a sorry), prepares and inspects them, each in a process of its own,
whose largest memory the kernel tells. The floor is set beside it: the same file read and written line
by line (nothing can be faster), and each line parsed as JSON and written again (what any tool in Python
has to do). Seconds of work are the processor's own. `--rows 0` leaves it out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnqed.cli.main import app
from burnqed.data.lean_files import imports_of
from burnqed.data.lean_sources import imported_text, loaded_modules, read_text, sources
from burnqed.data.trace_replay import NotReplayed, replay
from burnqed.lean import replies, requests
from burnqed.lean.embedded.progress import Terminal
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.statement import split_header
from burnqed.lean.toolchain import embedded
from burnqed.lean.trace import trace_file

ROOT = Path(__file__).parent.parent
# Proofs of some length, and proofs in every style, whose steps are small.
CORPUS = [ROOT / "src" / "burnqed" / "data" / "qed_core", ROOT / "tests" / "data" / "traced"]
SECONDS = 600.0

STEPS = 4  # of a theorem
TACTICS = ("simp", "rfl", "rw [Nat.add_comm]", "induction n with", "exact h0", "omega", "intro x hx")


# ------------------------------------------------------------------------------ tracing


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
    replies.raise_if_refused(await worker.request(requests.Process(text).line, SECONDS))
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


# ---------------------------------------------------------------------------- preparing


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


def quietly(command: list[str]) -> None:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        app(command)


def preparing(count: int, tokenizer: str | None) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        pairs = folder / "pairs.jsonl"
        with pairs.open("w", encoding="utf-8") as file:
            file.writelines(f"{row}\n" for row in rows(count))
        print(f"{count:,} rows, {pairs.stat().st_size / 1e6:,.0f} MB; Python itself {before:.0f} MB")
        more = ["--tokenizer", tokenizer] if tokenizer else []
        prepare = ["data", "prepare", str(pairs), "--out", str(folder / "out"), "--json", *more]
        inspect = ["data", "inspect", str(pairs), "--json"]
        pieces: dict[str, Callable[[], None]] = {
            "lines read and written": lambda: copied(pairs, folder / "copy", lambda line: line),
            "parsed and written": lambda: copied(pairs, folder / "copy", parsed),
            "data prepare": lambda: quietly(prepare),
            "data inspect": lambda: quietly(inspect),
        }
        for name, work in pieces.items():
            clock, seconds, memory = apart(work)
            rates = f"{count / clock:9,.0f} rows/s, {count / seconds:9,.0f} per second of work"
            print(f"{name:24} {clock:6.1f} s, {rates}, at most {memory:,.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, default=CORPUS, help="Lean files, or folders")
    parser.add_argument("--rounds", type=int, default=5, help="of tracing; the cheapest counts")
    parser.add_argument("--rows", type=int, default=1_000_000, help="to prepare")
    parser.add_argument("--tokenizer", help="of the length filter")
    given = parser.parse_args()
    if given.rows:  # first: what is forked should be small
        preparing(given.rows, given.tokenizer)
    if given.rounds:
        asyncio.run(tracing(given.paths, given.rounds))


if __name__ == "__main__":
    main()
