"""From what a user names to the rows of it: a source, `SOURCE=PATH`, `NAME=PATH`, or a path alone.

A source is read from what `burn-qed data fetch` brought here. A path is read where it is, and without a
source what it is, is told by its columns; another name is what its rows are then called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from burnqed.core.errors import CorruptError, InputError
from burnqed.data.benchmarks import BENCHMARKS, Repository, theorem_set
from burnqed.data.fetch import read_copy
from burnqed.data.index import TheoremIndex, parse_index, read_index
from burnqed.data.prover_jsonl import read_prover_jsonl
from burnqed.data.sources import (
    goedel,
    lean_github,
    lean_library,
    lean_workbook,
    leandojo,
    numina,
    written,
)
from burnqed.data.sources.declared import Format, Kind, Named, SourceInfo, Stated
from burnqed.data.sources.files import Part, describe, digest_of, locate
from burnqed.data.sources.rows import Notes, Row, columns_of, misfit, rows_of
from burnqed.data.sources.stored import Record, stored
from burnqed.data.steps import Step, WholeProof

_Given = TypeVar("_Given", Step, WholeProof, Stated)
_MANY = 3  # files of a folder that are looked at to tell what it is


@dataclass(frozen=True, slots=True)
class _Readers:
    """How the rows of a source are read, as each of the things that it gives."""

    info: SourceInfo
    steps: Callable[[Iterable[Row], Notes], Iterator[Step]] | None = None
    proofs: Callable[[Iterable[Row], Notes], Iterator[WholeProof]] | None = None
    statements: Callable[[Iterable[Row], Notes], Iterator[Stated]] | None = None


_PUBLISHED = (
    _Readers(leandojo.INFO, steps=leandojo.steps),
    _Readers(lean_github.INFO, steps=lean_github.steps),
    _Readers(lean_workbook.STEPS, steps=lean_workbook.steps),
    _Readers(lean_workbook.PROBLEMS, proofs=lean_workbook.proofs, statements=lean_workbook.statements),
    _Readers(goedel.INFO, proofs=goedel.proofs, statements=goedel.statements),
    _Readers(numina.INFO, proofs=numina.proofs, statements=numina.statements),
    _Readers(lean_library.INFO),
)
_WRITTEN = (
    _Readers(written.TRACE, steps=written.steps),
    _Readers(written.STEPS, steps=written.steps),
    _Readers(written.PROOFS, proofs=written.proofs),
)
_READERS = {readers.info.name: readers for readers in (*_PUBLISHED, *_WRITTEN)}
# How many theorems they have, where it is known.
_BENCHMARK_ROWS = {
    "minif2f-valid": 244, "minif2f-test": 244, "proofnet-valid": 185, "proofnet-test": 186,
}  # fmt: skip


def sources() -> tuple[SourceInfo, ...]:
    """The sources that go by a name, and the benchmarks as sources of statements."""
    named = tuple(
        SourceInfo(
            b.name, b.about, ("statements",), Named(b.name, b.pin), b.licence, "needs Mathlib",
            _BENCHMARK_ROWS.get(b.name),
        )
        for b in BENCHMARKS.values()
        if isinstance(b.origin, Repository)
    )  # fmt: skip
    return (*(readers.info for readers in _PUBLISHED), *named)


def source(name: str) -> SourceInfo:
    """A published source by its name."""
    for readers in _PUBLISHED:
        if readers.info.name == name:
            return readers.info
    known = ", ".join(readers.info.name for readers in _PUBLISHED)
    raise InputError(f"no source {name}", hint=f"one of: {known}")


# ------------------------------------------------------------------------------------ reading


@dataclass(frozen=True, slots=True)
class Opened:
    """A source that has been found: reading it can begin. `record` is of one that was fetched.

    `label`, if one was given, is the source of all its rows; else rows that name none are of `name`.
    """

    info: SourceInfo
    parts: tuple[Part, ...]
    given: str
    name: str
    label: str | None = None
    record: Record | None = None
    index: TheoremIndex | None = None

    @property
    def is_published(self) -> bool:
        """Whether it is a set of others: what its rows call their source is something else."""
        return not self.info.extendable

    def checksum(self) -> str:
        """Of what is in it."""
        return digest_of(self.parts) if self.index is None else self.index.checksum

    def rows(self, notes: Notes) -> Iterator[Row]:
        """Its rows as they are; afterwards their number is compared with what is known of it."""
        before = notes.counts["rows"]
        if self.info is written.TRACE:
            yield from written.traced_rows(self.parts, notes, self.name)
        else:
            yield from rows_of(self.info, self.parts, notes, self.name)
        found = notes.counts["rows"] - before
        if self.record is not None and found != self.record.rows:
            raise CorruptError(
                f"{self.info.name} has {found} rows, and had {self.record.rows} when it was fetched",
                hint=f"burn-qed data fetch {self.info.name} --again",
            )
        if self.record is None and self.info.rows not in (None, found):
            notes.on_problem(
                f"{self._where} has {found} rows; all of {self.info.name} is {self.info.rows}"
            )

    def records(self, notes: Notes) -> Iterator[Step | WholeProof]:
        """Whatever it gives: steps, else whole proofs, else statements as proofs that are empty."""
        if "steps" in self.info.gives:
            yield from self.steps(notes)
        elif "proofs" in self.info.gives:
            yield from self.proofs(notes)
        else:
            for one in self.statements(notes):
                yield WholeProof(one.source, one.theorem, one.statement, "", one.context)

    def steps(self, notes: Notes) -> Iterator[Step]:
        read = _READERS[self.info.name].steps if self.index is None else None
        if read is None:
            raise self._gives_no("steps")
        return self._labelled(read(self.rows(notes), notes))

    def proofs(self, notes: Notes) -> Iterator[WholeProof]:
        read = _READERS[self.info.name].proofs if self.index is None else None
        if read is None:
            raise self._gives_no("proofs")
        return self._labelled(read(self.rows(notes), notes))

    def statements(self, notes: Notes) -> Iterator[Stated]:
        if self.index is not None:
            found = len(self.index.entries)
            if self.info.rows not in (None, found):
                notes.on_problem(f"{self.info.name} has {found} theorems, not {self.info.rows}")
            return self._labelled(written.stated(self.index, notes))
        read = _READERS[self.info.name].statements
        if read is None:
            raise self._gives_no("statements")
        return self._labelled(read(self.rows(notes), notes))

    def _labelled(self, found: Iterator[_Given]) -> Iterator[_Given]:
        label = self.label
        return found if label is None else (replace(one, source=label) for one in found)

    @property
    def _where(self) -> str:
        return ", ".join(str(part) for part in self.parts)

    def _gives_no(self, kind: Kind) -> InputError:
        gives = " and ".join(self.info.gives)
        hint = {
            "steps": "`burn-qed data trace` makes steps of whole proofs",
            "proofs": "`burn-qed data sources` says what gives proofs",
            "statements": "`burn-qed data sources` says what gives statements",
        }[kind]
        if "files" in self.info.gives:
            hint = f"`burn-qed data trace {self.info.name}` makes steps of its proofs"
        return InputError(f"{self.info.name} has no {kind}: it is a source of {gives}", hint=hint)


def read_steps(given: str, notes: Notes | None = None) -> Iterator[Step]:
    """The steps of a source, one by one. A bad `given` is told at once, a bad row when it is read."""
    return open_source(given).steps(notes or Notes())


def read_proofs(given: str, notes: Notes | None = None) -> Iterator[WholeProof]:
    return open_source(given).proofs(notes or Notes())


def read_statements(given: str, notes: Notes | None = None) -> Iterator[Stated]:
    return open_source(given).statements(notes or Notes())


# ------------------------------------------------------------------------------------ opening


def open_source(given: str) -> Opened:
    """`SOURCE`, `SOURCE=PATH`, `NAME=PATH` or `PATH`: the source and its files."""
    name, equals, path = given.partition("=")
    if given in _READERS:
        return _fetched(_READERS[given].info)
    if given in BENCHMARKS:
        return _of_index(given, given, theorem_set(given))
    if os.path.exists(given):  # noqa: PTH110
        return _recognised(given, Path(given))
    if not equals:
        raise InputError(
            f"there is no source and no file {given}",
            hint="`burn-qed data sources` lists the names; a path may be given alone or as SOURCE=PATH",
        )
    if not path or not name:
        raise InputError(f"{given} names no path", hint="SOURCE=PATH, or NAME=PATH to give it a name")
    if name in _READERS:
        return replace(open_path(_READERS[name].info, Path(path)), given=given)
    if name in BENCHMARKS:
        return _of_index(given, name, read_copy(BENCHMARKS[name], Path(path)))
    if not os.path.exists(path):  # noqa: PTH110
        raise InputError(
            f"there is no file {path} to read as {name}",
            hint="`burn-qed data sources` lists what can be read without one",
        )
    return replace(_recognised(given, Path(path)), label=name)


def open_path(info: SourceInfo, path: Path) -> Opened:
    """A source whose files are at this path."""
    parts = _parts(info, path)
    if not parts:
        wanted = ", ".join(info.files) or "files of data"
        raise InputError(
            f"{path} has nothing of {info.name}: there is {describe(path)}",
            hint=f"it should have {wanted}; a file can be given itself",
        )
    return Opened(info, parts, str(path), _name(info, path))


def _parts(info: SourceInfo, path: Path) -> tuple[Part, ...]:
    return written.traced_parts(path) if info is written.TRACE else locate(path, info.files)


def _name(info: SourceInfo, path: Path) -> str:
    """What rows are called that name no source: as the set, else as their folder or file."""
    if not info.extendable:
        return info.name
    path = path.resolve()
    return path.name if path.is_dir() else path.name.removesuffix(".gz").rsplit(".", 1)[0]


def _fetched(info: SourceInfo) -> Opened:
    if info not in (readers.info for readers in _PUBLISHED):
        raise InputError(
            f"{info.name} is a format, and no source of its own", hint=f"{info.name}=PATH reads a file"
        )
    record, parts = stored(info)
    return Opened(info, parts, info.name, info.name, record=record)


def _recognised(given: str, path: Path) -> Opened:
    """By the columns of its files: the one source that they fit."""
    if written.traced_parts(path):
        return replace(open_path(written.TRACE, path), given=given)
    fitting, misfits = list[Opened](), dict[str, str]()
    for readers in _READERS.values():
        if "files" in readers.info.gives:
            continue  # it has no rows to be known by
        parts = _parts(readers.info, path)
        looked_at = [part for part in parts if not part.is_empty][:_MANY] or parts[:1]
        if not parts:
            continue
        wrong = next((w for p in looked_at if (w := misfit(readers.info, columns_of(p)))), "")
        if wrong:
            misfits[readers.info.name] = wrong
        else:
            fitting.append(Opened(readers.info, parts, given, _name(readers.info, path)))
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = [opened.info.name for opened in fitting]
        raise InputError(
            f"{path} can be read as {' and as '.join(names)}",
            hint=f"say which: {' or '.join(f'{name}={path}' for name in names)}",
        )
    index = _index(path)
    if index is not None:
        return _of_index(given, str(path), index)
    nearest = min(misfits, key=lambda name: len(misfits[name])) if misfits else ""
    said = (
        f"the nearest is {nearest}: it {misfits[nearest]}" if nearest else f"there is {describe(path)}"
    )
    raise InputError(
        f"the columns of {path} are those of no source; {said}",
        hint="SOURCE=PATH reads it as that source, and says what is wrong with it",
    )


def _index(path: Path) -> TheoremIndex | None:
    """A file of theorems to be proved, if it is one: an index, or lines of header and statement."""
    columns = () if path.is_dir() else columns_of(Part(path))
    if "theorems" in columns:
        return read_index(path)
    if {"name", "formal_statement"} <= set(columns):
        lines = read_prover_jsonl(path)
        content = {"theorems": lines.entries, "imports": lines.imports}
        return parse_index(str(path), path.stem, content)
    return None


def _of_index(given: str, name: str, index: TheoremIndex) -> Opened:
    declared = next((info for info in sources() if info.name == name), None)
    own = SourceInfo(name, f"the theorems of {index.name}", ("statements",), Format(), "", "")
    return Opened(declared or own, (), given, index.name, index=index)
