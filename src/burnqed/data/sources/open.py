"""From what a user names to the rows of it: a source, `SOURCE=PATH`, or a path alone.

A name is read from what `burn-qed data fetch` brought here. A path is read where it is, and without a
name what it is, is told by its columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from burnqed.core.errors import CorruptError, InputError
from burnqed.data.benchmarks import BENCHMARKS, Repository, theorem_set
from burnqed.data.fetch import read_copy
from burnqed.data.index import TheoremIndex, parse_index, read_index
from burnqed.data.prover_jsonl import read_prover_jsonl
from burnqed.data.sources import goedel, lean_github, lean_workbook, leandojo, numina, written
from burnqed.data.sources.declared import Format, Kind, Named, SourceInfo, Stated
from burnqed.data.sources.files import Part, describe, locate
from burnqed.data.sources.rows import Notes, Row, columns_of, misfit, rows_of
from burnqed.data.sources.stored import Record, stored
from burnqed.data.steps import Step, WholeProof

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
)
_WRITTEN = (
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
    """A source that has been found: reading it can begin. `record` is of one that was fetched."""

    info: SourceInfo
    parts: tuple[Part, ...]
    record: Record | None = None
    index: TheoremIndex | None = None

    def rows(self, notes: Notes) -> Iterator[Row]:
        """Its rows as they are; afterwards their number is compared with what is known of it."""
        found = 0
        for row in rows_of(self.info, self.parts, notes):
            found += 1
            yield row
        if self.record is not None and found != self.record.rows:
            raise CorruptError(
                f"{self.info.name} has {found} rows, and had {self.record.rows} when it was fetched",
                hint=f"burn-qed data fetch {self.info.name} --again",
            )
        if self.record is None and self.info.rows not in (None, found):
            notes.on_problem(
                f"{self._where} has {found} rows; all of {self.info.name} is {self.info.rows}"
            )

    def steps(self, notes: Notes) -> Iterator[Step]:
        read = _READERS[self.info.name].steps if self.index is None else None
        if read is None:
            raise self._gives_no("steps")
        return read(self.rows(notes), notes)

    def proofs(self, notes: Notes) -> Iterator[WholeProof]:
        read = _READERS[self.info.name].proofs if self.index is None else None
        if read is None:
            raise self._gives_no("proofs")
        return read(self.rows(notes), notes)

    def statements(self, notes: Notes) -> Iterator[Stated]:
        if self.index is not None:
            found = len(self.index.entries)
            if self.info.rows not in (None, found):
                notes.on_problem(f"{self.info.name} has {found} theorems, not {self.info.rows}")
            return written.stated(self.index, notes)
        read = _READERS[self.info.name].statements
        if read is None:
            raise self._gives_no("statements")
        return read(self.rows(notes), notes)

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
    """`SOURCE`, `SOURCE=PATH` or `PATH`: the source and its files."""
    name, equals, path = given.partition("=")
    if equals and name in _READERS:
        if not path:
            raise InputError(f"{given} names no path", hint=f"{name}=PATH, or {name} alone")
        return open_path(_READERS[name].info, Path(path))
    if equals and name in BENCHMARKS:
        return _of_index(name, read_copy(BENCHMARKS[name], Path(path)))
    if equals and not os.path.exists(given):  # noqa: PTH110
        known = [*_READERS, *(info.name for info in sources() if info.name not in _READERS)]
        raise InputError(f"no source {name}", hint=f"one of: {', '.join(known)}")
    if given in _READERS:
        return _fetched(_READERS[given].info)
    if given in BENCHMARKS:
        return _of_index(given, theorem_set(given))
    if not os.path.exists(given):  # noqa: PTH110
        raise InputError(
            f"there is no source and no file {given}",
            hint="`burn-qed data sources` lists the names; a path may be given alone or as SOURCE=PATH",
        )
    return _recognised(Path(given))


def open_path(info: SourceInfo, path: Path) -> Opened:
    """A source whose files are at this path."""
    parts = locate(path, info.files)
    if not parts:
        wanted = ", ".join(info.files) or "files of data"
        raise InputError(
            f"{path} has nothing of {info.name}: there is {describe(path)}",
            hint=f"it should have {wanted}; a file can be given itself",
        )
    return Opened(info, parts)


def _fetched(info: SourceInfo) -> Opened:
    if info not in (readers.info for readers in _PUBLISHED):
        raise InputError(
            f"{info.name} is a format, and no source of its own", hint=f"{info.name}=PATH reads a file"
        )
    record, parts = stored(info)
    return Opened(info, parts, record)


def _recognised(path: Path) -> Opened:
    """By the columns of its files: the one source that they fit."""
    fitting, misfits = list[Opened](), dict[str, str]()
    for readers in _READERS.values():
        parts = locate(path, readers.info.files)
        if not parts:
            continue
        wrong = next((w for p in parts[:_MANY] if (w := misfit(readers.info, columns_of(p)))), "")
        if wrong:
            misfits[readers.info.name] = wrong
        else:
            fitting.append(Opened(readers.info, parts))
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
        return _of_index(str(path), index)
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


def _of_index(name: str, index: TheoremIndex) -> Opened:
    declared = next((info for info in sources() if info.name == name), None)
    own = SourceInfo(name, f"the theorems of {index.name}", ("statements",), Format(), "", "")
    return Opened(declared or own, (), index=index)
