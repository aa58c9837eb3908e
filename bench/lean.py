"""How fast is Lean from Python, and how far above Lean's own time are we?

    python bench/lean.py [--rounds N] [--setup] [--save FILE] [--before FILE]

Everything is measured in one run and given as ratios where machines differ: the size of the snapshot,
start to ready (files in the page cache, and not) in time, work of the processor and page faults,
resident memory of a worker, the time of a tactic seen from Python over the time Lean itself reports for
it, tactics per second for one worker and two, taken in turns, and a verdict of the judge, in time and
in work of the processor. `--setup` also times a whole set-up into an empty cache (it downloads).

Two versions are compared by a run of each: `--save` keeps the figures of one, and `--before` prints
them beside those of the other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from burnqed.core.types import Advanced, Closed, Proposition, Theorem
from burnqed.lean import protocol, requests
from burnqed.lean.embedded.progress import Terminal
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec, LeanProcess
from burnqed.lean.session import open_session
from burnqed.lean.toolchain import embedded

MIX = (
    ("∀ (a b : Nat), a ≤ b → a < b + 1", "intro a b h"),
    ("∀ (a b : Nat), a ≤ b → a < b + 1", "omega"),
    ("∀ (a b c : Nat), a * (b + c) = a * c + a * b", "grind"),
    ("∀ (xs ys : List Nat), (xs ++ ys).length = ys.length + xs.length", "simp [Nat.add_comm]"),
    ("∀ (xs ys : List Nat), (xs ++ ys).reverse = ys.reverse ++ xs.reverse", "simp"),
    ("∀ (p q : Prop), p ∧ q → q ∧ p", "exact fun p q h => ⟨h.2, h.1⟩"),
    ("∀ (p q : Prop), p ∨ q → q ∨ p", "(intro p q h; cases h)"),
    ("∀ (n : Nat), n + 0 = n", "(intro n; induction n)"),
    ("∀ (n : Nat), 0 + n = n", "(intro n; rw [Nat.zero_add])"),
    ("∀ (n : Nat), n % 2 = 0 ∨ n % 2 = 1", "omega"),
    ("∀ (p q : Prop), p ∧ q → q ∧ p", "exact nonsense"),
    ("2 ^ 10 = 1024", "decide"),
)


# Those of the mix that are whole proofs.
PROVED = tuple(MIX[i] for i in (1, 2, 3, 4, 5, 8, 9, 11))
TRIES = 8
WARM_ROUNDS = 8
STARTS = 9


class Figures:
    """Printed as they come, beside those of an earlier run where there is one."""

    def __init__(self, before: dict[str, float]) -> None:
        self._before = before
        self.values: dict[str, float] = {}

    def add(self, what: str, value: float, unit: str = "", digits: int = 2) -> None:
        self.values[what] = value
        line = f"{what:45} {value:10.{digits}f} {unit:3}"
        if what in self._before:
            line += f"   before {self._before[what]:10.{digits}f} {unit}"
        print(line.rstrip(), flush=True)


@dataclass(frozen=True, slots=True)
class Start:
    """Of one process, until it was ready and then closed."""

    seconds: float
    user: float
    system: float
    faults: int
    resident: float

    @property
    def processor(self) -> float:
        return self.user + self.system


def forget_pages(*folders: Path) -> None:
    """Ask the kernel to drop these files from its cache; needs no privilege."""
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def resident(pid: int) -> float:
    """Megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def snapshot_size(spec: LaunchSpec) -> float:
    """Megabytes."""
    return Path(spec.command[-1]).stat().st_size / 1e6


async def start(spec: LaunchSpec) -> Start:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    process = await LeanProcess.start(spec)
    seconds = time.perf_counter() - begun
    memory = resident(process.pid)
    await process.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Start(
        seconds, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime,
        after.ru_minflt - before.ru_minflt, memory,
    )  # fmt: skip


async def overhead(spec: LaunchSpec, rounds: int) -> tuple[list[float], list[float], float]:
    """Seconds per tactic seen from here, and as Lean counts them, request by request."""
    process = await LeanProcess.start(spec)
    states = {}
    for text, _ in MIX:
        reply = await process.request(protocol.start(Proposition(text)))
        states[text] = int(reply["stateId"])
    seen, lean = [], []
    for turn in range(rounds + 2):
        for text, tactic in MIX:
            line = requests.GoalTactic(states[text], 0, tactic, auto_resume=True).line
            begun = time.perf_counter()
            reply = await process.request(line)
            taken = time.perf_counter() - begun
            if turn >= 2:  # the first two turns compile what they run
                seen.append(taken)
                lean.append(reply["us"] / 1e6)
            if "nextStateId" in reply:
                await process.request(requests.DeleteStates([reply["nextStateId"]]).line)
    memory = resident(process.pid)
    await process.close()
    return seen, lean, memory


async def search_like(pool: Pool, rounds: int) -> int:
    """What a search does: a session per theorem, some tactics on its first state, all freed."""
    done = 0
    for _ in range(rounds):
        for text, tactic in MIX:
            async with open_session(pool) as session:
                state = await session.start(Theorem("bench", Proposition(text)))
                for _ in range(TRIES):
                    outcome = await session.apply(state, tactic)
                    if isinstance(outcome, Advanced | Closed):
                        await session.free([outcome.state])
                    else:
                        assert tactic == "exact nonsense", outcome
                    done += 1
    return done


