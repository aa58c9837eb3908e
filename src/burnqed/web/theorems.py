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

    run: str  # its id: a run of expert iteration shows the theorems of those inside of it
    set: str
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


def set_of(run: Run) -> str:
    """The theorem set as its manifest names it."""
    name = run.manifest.get("theorems")
    return name if isinstance(name, str) else ""


def theorem_id(name: str) -> str:
    """Names may hold anything; an id is letters and digits."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def list_theorems(run: Run, inside: Sequence[Run]) -> Listing:
    """The theorems of a run and of those inside of it, run by run, in the order of their names."""
    problems: list[str] = []
    lines = [line for one in (run, *inside) for line in _lines(one, problems)]
    return Listing(tuple(lines), tuple(dict.fromkeys(problems)))


def _lines(run: Run, problems: list[str]) -> list[Line]:
    """One run's theorems, in order.

    A finished evaluation's result decides on outcomes: its budgets count, and theorems that no search
    reached are in it. Else the records do.
    """
    if run.is_iteration:
        return []
    records = records_of(run, problems)
    result = result_of(run, problems)
    by_name: dict[str, list[tuple[int, TheoremRecord]]] = {}
    for attempt, found in enumerate(records, start=1):
        for record in found:
            by_name.setdefault(record.theorem, []).append((attempt, record))
    groups = _groups(run)
    if result is not None:
        lines = [_judged(run, t, by_name.get(t.name, [])) for t in result.largest.per_theorem]
    else:
        lines = [_recorded(run, name, groups.get(name, ""), tried) for name, tried in by_name.items()]
    return sorted(lines, key=lambda line: (natural(line.group), natural(line.name)))


def chosen(tried: Sequence[tuple[int, TheoremRecord]]) -> tuple[int, TheoremRecord]:
    """The attempt to show first: a proof with the fewest nodes, an error, or the longest search."""
    proved = [one for one in tried if one[1].outcome == "proved"]
    if proved:
        return min(proved, key=lambda one: one[1].nodes)
    failed = [one for one in tried if one[1].outcome == "error"]
    return max(failed or tried, key=lambda one: one[1].nodes)


def _recorded(run: Run, name: str, group: str, tried: Sequence[tuple[int, TheoremRecord]]) -> Line:
    attempt, record = chosen(tried)
    return Line(
        run.id, set_of(run), theorem_id(name), name, group, record.outcome, record.reason,
        record.nodes, record.steps, record.seconds, record.proof_steps, len(tried),
        sum(one.outcome == "proved" for _, one in tried), attempt,
    )  # fmt: skip


def _judged(run: Run, result: TheoremResult, tried: Sequence[tuple[int, TheoremRecord]]) -> Line:
    attempt, record = chosen(tried) if tried else (None, None)
    return Line(
        run.id, set_of(run), theorem_id(result.name), result.name, result.group,
        result.outcome, result.reason, result.nodes_used, record.steps if record else 0,
        result.time_secs, record.proof_steps if record and result.proved else 0,
        len(tried), result.successes, attempt,
    )  # fmt: skip


# -------------------------------------------------------------------------- what a run has kept


@dataclass(frozen=True, slots=True)
class Part:
    """What a run saved at once, and when, in seconds since 1970."""

    saved: float
    records: tuple[TheoremRecord, ...]


def records_of(run: Run, problems: list[str]) -> list[tuple[TheoremRecord, ...]]:
    """The records of each attempt."""
    return [
        tuple(record for part in saved_parts(path, problems) for record in part.records)
        for path in run.attempts
    ]


def saved_parts(trajectories: Path, problems: list[str]) -> list[Part]:
    """The parts of a directory, if it is there yet. Those that did not change are not read again."""
    from burnqed.trajectories.store import parts_of

    if not os.path.isdir(trajectories):  # noqa: PTH112  (`Path.is_dir` raises where it may not look)
        return []
    found: list[Part] = []
    for path in parts_of(trajectories):
        try:
            about = path.stat()
        except FileNotFoundError:  # it was moved aside a moment ago
            continue
        records, told = _read_part(path, about.st_size, about.st_mtime_ns)
        problems += told
        found.append(Part(about.st_mtime, records))
    return found


@lru_cache(maxsize=4096)
def _read_part(
    path: Path, _size: int, _changed: int
) -> tuple[tuple[TheoremRecord, ...], tuple[str, ...]]:
    from burnqed.trajectories.store import part_records

    problems: list[str] = []
    return tuple(part_records(path, problems.append)), tuple(problems)


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


@lru_cache(maxsize=256)
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
