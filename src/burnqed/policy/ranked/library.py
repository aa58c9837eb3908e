"""The theorems of the running Lean's library, as they print: what a proof may name.

Read once for each Lean and list of modules, by all workers together, and kept in the cache. That of the
embedded Lean comes with the package: nobody waits for it before the first proof.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from burnqed.core.cache import cache_root, lock
from burnqed.core.errors import CorruptError
from burnqed.core.files import publish
from burnqed.core.types import LibraryConstant, Negation, Theorem
from burnqed.lean import rules
from burnqed.lean.embedded.progress import Progress
from burnqed.lean.library import read_imports, read_theorems
from burnqed.lean.pool import Pool, run_sync
from burnqed.lean.process import LaunchSpec
from burnqed.lean.toolchain import Toolchain
from burnqed.policy.ranked.files import SHIPPED
from burnqed.policy.ranked.patterns import usable

_FORMAT = 4  # rises when other theorems are kept, or are kept otherwise
_SAYABLE = re.compile(r"[^\W\d][\w.'!?]*")  # a name that stands in a tactic as it is
_COLUMNS = ("name", "module", "statement")
_PATTERN = "pattern"
_SHIPPED = ("Init", "Std")  # the modules whose theorems come along


@dataclass(frozen=True)
class Library:
    """Theorems in the order in which they were declared, and which modules each module imports.

    `unusable` are those that `grind` can do nothing with.
    """

    names: tuple[str, ...]
    modules: tuple[str, ...]
    statements: tuple[str, ...]
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unusable: frozenset[str] = frozenset()

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def identity(self) -> str:
        """The same for the same theorems."""
        every = "\n".join((*self.names, *self.statements, *sorted(self.unusable)))
        return hashlib.sha256(every.encode()).hexdigest()[:16]

    def forbidden(self, theorem: Theorem) -> frozenset[int]:
        """What a proof of it may not use, as far as names and modules tell (docs/judge.md).

        Lean itself refuses a leak at each step; this keeps a policy from naming what will be refused.
        """
        statement = theorem.statement
        if isinstance(statement, Negation):
            statement = statement.statement
        if not isinstance(statement, LibraryConstant) or statement.name not in self.places:
            return frozenset()
        own = self.places[statement.name]
        if statement.leak_rule == "self":
            return frozenset({own})
        earlier = self._below([self.modules[own]])
        return frozenset(i for i, module in enumerate(self.modules) if module not in earlier)

    def within(self, modules: Sequence[str]) -> Library:
        """The part of it that somebody has who imports these modules alone."""
        there = {*modules, *self._below(modules)}
        places = [i for i, module in enumerate(self.modules) if module in there]
        names = tuple(self.names[i] for i in places)
        return Library(
            names,
            tuple(self.modules[i] for i in places),
            tuple(self.statements[i] for i in places),
            {module: own for module, own in self.imports.items() if module in there},
            self.unusable.intersection(names),
        )

    def _below(self, modules: Sequence[str]) -> set[str]:
        found: set[str] = set()
        todo = [one for module in modules for one in self.imports.get(module, ())]
        while todo:
            one = todo.pop()
            if one not in found:
                found.add(one)
                todo += self.imports.get(one, ())
        return found


def library_file(toolchain: Toolchain, modules: Sequence[str], project: Path | None) -> Path:
    """Where the library of this Lean with these modules is kept."""
    key = [str(_FORMAT), toolchain.label, *sorted(modules), *(_built(project) if project else ())]
    digest = hashlib.sha256("\n".join(key).encode()).hexdigest()[:16]
    return cache_root() / "library" / f"{toolchain.kind}-{digest}.parquet"


def _built(project: Path) -> Iterator[str]:
    """What a project's own modules and its packages were when they were last built."""
    yield str(project.resolve())
    manifest = project / "lake-manifest.json"
    yield manifest.read_text(encoding="utf-8") if manifest.is_file() else ""
    for file in sorted((project / ".lake" / "build").rglob("*.olean")):
        about = file.stat()
        yield f"{file} {about.st_size} {about.st_mtime_ns}"


def shipped_library(toolchain: Toolchain, modules: Sequence[str]) -> Library | None:
    """The one that comes along, as far as these modules go; None where it is not of this Lean, or where
    there are modules that it does not have.
    """
    path = SHIPPED / library_file(toolchain, _SHIPPED, None).name  # its name says which Lean it is of
    if not path.is_file():
        return None
    whole = read_library(path)
    return whole.within(modules) if whole.imports.keys() >= set(modules) else None


def shipped() -> Library:
    """All of the library that is shipped: that of the embedded Lean."""
    (path,) = SHIPPED.glob("embedded-*.parquet")
    return read_library(path)


def ensure_library(path: Path, spec: LaunchSpec, workers: int | None, progress: Progress) -> Library:
    """The library in this file; read from Lean first, if it is not there yet."""
    with lock(path):
        if not path.is_file():
            write_library(path, run_sync(read_from_lean(spec, workers, progress)))
    return read_library(path)


async def read_from_lean(spec: LaunchSpec, workers: int | None, progress: Progress) -> Library:
    """Every theorem of every loaded module, with its statement as it prints."""
    async with Pool(spec, workers) as pool:
        every = await read_theorems(pool, progress=progress)
        theorems = [one for one in every if _may_be_said(one.name)]
        imports = await read_imports(pool)
        names = tuple(one.name for one in theorems)
        progress.stage("asking what grind can use", len(names))
        used = await usable(pool, names, progress.at)
    return Library(
        names,
        tuple(one.module for one in theorems),
        tuple(one.statement for one in theorems),
        imports,
        frozenset(names) - used,
    )


def _may_be_said(name: str) -> bool:
    """Whether a tactic may name it: one that is refused would take others of its list with it.

    Nor an instance, for which `grind` has no use: Lean finds these by itself.
    """
    if _SAYABLE.fullmatch(name) is None or name.rpartition(".")[2].startswith("inst"):
        return False
    return not any(rules.violations(name))


def write_library(path: Path, library: Library) -> None:
    """Parquet: a row for each theorem; the imports are in its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = (library.names, library.modules, library.statements)
    table = pa.table({name: list(column) for name, column in zip(_COLUMNS, columns, strict=True)})
    has = pa.array([name not in library.unusable for name in library.names], pa.bool_())
    table = table.append_column(_PATTERN, has)
    table = table.replace_schema_metadata({b"burnqed.imports": json.dumps(library.imports).encode()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    publish(path, sink.getvalue().to_pybytes())


def read_library(path: Path) -> Library:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, page_checksum_verification=True)
        names, modules, statements = (tuple(table.column(name).to_pylist()) for name in _COLUMNS)
        has = table.column(_PATTERN).to_pylist()
        told = json.loads((table.schema.metadata or {}).get(b"burnqed.imports", b"{}"))
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise CorruptError(
            f"cannot read the library in {path}: {error}", hint="remove it: it is read from Lean again"
        ) from error
    imports = {module: tuple(own) for module, own in told.items()}
    unusable = frozenset(name for name, one in zip(names, has, strict=True) if not one)
    return Library(names, modules, statements, imports, unusable)
