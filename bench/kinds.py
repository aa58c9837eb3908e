"""What evaluations of library theorems proved: of which kinds, in how many steps, naming lemmas or not.

    python bench/kinds.py runs/portfolio runs/core

Kinds are told by the beginnings of names, lemmas by a name with a dot in a tactic. With two runs, what
the second gains over the first, and by which tactics. Of each run, with which four tactics it begins,
why tactics failed, as far as messages tell, what came of them and in how much of Lean's time, and on
which tactics Lean spent it.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from burnqed.trajectories.schema import TheoremRecord
from burnqed.trajectories.store import every_trajectories, iter_steps, read_records

KINDS = (
    (r"Std\.(\w*)(Tree|Hash)|Std\.Internal\.List", "maps and sets of Std"),
    (r"Std\.", "the rest of Std"),
    (r"(List|Array|Vector|Option|Subarray|ByteArray|Prod)\.", "List, Array, Vector, Option"),
    (r"(Nat|Int|Rat|Fin)\.", "Nat, Int, Fin"),
    (r"BitVec|U?Int\d+|USize|ISize|Bool|Char|String", "BitVec, machine integers, Bool, String"),
    (r"", "other"),
)
UNKNOWN = re.compile(r"Unknown (identifier|constant) `")
NO_PATTERN = re.compile(r"^tactic: `@\[grind")
AT_ONCE = 0.01
LEMMA = re.compile(r"[A-Z]\w*(\.\w+)+")


def kind_of(theorem: str) -> str:
    return next(name for pattern, name in KINDS if re.match(pattern, theorem))


def proved(run: Path) -> tuple[dict[str, TheoremRecord], list[str]]:
    """The proofs of a run's first attempt, and all theorems."""
    records = read_records(every_trajectories(run)[0])
    return {r.theorem: r for r in records if r.outcome == "proved"}, [r.theorem for r in records]


def steps(records: Iterable[TheoremRecord]) -> str:
    counts = Counter(len(record.path) for record in records)
    return f"{counts.total()} proofs; by steps: " + ", ".join(
        f"{length}: {count}" for length, count in sorted(counts.items())
    )


def first_word(tactic: str) -> str:
    return re.split(r"[\s;]", tactic, maxsplit=1)[0]


def beginnings(tactics: Iterable[str]) -> str:
    words = Counter(map(first_word, tactics))
    return ", ".join(f"{word} {count}" for word, count in words.most_common())


def tell_outcomes(run: Path) -> None:
    """What came of the tactics, by number and by Lean's time; and what was refused at once."""
    rows: list[tuple[str, str, str, float]] = []
    names = ["outcome", "tactic", "error", "lean_seconds"]
    for batch in iter_steps(every_trajectories(run)[0], columns=names):
        outcomes, tactics, errors, times = (batch.column(name).to_pylist() for name in names)
        rows += zip(outcomes, tactics, errors, [seconds or 0.0 for seconds in times], strict=True)
    kinds = {
        **{
            outcome: [row for row in rows if row[0] == outcome]
            for outcome in sorted({r[0] for r in rows})
        },
        "rejected within 10 ms": [r for r in rows if r[0] == "rejected" and r[3] < AT_ONCE],
        "rejected by a failed grind": [
            r for r in rows if r[0] == "rejected" and "`grind` failed" in r[2]
        ],
        "stopped while the kernel computed": [
            r for r in rows if r[0] == "timeout" and "+kernel" in r[1]
        ],
        "stopped after 30 s": [r for r in rows if r[0] == "timeout" and r[2].endswith(" s")],
    }
    all_seconds = max(1e-9, sum(row[3] for row in rows))
    for kind, found in kinds.items():
        seconds = sum(row[3] for row in found)
        print(
            f"{run}: {kind}: {len(found)} tactics ({len(found) / max(1, len(rows)):.1%}), "
            f"{seconds:.1f} s ({seconds / all_seconds:.1%})"
        )


def tell_tactics(run: Path) -> None:
    tactics = unknown = lists = refused = 0
    begun: dict[str, list[str]] = {}
    spent: dict[str, list[float]] = {}
    names = ["theorem", "tactic", "error", "lean_seconds"]
    for batch in iter_steps(every_trajectories(run)[0], columns=names):
        columns = (batch.column(name).to_pylist() for name in names)
        for theorem, tactic, error, seconds in zip(*columns, strict=True):
            tactics += 1
            if seconds is not None:
                spent.setdefault(first_word(tactic), []).append(seconds)
            begun.setdefault(theorem, []).append(tactic)
            unknown += UNKNOWN.search(error) is not None
            if tactic.startswith("grind ["):
                lists += 1
                refused += NO_PATTERN.search(error) is not None
    unknown_share, refused_share = unknown / max(1, tactics), refused / max(1, lists)
    print(
        f"{run}: {tactics} tactics, {unknown} ({unknown_share:.1%}) name what is not there; "
        f"{lists} lists of grind, {refused} ({refused_share:.1%}) refused for a lemma"
    )
    first = [tactic for tried in begun.values() for tactic in tried[:4]]
    print(f"{run}: the first four of each theorem begin: {beginnings(first)}")
    longest = sorted(spent.items(), key=lambda one: -sum(one[1]))[:12]
    said = (f"{word} {sum(s):.1f} s in {len(s)} (longest {max(s):.2f} s)" for word, s in longest)
    print(f"{run}: Lean's own time: {', '.join(said) or 'not kept'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="one evaluation, or two")
    runs: list[Path] = parser.parse_args().runs
    found = [proved(run) for run in runs]
    kinds = Counter(kind_of(name) for name in found[0][1])
    for kind, count in kinds.most_common():
        own = [sum(kind_of(name) == kind for name in by_name) for by_name, _ in found]
        print(f"{kind:40} {count:4} theorems, proved:", *own)
    for run, (by_name, _) in zip(runs, found, strict=True):
        late = [record for record in by_name.values() if record.nodes > 10]
        early = [record for record in by_name.values() if record.nodes <= 10]
        print(f"{run}: within 10 nodes {steps(early)}")
        print(f"{run}: later {steps(late)}")
        tell_tactics(run)
        tell_outcomes(run)
    if len(runs) == 1:
        return
    first, last = found[0][0], found[-1][0]
    gained = [record for name, record in last.items() if name not in first]
    named = sum(any(LEMMA.search(step.tactic) for step in record.path) for record in gained)
    ends = beginnings(record.path[-1].tactic for record in gained)
    print(f"gained: {steps(gained)}; {named} name lemmas; their last tactics begin: {ends}")


if __name__ == "__main__":
    main()
