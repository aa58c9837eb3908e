"""A trace on the disk: a Parquet file for each Lean file, and a table of all of them.

    OUT/manifest.json               what was asked for
    OUT/parts/part-000000.parquet   the steps of one Lean file; its footer has the file's record
    OUT/report.json                 counts, and what was not recorded, with reasons

A part appears by one rename, whole. Of a Lean file that was traced again, because it had changed, the
last part counts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.files import publish, sole_writer
from burnqed.core.types import LibraryConstant, Theorem, TheoremText

PARTS = "parts"
REPORT = "report.json"
_NAME = re.compile(r"part-(\d{6,})\.parquet(\.damaged)?")
_RECORD = b"burnqed.trace"
_VERSION = 1
SCHEMA = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("theorem", pa.string(), nullable=False),
        pa.field("depth", pa.int32(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("tactic", pa.string(), nullable=False),
        pa.field("after", pa.string(), nullable=False),
        pa.field("waiting", pa.int32(), nullable=False),
        pa.field("line", pa.int32(), nullable=False),
        pa.field("column", pa.int32(), nullable=False),
        pa.field("end_line", pa.int32(), nullable=False),
        pa.field("end_column", pa.int32(), nullable=False),
        pa.field("constants", pa.list_(pa.string()), nullable=False),
        pa.field("premises", pa.list_(pa.string()), nullable=False),
    ]
)
_WRITING: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}

# steps: recorded; term: there are no tactics in its proof; other: it has tactics, and is not recorded.
Outcome = Literal["steps", "term", "other"]
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A tactic of a proof, where it was used and what it did.

    Steps of a theorem are applied one after the other, each to all goals of the state, of which it acts
    on the first. `state` and `after` are the goals that it is about; `waiting` more stand behind them.
    `line` counts from 1 and `column` from 0, as Lean does. `constants` are those of the terms that it
    made; `premises` are the theorems among them and those that it names (of the library alone).
    """

    source: str
    theorem: str
    depth: int
    state: str
    tactic: str
    after: str
    waiting: int
    line: int
    column: int
    end_line: int
    end_column: int
    constants: tuple[str, ...]
    premises: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TheoremTrace:
    """A theorem of a file: what it states, how much of the file's text is its context, what came of it.

    `reason` is one of few, for tables; `detail` says it exactly. `judged`: what the judge said of the
    steps ("accepted", or why not); empty where it was not asked.
    """

    name: str
    statement: str
    at: int
    line: int
    outcome: Outcome
    steps: int = 0
    grain: str = ""
    reason: str = ""
    detail: str = ""
    judged: str = ""


@dataclass(frozen=True, slots=True)
class FileTrace:
    """A Lean file: its text without imports, behind that of what it imports; or why it was skipped.

    Of a file of the `library` the theorems are the library's, and no text is kept.
    """

    path: str
    sha256: str
    imports: tuple[str, ...] = ()
    text: str = ""
    problem: str = ""
    detail: str = ""
    seconds: float = 0.0
    theorems: tuple[TheoremTrace, ...] = ()
    library: bool = False

    def theorem(self, theorem: TheoremTrace) -> Theorem:
        """A theorem as it is started elsewhere."""
        if self.library:
            return Theorem(theorem.name, LibraryConstant(theorem.name, "self"))
        return Theorem(theorem.name, TheoremText(f"{self.text[: theorem.at]}\n{theorem.statement}"))


# ------------------------------------------------------------------------------- writing


@contextlib.contextmanager
def open_trace(out: Path, warn: Warn) -> Iterator[TraceWriter]:
    """The one writer of a trace. A part that is damaged is moved aside, and its file traced again."""
    folder = out / PARTS
    with sole_writer(folder / ".lock", out):
        yield TraceWriter(folder, warn)


