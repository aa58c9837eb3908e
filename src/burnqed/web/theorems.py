"""The theorems of a run: what became of each, and what is known of one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from burnqed.core.errors import BurnQedError
from burnqed.data.benchmarks import BENCHMARKS, is_here, load
from burnqed.data.index import TheoremIndex
from burnqed.evaluation.results import RESULT, IterationResult, TheoremResult, read_result
from burnqed.report.wording import natural
from burnqed.trajectories.schema import TheoremRecord
from burnqed.web.runs import Run


@dataclass(frozen=True, slots=True)
class Line:
    """One theorem of a run. Of several attempts, `attempt` is the one that is shown first."""

    id: str
    name: str
    group: str
    outcome: str  # proved, exhausted or error; only the judge's acceptance makes it proved
    reason: str
    nodes: int
    steps: int
    seconds: float
    proof_steps: int
    attempts: int
    successes: int
    attempt: int | None  # from 1; None where nothing was kept


@dataclass(frozen=True, slots=True)
class Listing:
    """All theorems of a run, and what could not be read."""

    lines: tuple[Line, ...]
    problems: tuple[str, ...] = ()


def theorem_id(name: str) -> str:
    """Names may hold anything; an id is letters and digits."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def list_theorems(run: Run) -> Listing:
    """Theorems in the order of their names, numbers in order.

    A finished evaluation's result decides on outcomes: its budgets count, and theorems that no search
    reached are in it. Else the records do.
    """
    problems: list[str] = []
    records = records_of(run, problems)
    result = result_of(run, problems)
    by_name: dict[str, list[tuple[int, TheoremRecord]]] = {}
    for attempt, found in enumerate(records, start=1):
        for record in found:
            by_name.setdefault(record.theorem, []).append((attempt, record))
    groups = _groups(run)
    if result is not None:
        lines = [_judged(t, by_name.get(t.name, [])) for t in result.largest.per_theorem]
    else:
        lines = [_recorded(name, groups.get(name, ""), tried) for name, tried in by_name.items()]
    lines.sort(key=lambda line: (natural(line.group), natural(line.name)))
    return Listing(tuple(lines), tuple(problems))


def chosen(tried: Sequence[tuple[int, TheoremRecord]]) -> tuple[int, TheoremRecord]:
    """The attempt to show first: a proof with the fewest nodes, an error, or the longest search."""
    proved = [one for one in tried if one[1].outcome == "proved"]
    if proved:
        return min(proved, key=lambda one: one[1].nodes)
    failed = [one for one in tried if one[1].outcome == "error"]
    return max(failed or tried, key=lambda one: one[1].nodes)


def _recorded(name: str, group: str, tried: Sequence[tuple[int, TheoremRecord]]) -> Line:
    attempt, record = chosen(tried)
    return Line(
        theorem_id(name), name, group, record.outcome, record.reason, record.nodes, record.steps,
        record.seconds, record.proof_steps, len(tried),
        sum(one.outcome == "proved" for _, one in tried), attempt,
    )  # fmt: skip


def _judged(result: TheoremResult, tried: Sequence[tuple[int, TheoremRecord]]) -> Line:
    attempt, record = chosen(tried) if tried else (None, None)
    return Line(
        theorem_id(result.name), result.name, result.group, result.outcome, result.reason,
        result.nodes_used, record.steps if record else 0, result.time_secs,
        record.proof_steps if record and result.proved else 0, len(tried), result.successes, attempt,
    )  # fmt: skip


# -------------------------------------------------------------------------- what a run has kept


def records_of(run: Run, problems: list[str]) -> list[tuple[TheoremRecord, ...]]:
    """The records of each attempt. Files that did not change are not read again."""
    return [_records(path, _signature(path), problems) for path in run.attempts]


def _records(
    path: Path, signature: tuple[tuple[str, int, int], ...], problems: list[str]
) -> tuple[TheoremRecord, ...]:
    if not signature:
        return ()
    found, told = _read_records(path, signature)
    problems += told
    return found


@lru_cache(maxsize=64)
def _read_records(
    path: Path, _signature: tuple[tuple[str, int, int], ...]
) -> tuple[tuple[TheoremRecord, ...], tuple[str, ...]]:
    from burnqed.trajectories.store import read_records

    problems: list[str] = []
    return tuple(read_records(path, problems.append)), tuple(problems)


def _signature(path: Path) -> tuple[tuple[str, int, int], ...]:
    """The parts of a directory with their sizes and times: they change when a part is added."""
    try:
        entries = [one for one in os.scandir(path) if one.name.startswith("part-")]
        return tuple(sorted((e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in entries))
    except OSError:
        return ()


def result_of(run: Run, problems: list[str]) -> IterationResult | None:
    """The result of a finished evaluation; None for other runs."""
    path = run.path / RESULT
    if run.command != "eval" or not path.is_file():
        return None
    try:
        result = _read_result(path, path.stat().st_mtime_ns)
    except (BurnQedError, OSError) as error:
        problems.append(str(getattr(error, "message", error)))
        return None
    return result if result.budget_results else None


@lru_cache(maxsize=32)
def _read_result(path: Path, _changed: int) -> IterationResult:
    return read_result(path)


# ---------------------------------------------------------------------------------- statements


def statement_of(run: Run, name: str) -> str:
    """The theorem as its set states it, if that is a benchmark that is here; else ""."""
    index = _index(run)
    entry = next((e for e in index.entries if e.theorem.name == name), None) if index else None
    if entry is None:
        return ""
    return str(entry.fields.get("statement") or "")


def _groups(run: Run) -> dict[str, str]:
    index = _index(run)
    entries: Iterable[tuple[str, object]] = (
        ((e.theorem.name, e.fields.get("group")) for e in index.entries) if index else ()
    )
    return {name: str(group or "") for name, group in entries}


def _index(run: Run) -> TheoremIndex | None:
    name, checksum = run.manifest.get("theorems"), run.manifest.get("theorems_checksum")
    return _benchmark(name, checksum) if isinstance(name, str) and isinstance(checksum, str) else None


@lru_cache(maxsize=8)
def _benchmark(name: str, checksum: str) -> TheoremIndex | None:
    """A benchmark by name, if it is here and has exactly the theorems of the run."""
    whole, _, split = name.partition("/")
    benchmark = BENCHMARKS.get(whole)
    if benchmark is None or not is_here(benchmark):
        return None
    try:
        index = load(benchmark).part(split) if split else load(benchmark)
    except BurnQedError:
        return None
    return index if index.checksum == checksum else None
