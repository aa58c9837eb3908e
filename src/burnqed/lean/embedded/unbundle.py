"""Unpacks a bundle into the cache, with checks: each item completely or not at all.

An archive may come from anywhere. So only plain files that its manifest lists are unpacked, into paths
of this cache, with the sizes and sums of the manifest. Links, devices and paths that lead elsewhere are
refused before anything is put in place.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import IO, Any

from burnqed.core.cache import cache_root, lock, scratch_in
from burnqed.core.errors import CorruptError, InputError, SetupError
from burnqed.core.storage import remedy
from burnqed.lean.embedded import install, package
from burnqed.lean.embedded.bundle import (
    FORMAT,
    MANIFEST,
    PACKED,
    SUMS,
    numbered,
    this_platform,
    whole_name,
)
from burnqed.lean.embedded.progress import Progress

ROOMS = frozenset({"lean", "node", "benchmarks", "models", "brought"})  # of a cache
COPY_AGAIN = "copy it again, or make it again with `burn-qed lean bundle`"
MANIFEST_BYTES = 100_000_000
Record = list[int | str]  # size, time, SHA-256, as in `install.record`


@dataclass(frozen=True, slots=True)
class Thing:
    """An item of a bundle."""

    kind: str
    name: str
    place: str
    files: dict[str, Record]

    @property
    def size(self) -> int:
        return sum(int(known[0]) for known in self.files.values())

    def is_here(self) -> bool:
        root = cache_root()
        if self.kind == "lean":  # one that was made here has other times in its manifest
            return not install.faults(root / self.place, thorough=True)
        return all(install.unchanged(root / p, known, thorough=True) for p, known in self.files.items())


def unpack(given: Path, progress: Progress, anew: bool = False) -> list[tuple[Thing, bool]]:
    """Put a bundle's content into the cache. Returns each item and whether it is new here."""
    parts = find_parts(given, progress)
    name = given.name
    root = install.location()
    held = lock(root)  # another process that sets up Lean waits, and then finds it
    try:
        with _opened(parts, name) as tar:
            things = _read_manifest(tar, name)
            progress.stage("checking what is here")
            wanted = [thing for thing in things if anew or not thing.is_here()]
            if wanted:
                needed = 1.02 * sum(thing.size for thing in wanted)
                with scratch_in(root.parent, needed, "the bundle") as scratch:
                    _extract(tar, wanted, things, scratch, name, progress)
                    _adopt(wanted, scratch, name)
            return [(thing, thing in wanted) for thing in things]
    except OSError as error:
        raise SetupError(
            f"cannot unpack {name} into {cache_root()}: {error.strerror or error}",
            hint=remedy(error, root, "set BURN_QED_CACHE to another folder"),
        ) from error
    finally:
        held.release()


# --------------------------------------------------------------------------------- the parts


def find_parts(given: Path, progress: Progress) -> list[Path]:
    """All parts of an archive, given the whole, one part, or the sums."""
    if given.is_dir():
        raise InputError(f"{given} is a folder", hint="name the bundle's file in it")
    base = whole_name(given)
    if not base.absolute().parent.is_dir():
        raise InputError(f"there is no bundle {given}")
    sums = base.with_name(base.name + SUMS)
    if sums.is_file():
        listed = _read_sums(sums)
        _check_sums(base, listed, progress)
        return [base.with_name(name) for name in listed]
    if base.is_file():
        return [base]
    parts = numbered(base)
    if not parts:
        raise InputError(f"there is no bundle {given}", hint="give the archive, or one of its parts")
    there = [int(part.suffix[1:]) for part in parts]
    missing = sorted(set(range(there[-1])) - set(there))
    if missing:
        raise InputError(
            f"parts of {base.name} are missing: {', '.join(f'.{n:03d}' for n in missing)}",
            hint=f"put all parts and {sums.name} into one folder",
        )
    return parts


