"""Learning what tactics cost: how long Lean took for tactics of a shape, of all that searches tried.

The times are a machine's, but only their ratios are kept: so much longer or shorter than the average.
They become a part of the ranker's data, so a search with them is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from burnqed.data.index import TheoremIndex
from burnqed.policy.ranked.shapes import shape_row
from burnqed.policy.ranked.weights import SHAPE_ROWS, Floats
from burnqed.training.held import HeldOut
from burnqed.trajectories.store import every_trajectories, iter_steps, read_records

_COLUMNS = ("theorem", "tactic", "root_goal", "lean_seconds")
_USUAL = 3  # tries of average cost that a shape begins with: what was seldom tried is little known

OnProblem = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Costs:
    """The logarithm of a shape's cost as a multiple of the average, and what it was learnt from."""

    table: Floats
    tactics: int
    seconds: float


def learn_costs(runs: Sequence[Path], without: Sequence[TheoremIndex], on_problem: OnProblem) -> Costs:
    """From all tactics of these runs with a known time; none of a theorem of `without`."""
    keep_out = HeldOut(without)
    seconds, tries = np.zeros(SHAPE_ROWS), np.zeros(SHAPE_ROWS)
    for directory in (one for run in runs for one in every_trajectories(run)):
        records = {one.theorem: one for one in read_records(directory, lambda _told_below: None)}
        held: dict[str, bool] = {}
        for batch in iter_steps(directory, _COLUMNS, on_problem):
            columns = (batch.column(name).to_pylist() for name in _COLUMNS)
            for theorem, tactic, root, taken in zip(*columns, strict=True):
                if theorem not in held:
                    record = records.get(theorem)
                    held[theorem] = record is None or keep_out.why(record, root) is not None
                if taken is not None and not held[theorem]:
                    seconds[shape_row(tactic)] += taken
                    tries[shape_row(tactic)] += 1
    usual = float(seconds.sum() / max(1.0, tries.sum()))
    if usual <= 0:
        return Costs(np.zeros(SHAPE_ROWS, dtype=np.float32), 0, 0.0)
    mean = (seconds + _USUAL * usual) / (tries + _USUAL)
    table = np.log(mean / usual).astype(np.float32)
    return Costs(table, int(tries.sum()), float(seconds.sum()))
