"""A directory of parts, to which runs only add.

A part appears by one rename, with the rows and records of some theorems: readers and resumed runs see
all of it or none. Saving writes one new file and reads no old one. Theorems to be searched again are
removed from their parts when a writer is opened.
"""

from __future__ import annotations

import contextlib
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from burnqed.core.errors import CorruptError, InfrastructureError, InputError
from burnqed.core.files import publish, sync_names
from burnqed.core.runs import command_of, shown_by
from burnqed.core.storage import remedy
from burnqed.trajectories.part import check_whole, encode, open_damaged, open_whole, read_footer
from burnqed.trajectories.schema import TRAJECTORIES, StepRow, TheoremRecord
from burnqed.trajectories.tables import NAMES, join, to_rows, to_table, with_columns

# Theorems share a row group until it has this many rows. No theorem is split.
GROUP_ROWS = 512
BATCH_ROWS = 16384
_SEARCHING = ("search", "negatives", "eval")  # commands that write trajectories
_NAMED = 4  # places that a hint names
_NAME = re.compile(r"part-(\d{6,})\.parquet(\.damaged)?")

OnProblem = Callable[[str], None]
Again = Callable[[TheoremRecord], bool]


class DamagedPart(UserWarning):
    """A part is damaged. The message says which, and how much of it can be read."""


def warn(problem: str) -> None:
    """The default handler of problems: raise them."""
    warnings.warn(problem, DamagedPart, stacklevel=3)


# ------------------------------------------------------------------------------- writing