def _read_sums(path: Path) -> dict[str, str]:
    listed: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name or PurePosixPath(name).name != name:
            raise CorruptError(f"{path} is not a list of sums: {line[:80]!r}", hint=COPY_AGAIN)
        listed[name] = digest
    if not listed:
        raise CorruptError(f"{path} is empty", hint=COPY_AGAIN)
    return listed


def _check_sums(base: Path, listed: dict[str, str], progress: Progress) -> None:
    paths = {name: base.with_name(name) for name in listed}
    missing = [name for name, path in paths.items() if not path.is_file()]
    if missing:
        raise InputError(
            f"parts of {base.name} are missing: {', '.join(missing)}",
            hint=f"put all {len(listed)} parts into one folder",
        )
    progress.stage("checking sums", sum(path.stat().st_size for path in paths.values()))
    done, wrong = 0, list[str]()
    for name, path in paths.items():
        if install.file_digest(path) != listed[name]:
            wrong.append(name)
        done += path.stat().st_size
        progress.at(done)
    if wrong:
        raise CorruptError(f"damaged: {', '.join(wrong)} (SHA-256 differs)", hint=COPY_AGAIN)


class _Joined(io.RawIOBase):
    """The parts of a bundle, as one stream."""

    def __init__(self, parts: Sequence[Path]) -> None:
        self._waiting = list(reversed(parts))
        self._open: IO[bytes] | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._open is None:
                if not self._waiting:
                    return 0
                self._open = self._waiting.pop().open("rb")
            block = self._open.read(len(buffer))
            if block:
                buffer[: len(block)] = block
                return len(block)
            self._open.close()
            self._open = None

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
        super().close()


@contextmanager
def _opened(parts: Sequence[Path], name: str) -> Iterator[tarfile.TarFile]:
    try:
        with (
            io.BufferedReader(_Joined(parts)) as stream,
            tarfile.open(fileobj=stream, mode="r|") as tar,
        ):
            yield tar
    except (lzma.LZMAError, tarfile.TarError, EOFError) as error:
        raise CorruptError(f"{name} is damaged, or not a bundle: {error}", hint=COPY_AGAIN) from error


# ------------------------------------------------------------------------------- the manifest


