"""The rows of a file, one by one, each checked against the columns that its source declares.

JSON (a list, or lines), gzip of it, and Parquet; told apart by how a file begins and not by its name.
A row that cannot be read is told, and reading goes on behind it if that is wanted. A file that cannot
be read, or that has other columns than a published set, is an error.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from burnqed.core.errors import InputError
from burnqed.data.json_stream import elements, first_value
from burnqed.data.sources.declared import Column, Shape, SourceInfo
from burnqed.data.sources.files import Part, open_part

_Binary = IO[bytes] | gzip.GzipFile
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_SHOWN_BAD = 10
_BATCH = 1024  # rows of Parquet in memory at once
_PYTHON: dict[Shape, type | tuple[type, ...]] = {
    "text": str, "number": (int, float), "list": list, "object": dict, "any": object,
}  # fmt: skip


def refuse(problem: InputError) -> None:
    """For those who take all rows or none: the first bad one is an error."""
    raise problem


@dataclass(slots=True)
class Notes:
    """What a reading came across beside what it yielded; `counts["rows"]` are the rows so far.

    `on_bad` hears of rows that cannot be read, and `on_row` of each other one, with all its columns as
    they were written.
    """

    on_problem: Callable[[str], None] = lambda _: None
    on_bad: Callable[[InputError], None] = refuse
    on_row: Callable[[Mapping[str, Any]], None] | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def beside(self) -> dict[str, int]:
        """All that was counted besides rows."""
        return {what: count for what, count in sorted(self.counts.items()) if what != "rows"}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is wrong with a row costs this row."""
        try:
            yield
        except InputError as problem:
            self.on_bad(problem)


@dataclass(slots=True)
class BadRows:
    """Rows that could not be read: how many, and what is wrong with the first ten."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, problem: InputError) -> None:
        self.count += 1
        if len(self.first) < _SHOWN_BAD:
            self.first.append(problem.message)

    def tell(self, warn: Callable[[str], None]) -> None:
        for problem in self.first:
            warn(problem)
        if self.count > len(self.first):
            warn(f"and {self.count - len(self.first)} more such rows")


@dataclass(frozen=True, slots=True)
class Row:
    """A row that has the declared columns, and where it stands; `source` is what it is called."""

    values: dict[str, Any]
    part: Part
    number: int
    source: str = ""
    unit: str = "row"

    @property
    def where(self) -> str:
        return f"{self.part}, {self.unit} {self.number}"

    def wrong(self, what: str) -> InputError:
        return InputError(f"{self.where}: {what}")

    def text(self, column: str) -> str:
        """A text that must be there and say something."""
        value = self.values[column]
        if not value.strip():
            raise self.wrong(f"`{column}` is empty")
        return str(value)


def rows_of(info: SourceInfo, parts: Iterable[Part], notes: Notes, source: str = "") -> Iterator[Row]:
    """Every row of these files, in order."""
    for part in parts:
        before = notes.counts["rows"]
        if info.extendable and part.is_empty:
            continue  # of our own files, some have nothing to say
        yield from _rows(info, part, notes, source)
        if notes.counts["rows"] == before:
            raise InputError(f"{part} has no rows")


def columns_of(part: Part) -> tuple[str, ...]:
    """The columns of a file's first row; none where its first value is not a row."""
    with _opened(part) as file:
        if _begins(file, _PARQUET):
            return tuple(_parquet(part, file).schema_arrow.names)
        with _json(part, file, errors="replace") as text:
            first = first_value(text)
        return tuple(first) if isinstance(first, dict) else ()


def misfit(info: SourceInfo, columns: Iterable[str]) -> str:
    """What these columns lack, or have besides what is declared; empty where they fit."""
    there = set(columns)
    missing = [c.name for c in info.columns if c.needed and c.name not in there]
    unknown = sorted(there - {c.name for c in info.columns}) if not info.extendable else []
    said = [
        f"{what} {', '.join(f'`{name}`' for name in names)}"
        for what, names in (("lacks", missing), ("has unknown", unknown))
        if names
    ]
    return " and ".join(said)


# ------------------------------------------------------------------------------------- reading


def _rows(info: SourceInfo, part: Part, notes: Notes, source: str) -> Iterator[Row]:
    with _opened(part) as file:
        read = _parquet_rows if _begins(file, _PARQUET) else _json_rows
        yield from read(info, part, file, notes, source)


def _json_rows(info: SourceInfo, part: Part, file: _Binary, notes: Notes, source: str) -> Iterator[Row]:
    is_list = _first_mark(file) == b"["
    fine: set[tuple[str, ...]] = set()  # mostly one
    names = {column.name for column in info.columns}
    for number, value in _elements(part, file) if is_list else _lines(part, file, notes):
        notes.counts["rows"] += 1
        row = Row(value, part, number, source, "row" if is_list else "line")
        problem = None
        if not isinstance(value, dict):
            problem = InputError(f"{row.where} is not a JSON object", hint=_expected(info))
        elif (there := tuple(value)) not in fine:
            if wrong := misfit(info, value):
                problem = _wrong_columns(info, row.where, wrong)
            else:
                fine.add(there)
        if problem is not None:
            if not info.extendable:
                raise problem
            notes.on_bad(problem)
            continue
        with notes.reading():
            for column in info.columns:
                found = value.get(column.name)
                # A quick look first, since there are millions of them.
                if not (column.shape == "text" and found.__class__ is str and found.isascii()):
                    _check(row, column, found)
            if notes.on_row is not None:
                notes.on_row(value)
            for name in names - value.keys():
                value[name] = None
            yield row


