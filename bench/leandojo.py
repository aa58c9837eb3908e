"""Is a prepared set what LeanDojo published? Figures of the benchmark, and random steps compared.

    burn-qed data fetch leandojo
    burn-qed data prepare leandojo --out DIR
    python bench/leandojo.py DIR [--steps 200] [--seed 0] [--published FOLDER]

The published files are read here as plain JSON, all at once, and not by the reader that is looked at.
So many random rows of the prepared pairs, and of the pool of whole proofs, are drawn. Each is looked up
by its theorem and depth: state, tactic and premises must be those of the file, and in the pool the next
state. It ends with 1 if one of them is not.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from burnqed.data.prepare import PAIRS, POOL
from burnqed.data.sources.leandojo import INFO
from burnqed.data.sources.stored import stored
from burnqed.data.splits import SPLITS
from burnqed.lean.tactic_words import mathlib_tactics

_BOUNDS = (1, 2, 4, 8, 16, 32)  # steps of a proof

Tactics = Sequence[Mapping[str, Any]]


def published(folder: Path | None) -> list[dict[str, Any]]:
    """All records, in the order in which they are read."""
    if folder is None:
        paths = [part.path for part in stored(INFO)[1]]
    else:
        paths = [folder / name for name in INFO.files]
    return [record for path in paths for record in json.loads(path.read_text(encoding="utf-8"))]


def by_name(records: Sequence[dict[str, Any]]) -> dict[str, Tactics]:
    """The tactics of each theorem; the second theorem `foo` that has some is `foo#2`."""
    found: dict[str, Tactics] = {}
    for record in records:
        if record["traced_tactics"]:
            name, number = record["full_name"], 1
            while (name if number == 1 else f"{name}#{number}") in found:
                number += 1
            found[name if number == 1 else f"{name}#{number}"] = record["traced_tactics"]
    return found


def figures(records: Sequence[dict[str, Any]]) -> None:
    proofs = [record["traced_tactics"] for record in records]
    steps = [step for proof in proofs for step in proof]
    print(f"theorems {len(proofs):,}, with tactics {sum(map(bool, proofs)):,}, steps {len(steps):,}")
    sizes = Counter(next((b for b in _BOUNDS if len(p) <= b), None) for p in proofs if p)
    for bound in (*_BOUNDS, None):
        print(f"  proofs of {f'at most {bound}' if bound else 'more'} steps: {sizes[bound]:,}")
    named = [len({premise["full_name"] for premise in step["annotated_tactic"][1]}) for step in steps]
    print(f"steps with premises {sum(map(bool, named)):,}, premises {sum(named):,} (each once a step)")
    marks = [mathlib_tactics(step["tactic"]) for step in steps]
    ends = list(accumulate(map(len, proofs)))
    whole = sum(any(marks[end - len(proof) : end]) for end, proof in zip(ends, proofs, strict=True))
    print(f"steps with Mathlib's tactics {sum(map(bool, marks)):,}, in {whole:,} theorems; the most:")
    most = Counter(tactic for mark in marks for tactic in mark).most_common(12)
    print("  " + ", ".join(f"{tactic} {count:,}" for tactic, count in most))


def faults(row: Mapping[str, Any], theorems: Mapping[str, Tactics]) -> list[str]:
    """In what a prepared row is not the step of the published file."""
    proof = theorems.get(row["theorem"], ())
    if row["depth"] >= len(proof):
        return ["it is not in the published file"]
    step = proof[row["depth"]]
    premises = list(dict.fromkeys(one["full_name"] for one in step["annotated_tactic"][1]))
    shown = [row[key] for key in ("state", "after") if key in row]
    same = {
        "state": row["state"] == step["state_before"],
        "tactic": row["tactic"] == step["tactic"].strip(),
        "premises": row.get("premises", []) == premises,
        "next state": "source" not in row or row.get("after", "") == step["state_after"],
        "form": all("⊢" in text or text == "no goals" for text in shown),
    }
    return [what for what, is_same in same.items() if not is_same]


def drawn(paths: Sequence[Path], count: int, seed: int) -> list[dict[str, Any]]:
    lines = [line for path in paths if path.is_file() for line in path.open(encoding="utf-8")]
    return [json.loads(line) for line in random.Random(seed).sample(lines, min(count, len(lines)))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("prepared", type=Path, help="the directory of `data prepare leandojo`")
    parser.add_argument("--steps", type=int, default=200, help="of pairs, and of the pool")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--published", type=Path, help="the benchmark's folder, if it was not fetched")
    given = parser.parse_args()
    records = published(given.published)
    figures(records)
    theorems = by_name(records)
    wrong = 0
    for what, paths in (
        ("pairs", [given.prepared / PAIRS / f"{split}.jsonl" for split in SPLITS]),
        ("the pool", [given.prepared / POOL]),
    ):
        rows = drawn(paths, given.steps, given.seed)
        told = [(row, faults(row, theorems)) for row in rows]
        agree = sum(not found for _, found in told)
        print(f"{what}: {agree} of {len(rows)} random steps agree with the published file")
        for row, found in told:
            if found:
                print(f"  {row['theorem']}, step {row['depth']}: {', '.join(found)}")
        wrong += len(rows) - agree
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