def _read_manifest(tar: tarfile.TarFile, name: str) -> list[Thing]:
    """The items of a bundle, if it is for this kind of machine and this burn-qed."""
    entry = tar.next()
    if entry is None or entry.name != MANIFEST or not entry.isreg() or entry.size > MANIFEST_BYTES:
        raise InputError(f"{name} is not a bundle", hint="`burn-qed lean bundle` makes one")
    file = tar.extractfile(entry)
    try:
        listed = json.loads(file.read() if file else b"")
        made_by, form, where, lean = (listed[key] for key in ("made_by", "format", "platform", "lean"))
        if form == FORMAT:
            things = [_thing(item) for item in listed["items"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptError(f"{name} has no readable manifest: {error}", hint=COPY_AGAIN) from error
    here = f"burn-qed {version('burn-qed')}"
    if form != FORMAT:
        raise InputError(
            f"{name} has format {form} (made by {made_by}), but {here} reads {FORMAT}",
            hint="make it with this version of burn-qed",
        )
    if where != this_platform():
        raise InputError(
            f"{name} is for {where}, but this machine is {this_platform()}",
            hint="make it on a machine of the same kind",
        )
    if lean != install.identity():
        raise InputError(
            f"{name} holds the Lean of {made_by}, {lean}, but {here} runs {install.identity()}",
            hint="use the same version of burn-qed on both machines",
        )
    for thing in things:
        _check_paths(thing, name)
    return things


def _thing(item: Any) -> Thing:
    files: dict[str, Record] = {}
    for path, (size, time, digest) in item["files"].items():
        if (
            not (isinstance(size, int) and isinstance(time, int) and isinstance(digest, str))
            or size < 0
        ):
            raise ValueError(f"what it says of {path}")
        files[path] = [size, time, digest]
    if not files:
        raise ValueError(f"{item['name']} without files")
    return Thing(str(item["kind"]), str(item["name"]), str(item["place"]), files)


def _check_paths(thing: Thing, name: str) -> None:
    """Refuse files outside of the cache, or in the place of another item."""
    for path in (thing.place, *thing.files):
        parts = path.split("/")
        fine = len(parts) > 1 and parts[0] in ROOMS and not {"", ".", ".."} & set(parts)
        if not fine or "\0" in path or "\\" in path:
            raise CorruptError(f"{name} is refused: it would write to {path!r}", hint=COPY_AGAIN)
        if path != thing.place and not path.startswith(f"{thing.place}/"):
            raise CorruptError(f"{name} has {path!r} outside of {thing.place!r}", hint=COPY_AGAIN)
    if thing.kind == "lean" and thing.place != f"lean/{install.identity()}":
        raise CorruptError(f"{name} has Lean in the wrong place, {thing.place}", hint=COPY_AGAIN)


# -------------------------------------------------------------------------------- the content


def _extract(
    tar: tarfile.TarFile,
    wanted: Sequence[Thing],
    things: Sequence[Thing],
    scratch: Path,
    name: str,
    progress: Progress,
) -> None:
    every = {path for thing in things for path in thing.files}
    missing = {path: known for thing in wanted for path, known in thing.files.items()}
    progress.stage(f"unpacking {name}", sum(thing.size for thing in wanted))
    done = 0

    def count_bytes(count: int) -> None:
        nonlocal done
        done += count
        progress.at(done)

    def take(source: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        if entry.name not in every or not entry.isreg():
            raise CorruptError(
                f"{name} contains {entry.name!r}, which its manifest does not list", hint=COPY_AGAIN
            )
        known = missing.pop(entry.name, None)
        content = None if known is None else source.extractfile(entry)
        if known and content and not _copy(content, scratch / entry.name, known, count_bytes):
            raise CorruptError(f"{name} is damaged: {entry.name}", hint=COPY_AGAIN)

    while (entry := tar.next()) is not None:  # the manifest was the first
        packed = tar.extractfile(entry) if entry.name == PACKED and entry.isreg() else None
        if packed is None:
            take(tar, entry)
            continue
        with lzma.open(packed) as plain, tarfile.open(fileobj=plain, mode="r|") as inner:
            for member in inner:
                take(inner, member)
    if missing:
        raise CorruptError(f"{name} is truncated: {min(missing)} is missing", hint=COPY_AGAIN)


def _copy(source: IO[bytes], target: Path, known: Record, advance: Callable[[int], None]) -> bool:
    """Write a file, and return whether it is as listed."""
    size, time, digest = known
    found, length = hashlib.sha256(), 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        while length <= int(size) and (block := source.read(1 << 20)):
            file.write(block)
            found.update(block)
            length += len(block)
            advance(len(block))
    os.utime(target, ns=(int(time), int(time)))  # Lean's own manifest needs it, too
    return length == size and found.hexdigest() == digest


def _adopt(wanted: Sequence[Thing], scratch: Path, name: str) -> None:
    """Rename each item into its place. What it replaces is removed with the scratch folder."""
    for thing in wanted:
        if thing.kind == "node":
            mode = (scratch / thing.place).stat().st_mode
            (scratch / thing.place).chmod(mode | (mode & 0o444) >> 2)  # so that others can run it, too
            package.node_version(scratch / thing.place)
        if thing.kind == "lean":
            wrong = install.faults(scratch / thing.place)
            if wrong:
                raise CorruptError(f"{name} is incomplete: {wrong[0]}", hint=COPY_AGAIN)
            (scratch / thing.place / "snapshots").mkdir()
    for number, thing in enumerate(wanted):
        target = cache_root() / thing.place
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            target.rename(scratch / f"old-{number}")
        (scratch / thing.place).rename(target)
