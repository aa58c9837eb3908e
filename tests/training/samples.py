"""Pairs to train on: what to say follows from the state, so there is something to learn."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from burnqed.core.watching import Quiet
from burnqed.training.pairs import Pair
from burnqed.training.sft import StepMetrics
from burnqed.trajectories.store import open_writer
from tests.trajectories.samples import record, rows

NAMES = ("n", "m", "k", "a", "b")


def pairs(count: int, *, theorems: int = 40) -> list[Pair]:
    """Distinct states of all sizes; the tactic names what the goal is about."""
    made = []
    for i in range(count):
        x, y = NAMES[i % 5], NAMES[(i // 5) % 5]
        hypotheses = "".join(f"h{j} : {x} < {j + i}\n" for j in range(i % 7))
        target, tactic = (
            (f"{x} + {i} = {i} + {x}", f"exact Nat.add_comm {x} _")
            if i % 2
            else (f"{y} ≤ {y} + {i}", "omega")
        )
        made.append(
            Pair(f"{hypotheses}{x} {y}✝ : Nat\n⊢ {target}", tactic, f"T.t{i % theorems}", i % 3)
        )
    return made


def write_jsonl(path: Path, given: Iterable[Pair]) -> Path:
    rows = (
        {"state": p.state, "tactic": p.tactic, "theorem": p.theorem, "depth": p.depth, "more": 1}
        for p in given
    )
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def write_run(directory: Path, numbers: range) -> Path:
    """A run's directory; of its theorems those whose number three divides are proved."""
    with open_writer(directory / "trajectories") as writer:
        for number in numbers:
            steps = [
                replace(row, state=f"{row.state} {number}", on_proof_path=index % 8 == 0)
                for index, row in enumerate(rows(number, 24))
            ]
            writer.add(record(number, 24), steps)
    return directory


class Watcher(Quiet):
    """Remembers what it is told; says stop after so many steps."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.heard: list[StepMetrics] = []
        self.warnings: list[str] = []
        self._asked = 0

    def warn(self, problem: str) -> None:
        self.warnings.append(problem)

    def told(self, told: StepMetrics) -> None:
        self.heard.append(told)

    def stop(self) -> bool:
        self._asked += 1
        return self.stop_after is not None and self._asked >= self.stop_after
