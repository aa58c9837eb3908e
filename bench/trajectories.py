"""What does it cost to keep every step of a search, and does the cost of a save stay the same?

    python bench/trajectories.py [--rows N] [--folder DIR]

Writes theorems of 200 steps each (states of 100 to 2,000 characters, eight candidates a state), saves
after every 50 theorems, and reads all of it again. A save is what `TrajectoryWriter.save` takes, with
the disk's own time for `fsync`, so give `--folder` on the disk in question. Turning rows into columns
as theorems end is `add`; the rate of writing counts both, and not the making of the rows.

On a machine that others use too, the wall clock of the first tenth and of the last differ by what the
others do. So there is the processor's time as well, and a control: the same theorems saved to an empty
directory, right before or after, in turns; compared by halves, as single pairs still differ by much.
Only if growing over empty rises does a save cost what is there.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from burnqed.search.tree import Result
from burnqed.trajectories.schema import StepRow, TheoremRecord
from burnqed.trajectories.store import TrajectoryWriter, iter_steps, open_writer, read_records
from burnqed.trajectories.summary import STEP_COLUMNS, count_steps

STEPS = 200
CANDIDATES = 8
THEOREMS_PER_SAVE = 50
WORDS = [
    *"abcnmxy:=≤<+*∣∧∨→↔∀∃()[]⊢",
    *("xs", "ys", "h₁", "h₂", "x✝", "Nat", "Int", "List", "Option.bind", "Nat.succ", "Nat.lt_irrefl"),
    *("List.length", "List.map", "List.append", "Set.mem_union", "Finset.sum_range", "HAdd.hAdd"),
    *("hypothesis", "inductive_step", "DecidableEq", "Membership.mem", "instHMul", "fun", "match"),
]
OUTCOMES: tuple[Result, ...] = ("advanced", "rejected", "rejected", "rejected", "timeout")


Theorem = tuple[TheoremRecord, list[StepRow]]


def text(chance: random.Random, length: int) -> str:
    words: list[str] = []
    size = 0
    while size < length:
        words.append(chance.choice(WORDS) if chance.random() < 0.9 else f"n{chance.randrange(10**6)}")
        size += len(words[-1]) + 1
    return " ".join(words)


def theorem(number: int) -> Theorem:
    chance = random.Random(number)
    states = [text(chance, chance.randint(100, 2000)) for _ in range(STEPS // CANDIDATES)]
    rows = [step(chance, number, index, states) for index in range(STEPS)]
    record = TheoremRecord(
        theorem=f"Bench.theorem_{number}", outcome="exhausted", reason="nodes", detail="",
        nodes=len(states), steps=STEPS, expansions=len(states), candidates_min=CANDIDATES,
        candidates_max=CANDIDATES, candidates_total=STEPS, seconds=60.0, lean_seconds=50.0,
        judge_seconds=0.0, proof="", proof_steps=0, axioms=None, axioms_seen=(),
        leak_rule=None, seed=number, statement_sha=f"{number:064x}",
    )  # fmt: skip
    return record, rows


def step(chance: random.Random, number: int, index: int, states: list[str]) -> StepRow:
    node = index // CANDIDATES
    outcome = chance.choice(OUTCOMES)
    children = (node + 1,) if outcome == "advanced" else ()
    return StepRow(
        run="bench", theorem=f"Bench.theorem_{number}", node=node, parent=node // 2 if node else None,
        children=children, depth=node // 3, state=states[node],
        root_goal=states[0], tactic=text(chance, chance.randint(4, 60)), logprob=-chance.random(),
        energy=chance.gauss(0, 1), score=chance.random(), outcome=outcome,
        error=text(chance, chance.randint(20, 500)) if outcome == "rejected" else "", label="unknown",
        on_proof_path=False, remaining_steps=None, origin="search", temperature=1.0, iteration=0,
        seconds=index / 3, child_energies=tuple(chance.gauss(0, 1) for _ in children),
        child_scores=tuple(chance.random() for _ in children),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Save:
    """Seconds: of the wall clock, of the processor, and of the same save to an empty directory."""

    wall: float
    processor: float
    control: float


def timed(writer: TrajectoryWriter) -> tuple[float, float]:
    processor, wall = time.process_time(), time.perf_counter()
    writer.save()
    return time.perf_counter() - wall, time.process_time() - processor


def save_both(growing: TrajectoryWriter, empty: TrajectoryWriter, empty_first: bool) -> Save:
    control = timed(empty) if empty_first else None
    wall, processor = timed(growing)
    control = control or timed(empty)
    for path in empty.directory.glob("part-*"):
        path.unlink()
    return Save(wall, processor, control[0])


def write(
    growing: TrajectoryWriter, empty: TrajectoryWriter, theorems: int
) -> tuple[list[Save], float]:
    """Each save, and the seconds of all calls of `add`."""
    saves: list[Save] = []
    adding = 0.0
    for number in range(theorems):
        record, rows = theorem(number)
        begun = time.perf_counter()
        growing.add(record, rows)
        adding += time.perf_counter() - begun
        empty.add(record, rows)
        if growing.pending == THEOREMS_PER_SAVE:
            saves.append(save_both(growing, empty, empty_first=len(saves) % 2 == 0))
    return saves, adding


def compare(name: str, measure: Callable[[Save], float], saves: list[Save], part: int) -> None:
    """The first and the last `1 / part` of the saves."""
    count = max(len(saves) // part, 1)
    values = [measure(save) for save in saves]
    for kind, middle in (("mean", statistics.fmean), ("median", statistics.median)):
        first, last = middle(values[:count]), middle(values[-count:])
        print(f"save, {name} ({kind}): first {first:.2f}, last {last:.2f}, ratio {last / first:.2f}")


def report_writing(saves: list[Save], adding: float, rows: int, directory: Path) -> None:
    print(f"{rows} rows, {len(saves)} saves of {THEOREMS_PER_SAVE} theorems")
    compare("wall clock in ms, tenths", lambda save: save.wall * 1e3, saves, 10)
    compare("processor in ms, tenths", lambda save: save.processor * 1e3, saves, 10)
    compare("growing over empty, halves", lambda save: save.wall / save.control, saves, 2)
    walls = [save.wall for save in saves]
    size = sum(path.stat().st_size for path in directory.iterdir())
    print(f"save, slowest: {max(walls) * 1e3:.1f} ms")
    print(f"on disk: {size / 1e6:.1f} MB, {size / rows:.0f} bytes a row")
    print(f"writing: {rows / (sum(walls) + adding):.0f} rows/s")


def report_reading(directory: Path) -> None:
    begun = time.perf_counter()
    records = len(read_records(directory))
    print(f"reading {records} records: {(time.perf_counter() - begun) * 1e3:.1f} ms")
    begun = time.perf_counter()
    rows = sum(batch.num_rows for batch in iter_steps(directory))
    print(f"reading all columns: {rows / (time.perf_counter() - begun):.0f} rows/s")
    begun = time.perf_counter()
    rows = count_steps(iter_steps(directory, STEP_COLUMNS)).rows
    print(f"counting for a summary: {rows / (time.perf_counter() - begun):.0f} rows/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to make (and remove) the files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        directory = Path(folder) / "growing"
        with open_writer(directory) as growing, open_writer(Path(folder) / "empty") as empty:
            saves, adding = write(growing, empty, options.rows // STEPS)
        report_writing(saves, adding, options.rows // STEPS * STEPS, directory)
        report_reading(directory)


if __name__ == "__main__":
    main()