def _lines(part: Part, file: _Binary, notes: Notes) -> Iterator[tuple[int, Any]]:
    """The values of JSON lines, each with the number of its line."""
    for number, line in enumerate(file, start=1):
        text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        if not text.strip():
            continue
        try:
            yield number, json.loads(text.decode())
        except UnicodeDecodeError as error:
            why = f"is not UTF-8: {error.reason} at byte {error.start}"
        except RecursionError:
            why = "is not JSON: it is nested too deeply"
        except ValueError as error:
            why = f"is not JSON: {error}"
        else:
            continue
        notes.counts["rows"] += 1
        notes.on_bad(InputError(f"{part}, line {number} {why}", hint="is the file whole?"))


def _elements(part: Part, file: _Binary) -> Iterator[tuple[int, Any]]:
    with _json(part, file) as text:
        yield from elements(text)


def _parquet_rows(
    info: SourceInfo, part: Part, file: _Binary, notes: Notes, source: str
) -> Iterator[Row]:
    parquet = _parquet(part, file)
    schema = parquet.schema_arrow
    if wrong := misfit(info, schema.names):
        raise _wrong_columns(info, str(part), wrong)
    here = [column for column in info.columns if column.name in schema.names]
    absent = {column.name: None for column in info.columns if column not in here}
    for column in here:
        found = str(schema.field(column.name).type)
        if not _fits(found, column.shape):
            raise InputError(
                f"{part}: column `{column.name}` is {found}, and should be {column.shape}",
                hint=_expected(info),
            )
    wanted = None if notes.on_row is not None else [column.name for column in here]
    number = 0
    for batch in parquet.iter_batches(_BATCH, columns=wanted):
        for read in batch.to_pylist():
            number += 1
            notes.counts["rows"] += 1
            row = Row({**absent, **read}, part, number, source)
            with notes.reading():
                for column in here:
                    _check(row, column, read[column.name])
                if notes.on_row is not None:
                    notes.on_row(read)
                yield row


def _check(row: Row, column: Column, value: Any) -> None:
    if value is None:
        if column.needed and not column.null and column.shape != "any":
            raise row.wrong(f"`{column.name}` has no value")
    elif not isinstance(value, _PYTHON[column.shape]) or (
        column.shape == "number" and isinstance(value, bool)
    ):
        raise row.wrong(f"`{column.name}` is {_kind(value)}, and should be {column.shape}")
    elif isinstance(value, str) and not _is_unicode(value):
        raise row.wrong(f"`{column.name}` is not valid Unicode text")


def _kind(value: Any) -> str:
    for shape, types in _PYTHON.items():
        if isinstance(value, types) and not isinstance(value, bool):
            return shape
    return type(value).__name__


def _is_unicode(text: str) -> bool:
    """JSON can say half a surrogate pair, which nothing after it could write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fits(arrow: str, shape: Shape) -> bool:
    """Whether a column of this Arrow type can hold what is declared."""
    begins = {
        "text": ("string", "large_string", "dictionary<values=string"),
        "number": ("int", "uint", "float", "double", "halffloat"),
        "list": ("list", "large_list", "fixed_size_list"),
        "object": ("struct", "map"),
    }
    return shape == "any" or arrow == "null" or arrow.startswith(begins[shape])


def _wrong_columns(info: SourceInfo, where: str, wrong: str) -> InputError:
    return InputError(
        f"{where} {wrong}: these are not the columns of {info.name}", hint=_expected(info)
    )


def _expected(info: SourceInfo) -> str:
    needed = ", ".join(column.name for column in info.columns if column.needed)
    more = ", ".join(column.name for column in info.columns if not column.needed)
    return f"{info.name} has the columns {needed}" + (f" (and perhaps {more})" if more else "")


# ------------------------------------------------------------------------------------- opening


@contextmanager
def _opened(part: Part) -> Iterator[_Binary]:
    """The file, unpacked if it is gzip; whatever goes wrong with it is told with its name."""
    try:
        with open_part(part) as raw:
            if _begins(raw, _GZIP):
                with gzip.open(raw) as file:
                    yield _nonempty(part, file)
            else:
                yield _nonempty(part, raw)
    except InputError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{part} is a broken archive: {error}", hint="fetch it again") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{part} is not UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise InputError(f"cannot read {part}: {error.strerror or error}") from error
    except ValueError as error:  # also what pyarrow raises
        raise InputError(
            f"{part} cannot be read: {error}", hint="is it whole? fetch it again"
        ) from error


def _nonempty(part: Part, file: _Binary) -> _Binary:
    if not file.read(1):
        raise InputError(f"{part} is empty")
    file.seek(0)
    return file


def _first_mark(file: _Binary) -> bytes:
    """The first character that is no space; none where the file has nothing else."""
    begun = file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
    while not begun.strip() and (block := file.read(64)):
        begun = block
    file.seek(0)
    return begun.lstrip()[:1]


def _begins(file: _Binary, magic: bytes) -> bool:
    found = file.read(len(magic))
    file.seek(0)
    return found == magic


@contextmanager
def _json(part: Part, file: _Binary, errors: str = "strict") -> Iterator[io.TextIOWrapper]:
    try:
        with io.TextIOWrapper(file, "utf-8-sig", errors, newline="\n") as text:
            yield text
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise InputError(f"{part} is not JSON: {error}", hint="is it whole? fetch it again") from error


def _parquet(part: Part, file: _Binary) -> Any:
    import pyarrow.parquet as pq

    if part.member:
        raise InputError(f"{part}: Parquet inside of an archive is not read", hint="unpack the archive")
    return pq.ParquetFile(file)
