"""How fast is Lean from Python, and how far above Lean's own time are we?

    python bench/lean.py [--rounds N] [--native] [--setup] [--save FILE] [--before FILE]

Everything is measured in one run and given as ratios where machines differ: the size of what is kept
of the REPL, start to ready (files in the page cache, and not) in time, work of the processor and page
faults, memory of a worker (resident, and its own: files that workers share do not count), the time of a
tactic seen from Python over the time Lean itself reports for it, tactics per second for one worker and
two, taken in turns, and a verdict of the judge, in time and in work of the processor. `--setup` also
times a whole set-up into an empty cache (it downloads).

`--native` measures a native Lean, too, and prints it beside the embedded one. Each tactic of the mix is
then tried on the one and the other in turns: what WebAssembly costs.

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
from burnqed.lean.process import LaunchSpec, LeanProcess, resident_bytes
from burnqed.lean.session import open_session
from burnqed.lean.toolchain import Toolchain, embedded, native

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
    """Printed as they come, beside others where there are some: what those are of is `beside`."""

    def __init__(self, before: dict[str, float], beside: str = "before") -> None:
        self._before = before
        self._beside = beside
        self.values: dict[str, float] = {}

    def add(self, what: str, value: float, unit: str = "", digits: int = 2) -> None:
        self.values[what] = value
        line = f"{what:45} {value:10.{digits}f} {unit:3}"
        if what in self._before:
            line += f"   {self._beside} {self._before[what]:10.{digits}f} {unit}"
        print(line.rstrip(), flush=True)


@dataclass(frozen=True, slots=True)
class Start:
    """Of one process, until it was ready and then closed."""

    seconds: float
    user: float
    system: float
    faults: int
    resident: float
    own: float

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


def kept_size(toolchain: Toolchain, spec: LaunchSpec) -> float:
    """Megabytes of the snapshot, or of the compiled REPL."""
    kept = Path(spec.command[-1]) if toolchain.kind == "embedded" else Path(spec.command[0]).parent
    files = kept.iterdir() if kept.is_dir() else [kept]
    return sum(path.stat().st_size for path in files) / 1e6


async def start(spec: LaunchSpec) -> Start:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    process = await LeanProcess.start(spec)
    seconds = time.perf_counter() - begun
    memory, own = resident(process.pid), resident_bytes(process.pid) / 1e6
    await process.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Start(
        seconds, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime,
        after.ru_minflt - before.ru_minflt, memory, own,
    )  # fmt: skip


async def first_states(process: LeanProcess) -> dict[str, int]:
    """A state of each statement of the mix."""
    replies = {text: await process.request(protocol.start(Proposition(text))) for text, _ in MIX}
    return {text: int(reply["stateId"]) for text, reply in replies.items()}


async def overhead(spec: LaunchSpec, rounds: int) -> tuple[list[float], list[float], float]:
    """Seconds per tactic seen from here, and as Lean counts them, request by request."""
    process = await LeanProcess.start(spec)
    states = await first_states(process)
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
    parser.add_argument("--native", action="store_true", help="the native Lean, too, beside it")
    parser.add_argument("--setup", action="store_true", help="also set up an empty cache")
    parser.add_argument("--save", type=Path, help="write the figures to this file")
    parser.add_argument("--before", type=Path, help="figures of an earlier run, to print beside")
    options = parser.parse_args()
    figures = Figures(json.loads(options.before.read_text()) if options.before else {})
    with Terminal() as progress:
        leans = [embedded(progress), *([native(progress)] if options.native else [])]
        specs = [lean.launch(("Init",)) for lean in leans]
    if options.setup:
        figures.add("set-up into an empty cache", setup_time(), "s", 1)
    for lean, spec in zip(leans, specs, strict=True):
        print(f"\n{lean.described}")
        shown = figures if lean.kind == "embedded" else Figures(figures.values, "embedded")
        await starts(shown, lean, spec)
        await tactics(shown, spec, options.rounds)
        median, mean = await verdicts(spec, 20)
        shown.add("a verdict (median of 20)", median, "s")
        shown.add("the same, of the processor (mean)", mean, "s")
    if options.native:
        await side_by_side(leans, specs, options.rounds)
    if options.save:
        options.save.write_text(json.dumps(figures.values))


async def starts(figures: Figures, lean: Toolchain, spec: LaunchSpec) -> None:
    figures.add("what is kept of the REPL with Init", kept_size(lean, spec), "MB", 0)
    folders = [lean.where if lean.kind == "embedded" else lean.where.parent.parent / "lib"]
    forget_pages(*folders, Path(spec.command[0]).parent)
    figures.add("start to ready, cold page cache", (await start(spec)).seconds, "s")
    warm = [await start(spec) for _ in range(STARTS)]
    median = statistics.median
    figures.add(f"start to ready, warm (median of {STARTS})", median(s.seconds for s in warm), "s")
    figures.add("the same, of the processor", median(s.processor for s in warm), "s")
    figures.add("of that, in the kernel", median(s.system for s in warm), "s")
    figures.add("page faults", median(s.faults for s in warm), "", 0)
    figures.add("resident when ready", median(s.resident for s in warm), "MB", 0)
    figures.add("of that, its own", median(s.own for s in warm), "MB", 0)


async def side_by_side(leans: list[Toolchain], specs: list[LaunchSpec], rounds: int) -> None:
    """Each tactic of the mix on one Lean and the other in turns, after two turns that warm up."""
    processes = [await LeanProcess.start(spec) for spec in specs]
    states = [
        {
            text: int((await one.request(protocol.start(Proposition(text))))["stateId"])
            for text, _ in MIX
        }
        for one in processes
    ]
    took: dict[tuple[str, str], list[list[float]]] = {}
    before = []
    for turn in range(rounds + 2):
        if turn == 2:
            before = [processor_of(one.pid) for one in processes]
        for text, tactic in MIX:
            times = []
            for one, own in zip(processes, states, strict=True):
                line = requests.GoalTactic(own[text], 0, tactic, auto_resume=True).line
                reply = await one.request(line)
                times.append(reply["us"] / 1e3)
                if "nextStateId" in reply:
                    await one.request(requests.DeleteStates([reply["nextStateId"]]).line)
            if turn >= 2:
                took.setdefault((text, tactic), []).append(times)
    spent = [processor_of(one.pid) - then for one, then in zip(processes, before, strict=True)]
    for one in processes:
        await one.close()
    kinds = [lean.kind for lean in leans]
    print(f"\n{'ms of a tactic, as Lean counts it (median)':56} {kinds[0]:>9} {kinds[1]:>9}  ratio")
    for (_, tactic), rows in took.items():
        one, other = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{tactic:56} {one:9.2f} {other:9.2f} {one / other:6.1f}")
    each = [seconds / (rounds * len(MIX)) * 1e3 for seconds in spent]
    print(f"{'of the processor (mean)':56} {each[0]:9.2f} {each[1]:9.2f} {each[0] / each[1]:6.1f}")


def processor_of(pid: int) -> float:
    """Seconds of the processor that a running process took."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