class TraceWriter:
    """Made by `open_trace`. `earlier` are the files that were traced before, by path."""

    def __init__(self, folder: Path, warn: Warn) -> None:
        self._folder = folder
        for leftover in folder.glob(".part-*.tmp"):
            leftover.unlink(missing_ok=True)
        self.earlier: dict[str, FileTrace] = {}
        for path in _parts(folder):
            record = _record(path)
            if record is None:
                path.rename(path.with_name(path.name + ".damaged"))
                warn(f"{path} is damaged, and moved aside: its file is traced again")
            else:
                self.earlier[record.path] = record
        numbers = [int(found[1]) for p in folder.iterdir() if (found := _NAME.fullmatch(p.name))]
        self._number = max(numbers, default=-1) + 1

    def add(self, record: FileTrace, rows: Iterable[TraceRow]) -> None:
        """A file that is done, on the disk when this returns."""
        columns = [dataclasses.asdict(row) for row in rows]
        table = pa.Table.from_pylist(columns, SCHEMA)
        told = json.dumps({"version": _VERSION, **dataclasses.asdict(record)}, ensure_ascii=False)
        out = io.BytesIO()
        with pq.ParquetWriter(out, SCHEMA, **_WRITING) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({_RECORD: told.encode()})
        publish(self._folder / f"part-{self._number:06d}.parquet", out.getvalue())
        self._number += 1


# ------------------------------------------------------------------------------- reading


def read_files(path: Path, warn: Warn) -> list[FileTrace]:
    """The files of a trace, sorted, each as it was traced last."""
    found = {record.path: record for record, _ in _records(path, warn)}
    return [found[name] for name in sorted(found)]


def read_rows(path: Path, warn: Warn) -> Iterator[TraceRow]:
    """The steps of a trace, file by file, proofs one after the other."""
    latest = {record.path: part for record, part in _records(path, warn)}
    for name in sorted(latest):
        yield from _rows(latest[name])


def read_parts(path: Path, warn: Warn) -> Iterator[tuple[FileTrace, list[TraceRow]]]:
    """The files of a trace, each with its steps, as they were when this began."""
    latest = {record.path: (record, part) for record, part in _records(path, warn)}
    for name in sorted(latest):
        record, part = latest[name]
        yield record, list(_rows(part))


def _rows(part: Path) -> Iterator[TraceRow]:
    with pq.ParquetFile(part, page_checksum_verification=True) as file:
        for batch in file.iter_batches():
            for row in batch.to_pylist():
                lists = {name: tuple(row.get(name, ())) for name in ("constants", "premises")}
                yield TraceRow(**{**row, **lists})


def is_trace(path: Path) -> bool:
    """Whether a folder is a trace."""
    return any((path / PARTS).glob("part-*.parquet"))


def _records(path: Path, warn: Warn) -> Iterator[tuple[FileTrace, Path]]:
    """What each part says, in the order in which they were written."""
    if not is_trace(path):
        raise InputError(
            f"{path} holds no trace", hint="`burn-qed data trace PATH --out DIR` makes one"
        )
    for part in _parts(path / PARTS):
        record = _record(part)
        if record is None:
            warn(f"{part} is damaged, and left out")
        else:
            yield record, part


def _parts(folder: Path) -> list[Path]:
    found = [m for p in folder.iterdir() if (m := _NAME.fullmatch(p.name)) and not m[2]]
    return [folder / m[0] for m in sorted(found, key=lambda m: int(m[1]))]


def _record(path: Path) -> FileTrace | None:
    """What the footer of a part says; None where the part is not whole."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            told = json.loads(file.metadata.metadata[_RECORD])
            if told["version"] > _VERSION:
                raise InputError(f"{path} was written by a newer burn-qed", hint="upgrade burn-qed")
            for batch in file.iter_batches(columns=["depth"]):
                batch.validate()
    except (pa.ArrowException, KeyError, TypeError, ValueError):
        return None
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise InfrastructureError(f"cannot read {path}: {error.strerror}") from error
        return None
    del told["version"]
    theorems = tuple(TheoremTrace(**theorem) for theorem in told.pop("theorems"))
    return FileTrace(**{**told, "imports": tuple(told["imports"])}, theorems=theorems)