@contextlib.contextmanager
def open_writer(
    directory: Path, on_problem: OnProblem = warn, again: Again = lambda _: False
) -> Iterator[TrajectoryWriter]:
    """The only writer of a directory, which is made if necessary. It saves what was added at the end.

    Theorems whose records are to be made `again` are removed, with their rows.

    Unfinished files of a killed run are removed. A damaged part is moved aside (`.damaged`), so that no
    rows appear twice, and its theorems count as not searched.
    """
    with _storage("write to", directory):
        directory.mkdir(parents=True, exist_ok=True)
        lock = FileLock(directory / ".lock", timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(
                f"{directory} is being written by another burn-qed",
                hint="wait until it ends, or use another directory",
            ) from None
    try:
        writer = TrajectoryWriter(directory, *_take_over(directory, on_problem, again))
        try:
            yield writer
        finally:
            writer.save()
    finally:
        lock.release()


class TrajectoryWriter:
    """Made by `open_writer`. `earlier` are the records at that time.

    `save` may run in another thread than `add`.
    """

    def __init__(self, directory: Path, number: int, earlier: Sequence[TheoremRecord]) -> None:
        self.directory = directory
        self.earlier = tuple(earlier)
        self._number = number
        self._pending: list[tuple[TheoremRecord, pa.Table]] = []
        self._saving = threading.Lock()

    def add(self, record: TheoremRecord, rows: Sequence[StepRow]) -> None:
        """Keep a finished theorem for the next save. Raises `ValueError` for rows that do not fit."""
        self._pending.append((record, to_table(rows)))

    @property
    def pending(self) -> int:
        """How many theorems the next save will write."""
        return len(self._pending)

    def save(self) -> Path | None:
        """Write what was added as a new part; None if there was nothing.

        If it raises, nothing is lost: what was added stays for the next call. That call writes the same
        number again, so that a part that became visible just before the failure is replaced.
        """
        with self._saving:
            entries = list(self._pending)
            if not entries:
                return None
            path = self.directory / f"part-{self._number:06d}.parquet"
            data = encode(
                list(_groups(table for _, table in entries)), [record for record, _ in entries]
            )
            _publish(path, data)
            self._number += 1
            del self._pending[: len(entries)]
            return path


def _groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    group: list[pa.Table] = []
    for table in tables:
        if table.num_rows:
            group.append(table)
        if sum(entry.num_rows for entry in group) >= GROUP_ROWS:
            yield join(group)
            group = []
    if group:
        yield join(group)


def _publish(path: Path, data: bytes) -> None:
    try:
        publish(path, data)
    except InfrastructureError as error:
        hint = f"{error.hint}; what was saved before is kept"
        raise InfrastructureError(error.message, hint=hint) from error


def _take_over(directory: Path, on_problem: OnProblem, again: Again) -> tuple[int, list[TheoremRecord]]:
    """Clean up after earlier writers. Returns the next part's number and the records so far."""
    with _storage("write to", directory):
        for leftover in (*directory.glob(".part-*.tmp"), *directory.glob("part-*.tmp")):  # older ones
            leftover.unlink(missing_ok=True)
        names = [match for path in directory.iterdir() if (match := _NAME.fullmatch(path.name))]
    number = max((int(match[1]) + 1 for match in names), default=0)
    records: list[TheoremRecord] = []
    for path in parts_of(directory):
        try:
            with _reading(path) as file:
                found = check_whole(file).records()
            records += _kept(path, found, again)
        except CorruptError as damage:
            aside = path.with_name(path.name + ".damaged")
            with _storage("rename", path):
                path.rename(aside)
                sync_names(directory)
            on_problem(f"{damage.message}; moved to {aside.name}, its theorems count as not searched")
    return number, records


def _kept(path: Path, records: list[TheoremRecord], again: Again) -> list[TheoremRecord]:
    """Rewrite a part, by one rename, without some theorems. Returns the records that stay."""
    kept = [record for record in records if not again(record)]
    if len(kept) == len(records):
        return kept
    names = pa.array([record.theorem for record in records if again(record)])
    with _storage("read", path), _named(path):
        file = open_whole(path.read_bytes())
    groups = (with_columns(file.read_row_group(n)) for n in range(file.num_row_groups))
    staying = [group.filter(pc.invert(pc.is_in(group["theorem"], names))) for group in groups]
    _publish(path, encode([group for group in staying if group.num_rows], kept))
    return kept


# ------------------------------------------------------------------------------- reading


def find_trajectories(path: Path) -> Path:
    """The directory of parts at a path: that of a run, or the path itself."""
    inside = path / TRAJECTORIES
    directory = inside if inside.is_dir() else path
    if not directory.is_dir() or not any(directory.glob("part-*.parquet")):
        raise InputError(f"{path} has no trajectories", hint=_where_else(path))
    return directory


def _where_else(path: Path) -> str:
    """A hint where the trajectories may be instead."""
    if not path.is_dir():
        return "it is a file: give the run's folder" if path.exists() else "the folder does not exist"
    inside = {part.parent.parent for part in path.glob(f"**/{TRAJECTORIES}/part-*.parquet")}
    first = sorted(str(one) for one in inside)[:_NAMED]
    more = f" and {len(inside) - _NAMED} more" if len(inside) > _NAMED else ""
    if first:
        others = f"these in it have some: {', '.join(first)}{more}"
        return "; ".join(filter(None, (shown_by(path) if command_of(path) == "run" else "", others)))
    if command_of(path) in _SEARCHING:
        return "it has not saved a theorem yet: continue it with --resume"
    return shown_by(path) or "`burn-qed search` makes them"


def every_trajectories(path: Path) -> list[Path]:
    """Like `find_trajectories`; for an evaluation, those of all its attempts."""
    attempts = sorted(path.glob("attempt-*"), key=lambda one: (len(one.name), one.name))
    return [find_trajectories(one) for one in attempts or (path,)]


def read_records(directory: Path, on_problem: OnProblem = warn) -> list[TheoremRecord]:
    """Every searched theorem, in the order saved. Reads only the ends of files."""
    return [record for path in parts_of(directory) for record in part_records(path, on_problem)]


def part_records(path: Path, on_problem: OnProblem = warn) -> list[TheoremRecord]:
    """The theorems of one part."""
    try:
        with _reading(path) as file:
            return read_footer(file).records()
    except CorruptError as damage:
        on_problem(f"{damage.message}; its theorems are unknown")
        return []


def iter_steps(
    directory: Path, columns: Sequence[str] = NAMES, on_problem: OnProblem = warn
) -> Iterator[pa.RecordBatch]:
    """The steps as Arrow record batches, part by part. A part is checked before its first batch.

    A damaged part yields its undamaged theorems.
    """
    if unknown := set(columns) - set(NAMES):
        raise ValueError(f"unknown column: {', '.join(sorted(unknown))}")
    for path in parts_of(directory):
        file, groups = _open(path, on_problem)
        if file is not None:
            there = [name for name in columns if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=BATCH_ROWS, row_groups=groups, columns=there):
                yield with_columns(batch, columns)


def iter_rows(directory: Path, on_problem: OnProblem = warn) -> Iterator[StepRow]:
    """The steps one by one: convenient, but slower than batches."""
    return to_rows(iter_steps(directory, NAMES, on_problem))


def theorem_rows(directory: Path, theorem: str, on_problem: OnProblem = warn) -> list[StepRow]:
    """The steps of one theorem. Only the parts that have it are read."""
    for path in parts_of(directory):
        try:
            with _reading(path) as end:
                names = {record.theorem for record in read_footer(end).records()}
        except CorruptError:
            names = {theorem}  # its rows may still be there
        if theorem not in names:
            continue
        file, groups = _open(path, on_problem)
        found: list[pa.Table] = []
        for batch in file.iter_batches(row_groups=groups) if file is not None else ():
            own = batch.filter(pc.equal(batch.column("theorem"), theorem))
            found += [with_columns(own)] if own.num_rows else []
        if found:
            return list(to_rows(found))
    return []


def parts_of(directory: Path) -> list[Path]:
    """The whole parts of a directory, in the order saved."""
    if not directory.is_dir():
        raise InputError(f"{directory} is not a directory of trajectories")
    with _storage("read", directory):
        found = [match for path in directory.iterdir() if (match := _NAME.fullmatch(path.name))]
    whole = sorted((int(match[1]), match[0]) for match in found if not match[2])
    return [directory / name for _, name in whole]


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    with _storage("read", path), _named(path), path.open("rb") as file:
        yield file


def _open(path: Path, on_problem: OnProblem) -> tuple[pq.ParquetFile | None, list[int] | None]:
    """The part and the groups to read; None means all."""
    with _storage("read", path):
        data = path.read_bytes()
    with _named(path):
        try:
            return open_whole(data), None
        except CorruptError as damage:
            file, groups = open_damaged(data)
            rows = sum(file.metadata.row_group(number).num_rows for number in groups) if file else 0
            on_problem(
                f"{path} is damaged: {damage.message}; {rows} rows of whole theorems can be read"
            )
            return file, groups


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Put the file's name into errors about "it"."""
    try:
        yield
    except CorruptError as error:
        raise CorruptError(f"{path} is damaged: {error.message}", hint=error.hint) from None
    except InputError as error:
        raise InputError(f"{path} cannot be read: {error.message}", hint=error.hint) from None


@contextlib.contextmanager
def _storage(verb: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kept = f"{remedy(error, path)}; what was saved before is kept"
        raise InfrastructureError(
            f"cannot {verb} {path}: {error.strerror or error}", hint="" if verb == "read" else kept
        ) from error