async def rate(pool: Pool, sessions: int, rounds: int) -> float:
    begun = time.perf_counter()
    counts = await asyncio.gather(*(search_like(pool, rounds) for _ in range(sessions)))
    return sum(counts) / (time.perf_counter() - begun)


async def throughput(spec: LaunchSpec, rounds: int) -> tuple[float, list[float], list[float]]:
    """Tactics per second: a fresh worker's first ones, then one worker and two, in turns.

    Workers are not replaced meanwhile, and have compiled what they run before the turns begin.
    """
    never = 2**40
    async with (
        Pool(spec, 1, recycle_bytes=never) as one,
        Pool(spec, 2, recycle_bytes=never) as two,
    ):
        fresh = await rate(one, 1, 1)
        await rate(one, 1, WARM_ROUNDS)
        await rate(two, 2, WARM_ROUNDS)
        single, double = [], []
        for _ in range(3):
            single.append(await rate(one, 1, rounds))
            double.append(await rate(two, 2, rounds))
    return fresh, single, double


def processor() -> float:
    """Seconds of the processor that this process and those that it has ended took."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


async def verdicts(spec: LaunchSpec, count: int) -> tuple[float, float]:
    """A verdict by two workers, one after the other: seconds (median), and of the processor (mean)."""
    seconds = []
    before = processor()
    async with Pool(spec, 2) as pool:
        for i in range(count):
            text, tactic = PROVED[i % len(PROVED)]
            begun = time.perf_counter()
            verdict = await judge_proof(pool, Proposition(text), [tactic])
            seconds.append(time.perf_counter() - begun)
            assert verdict.accepted, verdict
    return statistics.median(seconds), (processor() - before) / count


def setup_time() -> float:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        subprocess.run(
            [str(Path(sys.executable).with_name("burn-qed")), "lean", "install"],
            env=os.environ | {"BURN_QED_CACHE": folder}, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return time.perf_counter() - begun


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5, help="turns of the mix per measurement")
    parser.add_argument("--setup", action="store_true")
    parser.add_argument("--save", type=Path, help="write the figures to this file")
    parser.add_argument("--before", type=Path, help="figures of an earlier run, to print beside")
    options = parser.parse_args()
    figures = Figures(json.loads(options.before.read_text()) if options.before else {})
    with Terminal() as progress:
        toolchain = embedded(progress)
        spec = toolchain.launch(("Init",))
    if options.setup:
        figures.add("set-up into an empty cache", setup_time(), "s", 1)
    await starts(figures, spec, toolchain.where)
    await tactics(figures, spec, options.rounds)
    median, mean = await verdicts(spec, 20)
    figures.add("a verdict (median of 20)", median, "s")
    figures.add("the same, of the processor (mean)", mean, "s")
    if options.save:
        options.save.write_text(json.dumps(figures.values))


async def starts(figures: Figures, spec: LaunchSpec, where: Path) -> None:
    figures.add("the snapshot of Init", snapshot_size(spec), "MB", 0)
    forget_pages(where, Path(spec.command[0]).parent)
    figures.add("start to ready, cold page cache", (await start(spec)).seconds, "s")
    warm = [await start(spec) for _ in range(STARTS)]
    median = statistics.median
    figures.add(f"start to ready, warm (median of {STARTS})", median(s.seconds for s in warm), "s")
    figures.add("the same, of the processor", median(s.processor for s in warm), "s")
    figures.add("of that, in the kernel", median(s.system for s in warm), "s")
    figures.add("page faults", median(s.faults for s in warm), "", 0)
    figures.add("resident when ready", median(s.resident for s in warm), "MB", 0)


async def tactics(figures: Figures, spec: LaunchSpec, rounds: int) -> None:
    seen, lean, memory = await overhead(spec, rounds)
    figures.add(f"resident after {len(seen)} tactics", memory, "MB", 0)
    figures.add("a tactic, seen from Python (mean)", statistics.mean(seen) * 1e3, "ms")
    figures.add("a tactic, as Lean counts it (mean)", statistics.mean(lean) * 1e3, "ms")
    extra = statistics.median(s - t for s, t in zip(seen, lean, strict=True))
    figures.add("difference (median)", extra * 1e3, "ms")
    within = sum(s <= 1.05 * t + 1e-3 for s, t in zip(seen, lean, strict=True)) / len(seen)
    figures.add("within 1.05 × Lean + 1 ms", within * 100, "%", 0)
    fresh, single, double = await throughput(spec, rounds)
    figures.add("tactics/s, a fresh worker's first", fresh, "", 1)
    figures.add("tactics/s in sessions, 1 worker", statistics.median(single), "", 1)
    figures.add("tactics/s in sessions, 2 workers", statistics.median(double), "", 1)
    ratios = [b / a for a, b in zip(single, double, strict=True)]
    figures.add("2 workers over 1 (median of 3)", statistics.median(ratios), "×")


if __name__ == "__main__":
    asyncio.run(main())
