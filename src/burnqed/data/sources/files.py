"""Where the files of a source are: a file, a folder laid out as it was published, or an archive."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import IO, Literal

from burnqed.core.errors import InputError

_DATA = (".parquet", ".jsonl", ".jsonl.gz")
_ARCHIVES = (".tar.gz", ".tgz", ".tar")


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or a member of an archive."""

    path: Path
    member: str = ""

    def __str__(self) -> str:
        return f"{self.path} ({self.member})" if self.member else str(self.path)

    @property
    def name(self) -> str:
        return PurePosixPath(self.member).name if self.member else self.path.name

    @property
    def is_empty(self) -> bool:
        """Whether it is a file of no bytes."""
        return not self.member and self.path.is_file() and self.path.stat().st_size == 0


@contextmanager
def open_part(part: Part) -> Iterator[IO[bytes]]:
    if not part.member:
        with part.path.open("rb") as file:
            yield file
        return
    with _tar(part.path) as archive:
        content = archive.extractfile(part.member)
        if content is None:
            raise InputError(f"{part} is not a file")
        with content:
            yield content


def locate(path: Path, patterns: Sequence[str]) -> tuple[Part, ...]:
    """The files below `path` that these patterns name, in the order of the patterns; `path`, if a file.

    A folder may be the published one, hold it, or be the part of it that has the files. Without
    patterns, all files of rows that are in it. None found: none returned.
    """
    try:
        if path.name.endswith(_ARCHIVES) and path.is_file():
            return tuple(Part(path, name) for name in _chosen(_members(path), patterns))
        if not path.is_dir():
            path.stat()
            return (Part(path),)
        # Not what a download in progress leaves, nor what a version control system keeps.
        names = sorted(p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
        here = [name for name in names if not any(x.startswith(".") for x in name.split("/"))]
        chosen = _chosen(here, patterns) if patterns else [n for n in here if n.endswith(_DATA)]
        return tuple(Part(path / name) for name in chosen)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def tree(path: Path, wanted: Sequence[str]) -> dict[str, Part]:
    """The files below these files and folders, by their paths from where the first of them lies.

    That may be anywhere below `path`, a folder or an archive: the place nearest to it counts.
    """
    try:
        if path.name.endswith(_ARCHIVES) and path.is_file():
            every = {name: Part(path, name) for name in _members(path)}
        else:
            every = {
                found.relative_to(path).as_posix(): Part(found)
                for found in sorted(path.rglob("*"))
                if found.is_file()
            }
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    marks = [name for name in every if f"/{name}".endswith(f"/{wanted[0]}")]
    if not marks:
        return {}
    root = min(marks, key=len).removesuffix(wanted[0])
    folders = tuple(f"{one}/" for one in wanted)
    inside = {name.removeprefix(root): part for name, part in every.items() if name.startswith(root)}
    return {
        name: part
        for name, part in inside.items()
        if (name in wanted or name.startswith(folders)) and ".." not in name.split("/")
    }


def copy_parts(parts: Mapping[str, Part], folder: Path) -> None:
    """Copies of these files under their names. An archive is read once, from end to end."""
    names: dict[Path, dict[str, list[str]]] = {}
    for name, part in parts.items():
        names.setdefault(part.path, {}).setdefault(part.member, []).append(name)
    for path, members in names.items():
        if "" in members:
            for name in members[""]:
                with path.open("rb") as content:
                    _write(content, folder / name)
            continue
        with _tar(path) as archive:
            for entry in archive:
                for name in members.get(entry.name, ()):
                    content_of = archive.extractfile(entry)
                    if content_of is None:
                        raise InputError(f"{path} ({entry.name}) is not a file")
                    with content_of:
                        _write(content_of, folder / name)


def _write(content: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(content, file, 1 << 20)


def describe(path: Path) -> str:
    """What is in a folder or an archive, in a few words, for errors."""
    try:
        names = sorted(p.name for p in path.iterdir()) if path.is_dir() else _members(path)
    except OSError:
        return "nothing that can be read"
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "") or "nothing"


def digest_of(parts: Sequence[Part]) -> str:
    """Of what is in these files, in order, wherever they lie."""
    digest = hashlib.sha256()
    for part in parts:
        try:
            with open_part(part) as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())  # type: ignore[arg-type]
        except OSError as error:
            raise InputError(f"cannot read {part}: {error.strerror or error}") from error
    return digest.hexdigest()


def checksum(path: Path, kind: Literal["md5", "sha256"]) -> str:
    digest = hashlib.new(kind, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _chosen(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """By the whole pattern, else below one folder, else by the last part of the pattern alone."""
    for form in (lambda p: p, lambda p: f"*/{p}", lambda p: PurePosixPath(p).name):
        found = [n for p in patterns for n in names if _matches(n, form(p))]
        if found:
            return list(dict.fromkeys(found))
    return []


def _matches(name: str, pattern: str) -> bool:
    """As a shell matches: a `*` does not go over a `/`."""
    parts, wanted = name.split("/"), pattern.split("/")
    if len(parts) != len(wanted):
        return False
    return all(
        fnmatch(part, want) or fnmatch(part, f"{want}.gz")
        for part, want in zip(parts, wanted, strict=True)
    )


def _members(path: Path) -> list[str]:
    with _tar(path) as archive:
        return [member.name for member in archive if member.isfile()]


@contextmanager
def _tar(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path) as archive:
            yield archive
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not an archive that can be read: {error}") from error
