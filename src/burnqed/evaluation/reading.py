"""Results for smaller budgets, read off a search with a larger one.

A search never looks at how many nodes are left, so a search with fewer nodes is the beginning of one
with more. The answer is exact: the same outcome and the same number of nodes. The time is that of the
longer search up to that point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from burnqed.search.tree import EARLY, SPENT
from burnqed.trajectories.schema import TheoremOutcome, TheoremRecord

if TYPE_CHECKING:
    import pyarrow as pa

CLOCK_COLUMNS = ("theorem", "node", "outcome", "error", "seconds", "spent")


@dataclass(frozen=True, slots=True)
class Reading:
    """The outcome of a theorem within a budget."""

    outcome: TheoremOutcome
    reason: str
    detail: str
    nodes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Clock:
    """The times of the nodes in a set of searches."""

    ends: Mapping[str, Sequence[float]]  # by theorem: the end of its first node, its second, …
    stops: int  # tactics that the wall clock stopped


def read_clock(batches: Iterable[pa.RecordBatch]) -> Clock:
    """From the steps of a set of trajectories, with the `CLOCK_COLUMNS`."""
    steps: dict[str, list[tuple[float, int, int | None]]] = {}
    stops = 0
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in CLOCK_COLUMNS)
        for theorem, node, outcome, error, seconds, spent in zip(*columns, strict=True):
            steps.setdefault(theorem, []).append((seconds, node, spent))
            stops += outcome == "timeout" and error not in (SPENT, EARLY)
    return Clock({theorem: _ends(sorted(own)) for theorem, own in steps.items()}, stops)


def _ends(steps: Sequence[tuple[float, int, int | None]]) -> list[float]:
    """The end of each node of the budget.

    Older files do not say which that was. There it is where steps at another state begin.
    """
    if all(spent is not None for _, _, spent in steps):
        last = {spent or 0: when for when, _, spent in steps}
        ends = [last.get(number, -1.0) for number in range(1, max(last) + 1)]
        return list(accumulate(ends, max))
    after = [node for _, node, _ in steps[1:]]
    return [when for (when, node, _), other in zip(steps, [*after, None], strict=True) if node != other]


def read_off(record: TheoremRecord, ends: Sequence[float], budget: int) -> Reading:
    """The outcome within `budget` nodes, at most those of the search.

    Later problems do not count. If Lean was lost within the budget, the outcome is an error, even if
    the longer search then found a proof. (After a refused proof, `ends` are those of the second
    search, so the time is too short.)
    """
    if budget >= record.nodes:
        return Reading(record.outcome, record.reason, record.detail, record.nodes, record.seconds)
    # There may be fewer ends than nodes: a node without candidates left no steps, and a node that was
    # expanded twice in a row looks like one.
    seconds = ends[budget - 1] if budget <= len(ends) else record.seconds
    if record.lost_at is not None and record.lost_at <= budget:
        detail = record.detail or f"Lean was lost at node {record.lost_at}"
        return Reading("error", record.lost_kind, detail, budget, seconds)
    return Reading("exhausted", "nodes", "", budget, seconds)
