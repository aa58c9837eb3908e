"""What a search with fewer nodes would have come to, read off one with more.

A search never looks at how many nodes are left, so one with fewer is the beginning of one with more,
and the answer is exact: the same outcome and the same count of nodes. Only the time is that of the
longer run, up to where the shorter one would have stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnqed.trajectories.schema import TheoremOutcome, TheoremRecord

if TYPE_CHECKING:
    import pyarrow as pa

CLOCK_COLUMNS = ("theorem", "node", "outcome", "error", "seconds")


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of a theorem within a budget."""

    outcome: TheoremOutcome
    reason: str
    detail: str
    nodes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Clock:
    """When things happened in a set of searches."""

    ends: Mapping[str, Sequence[float]]  # by theorem: when its first node was done, its second, …
    stops: int  # tactics that the wall clock stopped


def read_clock(batches: Iterable[pa.RecordBatch]) -> Clock:
    """From the steps of a set of trajectories, with the `CLOCK_COLUMNS`."""
    steps: dict[str, list[tuple[float, int]]] = {}
    stops = 0
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in CLOCK_COLUMNS)
        for theorem, node, outcome, error, seconds in zip(*columns, strict=True):
            steps.setdefault(theorem, []).append((seconds, node))
            stops += outcome == "timeout" and error != "heartbeats"
    return Clock({theorem: _ends(sorted(own)) for theorem, own in steps.items()}, stops)


def _ends(steps: Sequence[tuple[float, int]]) -> list[float]:
    """When each node was done: where steps at another begin. One may come again, to try more."""
    after = [node for _, node in steps[1:]]
    return [when for (when, node), other in zip(steps, [*after, None], strict=True) if node != other]


def read_off(record: TheoremRecord, ends: Sequence[float], budget: int) -> Reading:
    """The theorem within `budget` nodes, which are not more than the search was given.

    What went wrong later than that did not happen: only where Lean was lost within the budget is it
    an error, and where the longer search went on to find a proof, too. (After a refused find, `ends`
    are those of the second search: the time is then too short.)
    """
    if budget >= record.nodes:
        return Reading(record.outcome, record.reason, record.detail, record.nodes, record.seconds)
    # A node that had no candidates left no steps, and one that got more of them at once looks like one
    # that was tried once: then there are fewer ends than nodes.
    seconds = ends[budget - 1] if budget <= len(ends) else record.seconds
    if record.lost_at is not None and record.lost_at <= budget:
        detail = record.detail or f"Lean was lost at node {record.lost_at}"
        return Reading("error", record.lost_kind, detail, budget, seconds)
    return Reading("exhausted", "nodes", "", budget, seconds)
