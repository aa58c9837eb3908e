"""Steps and whole proofs from files: JSON lines, or Parquet with the same columns.

    {"state", "tactic", "theorem", "depth"}       and, if there are, "source", "after"
    {"theorem", "statement", "proof"}             and, if there are, "context", "source"

Further columns are kept beside a row for whoever counts them. A row that cannot be read does not end
the reading: it is told to `on_bad`, with its file and line.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError
from burnqed.data.steps import Step, WholeProof

OnBad = Callable[[InputError], None]

_STEP = ("state", "tactic", "theorem", "depth")
STEP_HINT = 'a row is {"state": "…", "tactic": "…", "theorem": "…", "depth": 0}'
_PROOF_HINT = 'a row is {"theorem": "…", "statement": "…", "proof": "…"}, or one of a step'
_SUFFIXES = (".jsonl", ".parquet")
_BATCH = 1024  # rows of a Parquet file at once
_SHOWN_BAD = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it was meant, with all its columns as they were written."""

    record: Step | WholeProof
    columns: Mapping[str, Any]


@dataclass(slots=True)
class BadRows:
    """Rows that could not be read: how many, and what is wrong with the first ten."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, problem: InputError) -> None:
        self.count += 1
        if len(self.first) < _SHOWN_BAD:
            self.first.append(problem.message)


@dataclass(frozen=True, slots=True)
class Input:
    """What was named on the command line, and the files that it stands for.

    `label`, if one was given, is the source of all its rows; else `name` is, of those that name none.
    `reader` reads files of another form than ours.
    """

    given: str
    files: tuple[Path, ...]
    name: str
    label: str | None = None
    reader: Callable[[OnBad], Iterator[Row]] | None = None

    def checksum(self) -> str:
        """Of what is in the files, in order."""
        digest = hashlib.sha256()
        for path in self.files:
            try:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        return digest.hexdigest()


# --------------------------------------------------------------------------------- opening


def find_input(given: str) -> Input:
    """`PATH` or `NAME=PATH`; a folder stands for the row files that are in it, by name."""
    label, path = None, Path(given)
    try:
        if not path.exists() and "=" in given:
            label, _, rest = given.partition("=")
            path = Path(rest).expanduser()
            if not label or not rest:
                raise InputError(f"no input: {given}", hint="PATH, or NAME=PATH to name the source")
        if path.is_dir():
            files = [p for p in sorted(path.rglob("*")) if p.suffix in _SUFFIXES and p.is_file()]
            seen = tuple(p for p in files if not _is_hidden(p.relative_to(path)))
            if not seen:
                raise InputError(f"{path} has no .jsonl or .parquet files in it")
            return Input(given, seen, path.resolve().name, label)
        if path.exists():
            return replace(file_input(path), given=given, label=label)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    raise InputError(
        f"there is no file {path}",
        hint="a .jsonl or .parquet file of steps, or a folder of them; NAME=PATH names the source",
    )


def file_input(path: Path) -> Input:
    """One file."""
    return Input(str(path), (path,), path.stem)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def open_rows(given: str | Input, on_bad: OnBad) -> Iterator[Row]:
    """Steps and whole proofs, each row taken for what its columns say that it is."""
    found = find_input(given) if isinstance(given, str) else given
    if found.reader is not None:
        yield from found.reader(on_bad)
        return
    for where, row, source in _raw(found, on_bad, None):
        try:
            record = step_of(row, where, source) if "tactic" in row else _proof_of(row, where, source)
        except InputError as error:
            on_bad(error)
        else:
            yield Row(record, row)


def open_steps(given: str | Input, on_bad: OnBad) -> Iterator[Step]:
    """The steps of an input, one after the other and never all at once."""
    found = find_input(given) if isinstance(given, str) else given
    if found.reader is not None:
        yield from (row.record for row in found.reader(on_bad) if isinstance(row.record, Step))
        return
    for where, row, source in _raw(found, on_bad, (*_STEP, "source", "after")):
        try:
            step = step_of(row, where, source)
        except InputError as error:
            on_bad(error)
        else:
            yield step


def refuse(problem: InputError) -> None:
    """For those who take all rows or none: the first bad one is an error."""
    raise problem


# ------------------------------------------------------------------------------------ rows


def step_of(row: Mapping[str, Any], where: str, source: str) -> Step:
    """The step that a row says."""
    for key in _STEP:
        if key not in row and "proof" in row:
            raise InputError(f"{where} is a whole proof and no step", hint=STEP_HINT)
        if key not in row:
            raise InputError(f"{where} has no {key!r}", hint=STEP_HINT)
    depth, after = row["depth"], row.get("after")
    if isinstance(depth, bool) or not isinstance(depth, int) or not 0 <= depth < 2**31:
        raise InputError(f"{where}: 'depth' is not a number of steps: {depth!r}", hint=STEP_HINT)
    return Step(
        source,
        _text(row, "theorem", where, STEP_HINT),
        _text(row, "state", where, STEP_HINT),
        # The sampler takes the space around a tactic off, so it is not to be learnt either.
        _text(row, "tactic", where, STEP_HINT).strip(),
        depth,
        None if after is None else _text(row, "after", where, STEP_HINT, empty=True),
    )


def _proof_of(row: Mapping[str, Any], where: str, source: str) -> WholeProof:
    """A proof may be empty, or missing: that is something to count, and no fault of the row."""
    for key in ("theorem", "statement"):
        if key not in row:
            raise InputError(f"{where} has no {key!r}", hint=_PROOF_HINT)
    return WholeProof(
        source,
        _text(row, "theorem", where, _PROOF_HINT),
        _text(row, "statement", where, _PROOF_HINT),
        _text(row, "proof", where, _PROOF_HINT, empty=True),
        _text(row, "context", where, _PROOF_HINT, empty=True),
    )


def _text(row: Mapping[str, Any], key: str, where: str, hint: str, empty: bool = False) -> str:
    text = row.get(key)
    if empty and text is None:
        return ""
    if not isinstance(text, str) or not (empty or text.strip()):
        raise InputError(f"{where}: {key!r} is not a text, or is empty", hint=hint)
    try:
        text.encode()
    except UnicodeEncodeError as error:  # JSON can name halves of characters
        raise InputError(f"{where}: {key!r} is no text that can be written", hint=hint) from error
    return text


# ----------------------------------------------------------------------------------- files


def _raw(
    found: Input, on_bad: OnBad, columns: Sequence[str] | None
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each row's place, its columns (only these, where a file can be read by columns), its source.

    A label of the command line is the last word about the source, then what the row says, then the
    name of the file or folder.
    """
    for path in found.files:
        rows = _parquet(path, columns) if path.suffix == ".parquet" else _json_lines(path, on_bad)
        for where, row in rows:
            source = found.label
            if source is None:
                try:
                    source = _text(row, "source", where, STEP_HINT, empty=True) or found.name
                except InputError as error:
                    on_bad(error)
                    continue
            yield where, row, source


def _json_lines(path: Path, on_bad: OnBad) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                where = f"{path}, line {number}"
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if not line.strip():
                    continue
                try:
                    row = json.loads(line.decode())
                except UnicodeDecodeError as error:
                    on_bad(InputError(f"{where} is not UTF-8: {error}", hint=STEP_HINT))
                except (ValueError, RecursionError) as error:
                    on_bad(InputError(f"{where} is no JSON: {error}", hint=STEP_HINT))
                else:
                    if isinstance(row, dict):
                        yield where, row
                    else:
                        on_bad(InputError(f"{where} is no JSON object", hint=STEP_HINT))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _parquet(path: Path, columns: Sequence[str] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            present = file.schema_arrow.names
            missing = [name for name in _STEP if columns and name not in present]
            if missing:
                raise InputError(f"{path} has no column {missing[0]!r}", hint=STEP_HINT)
            wanted = None if columns is None else [name for name in columns if name in present]
            for batch in file.iter_batches(_BATCH, columns=wanted):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read {path} behind row {number}: {error}") from error
