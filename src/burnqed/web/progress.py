"""How a run goes on: what it had done by each save, how fast it is, and which stage is at work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from burnqed.iteration.directory import at_work, log_of
from burnqed.iteration.history import BASELINE
from burnqed.iteration.runner import last_line
from burnqed.web.runs import Run
from burnqed.web.theorems import Part, records_of, result_of, saved_parts

LATELY = 60.0  # seconds of work that a rate looks back on
_MOST_POINTS = 300  # of a curve


@dataclass(frozen=True, slots=True)
class Point:
    """What was done after so many seconds of work."""

    seconds: float
    searched: int
    proved: int
    nodes: int


def progress(run: Run) -> dict[str, Any]:
    """The curve over time, and the nodes per second of all its searches together."""
    parts = [part for path in run.attempts for part in saved_parts(path, [])]
    points = list(_points(run.begun, sorted(parts, key=lambda part: part.saved)))
    return {
        "rate": _rate(points),
        "points": [(p.seconds, p.searched, p.proved, p.nodes) for p in _fewer(points)],
    }


def so_far(run: Run) -> dict[str, int]:
    """How many searches a run has made, and how many of them found a proof; of a finished evaluation
    how many theorems it has, and how many of them are proved.
    """
    result = result_of(run, [])
    if result is not None:
        return {"searched": result.largest.total, "proved": result.largest.solved}
    records = [record for attempt in records_of(run, []) for record in attempt]
    return {"searched": len(records), "proved": sum(r.outcome == "proved" for r in records)}


def _points(begun: float, parts: list[Part]) -> Iterator[Point]:
    """Time passes between two saves, but never more than their searches took one after the other:
    what is beyond that is a pause, in which nobody worked.
    """
    now = Point(0.0, 0, 0, 0)
    before = begun
    yield now
    for part in parts:
        took = sum(record.seconds + record.judge_seconds for record in part.records)
        now = Point(
            now.seconds + max(0.0, min(part.saved - before, took)),
            now.searched + len(part.records),
            now.proved + sum(record.outcome == "proved" for record in part.records),
            now.nodes + sum(record.nodes for record in part.records),
        )
        before = part.saved
        yield now


def _rate(points: list[Point]) -> float | None:
    """Nodes per second lately."""
    last = points[-1]
    first = next((p for p in reversed(points) if p.seconds <= last.seconds - LATELY), points[0])
    passed = last.seconds - first.seconds
    return (last.nodes - first.nodes) / passed if passed > 0 else None


def _fewer(points: list[Point]) -> list[Point]:
    """Evenly chosen points, with the last."""
    step = -(-len(points) // _MOST_POINTS)
    return [*points[:-1:step], points[-1]]


def stage_at_work(run: Run) -> dict[str, Any] | None:
    """The stage of a running expert iteration, and the last line of its log."""
    found = at_work(run.path) if run.is_iteration and run.state == "running" else None
    if found is None:
        return None
    key, since = found
    iteration, name = key
    label = "baseline" if iteration == BASELINE else f"iteration {iteration}"
    said = last_line(log_of(run.path, key))
    return {"label": label, "name": name, "since": since, "said": said}
