"""A bundle put into the cache of a machine without a network: checked, each thing whole or not there.

An archive may come from anywhere. So of its content nothing is taken but plain files that its manifest
lists, under the paths of this cache, with the sizes and sums that it says; links, devices and paths
that lead elsewhere are refused before anything is put in place.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import IO, Any

from burnqed.core.cache import cache_root, lock
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
Record = list[int | str]  # size, time, SHA-256: as `install.record` says it


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that a bundle holds."""

    kind: str
    name: str
    place: str
    files: dict[str, Record]

    @property
    def size(self) -> int:
        return sum(int(known[0]) for known in self.files.values())

    def is_here(self) -> bool:
        root = cache_root()
        if self.kind == "lean":  # one that was made here has other times in its own manifest
            return not install.faults(root / self.place, thorough=True)
        return all(install.unchanged(root / p, known, thorough=True) for p, known in self.files.items())


def unpack(given: Path, progress: Progress, anew: bool = False) -> list[tuple[Thing, bool]]:
    """Put a bundle's content into the cache. Says of each thing whether it is new here."""
    parts = find_parts(given, progress)
    name = given.name
    root = install.location()
    held = lock(root)  # whoever sets up Lean waits, and finds it
    try:
        with _opened(parts, name) as tar:
            things = _read_manifest(tar, name)
            progress.stage("looking at what is here")
            wanted = [thing for thing in things if anew or not thing.is_here()]
            if wanted:
                _check_space(sum(thing.size for thing in wanted))
                for old in root.parent.glob("new-*"):  # what was interrupted
                    shutil.rmtree(old, ignore_errors=True)
                with tempfile.TemporaryDirectory(prefix="new-", dir=root.parent) as scratch:
                    _extract(tar, wanted, things, Path(scratch), name, progress)
                    _adopt(wanted, Path(scratch), name)
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
    """All parts, given the whole archive, one of its parts, or their sums."""
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
            raise CorruptError(f"{path} is no list of sums: {line[:80]!r}", hint=COPY_AGAIN)
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
    """The parts of a bundle read as one stream."""

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
        raise CorruptError(f"{name} is damaged, or no bundle: {error}", hint=COPY_AGAIN) from error


# ------------------------------------------------------------------------------- the manifest


def _read_manifest(tar: tarfile.TarFile, name: str) -> list[Thing]:
    """What the bundle holds, if it is one for this machine and this burn-qed."""
    entry = tar.next()
    if entry is None or entry.name != MANIFEST or not entry.isreg() or entry.size > MANIFEST_BYTES:
        raise InputError(f"{name} is no bundle", hint="`burn-qed lean bundle` makes one")
    file = tar.extractfile(entry)
    try:
        told = json.loads(file.read() if file else b"")
        made_by, form, where, lean = (told[key] for key in ("made_by", "format", "platform", "lean"))
        if form == FORMAT:
            things = [_thing(item) for item in told["items"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptError(
            f"{name} has no manifest that can be read: {error}", hint=COPY_AGAIN
        ) from error
    here = f"burn-qed {version('burn-qed')}"
    if form != FORMAT:
        raise InputError(
            f"{name} has the form {form} (it is by {made_by}); {here} reads {FORMAT}",
            hint="make it with the burn-qed that is used here",
        )
    if where != this_platform():
        raise InputError(
            f"{name} is for {where}, this machine is {this_platform()}",
            hint="make it on a machine of the same kind",
        )
    if lean != install.identity():
        raise InputError(
            f"{name} holds the Lean of {made_by}, {lean}; {here} here runs {install.identity()}",
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
    """Refuse what would be put outside of the cache, or into the place of something else."""
    for path in (thing.place, *thing.files):
        parts = path.split("/")
        fine = len(parts) > 1 and parts[0] in ROOMS and not {"", ".", ".."} & set(parts)
        if not fine or "\0" in path or "\\" in path:
            raise CorruptError(f"{name} wants to write to {path!r}, and is refused", hint=COPY_AGAIN)
        if path != thing.place and not path.startswith(f"{thing.place}/"):
            raise CorruptError(f"{name} has {path!r} outside of {thing.place!r}", hint=COPY_AGAIN)
    if thing.kind == "lean" and thing.place != f"lean/{install.identity()}":
        raise CorruptError(f"{name} has Lean in the wrong place, {thing.place}", hint=COPY_AGAIN)


# -------------------------------------------------------------------------------- the content


def _check_space(needed: int) -> None:
    free = shutil.disk_usage(install.location().parent).free
    if free < needed * 1.02:
        raise SetupError(
            f"{free / 1e9:.1f} GB are free at {cache_root()}, the bundle needs {needed / 1e9:.1f}",
            hint="free some, or set BURN_QED_CACHE to another folder",
        )


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

    def told(count: int) -> None:
        nonlocal done
        done += count
        progress.at(done)

    def take(source: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        if entry.name not in every or not entry.isreg():
            raise CorruptError(f"{name} has {entry.name!r}, which it does not list", hint=COPY_AGAIN)
        known = missing.pop(entry.name, None)
        content = None if known is None else source.extractfile(entry)
        if known and content and not _copy(content, scratch / entry.name, known, told):
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
        raise CorruptError(f"{name} is cut off: {min(missing)} is not in it", hint=COPY_AGAIN)


def _copy(source: IO[bytes], target: Path, known: Record, told: Callable[[int], None]) -> bool:
    """Write a file and say whether it is what was listed."""
    size, time, digest = known
    found, length = hashlib.sha256(), 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        while length <= int(size) and (block := source.read(1 << 20)):
            file.write(block)
            found.update(block)
            length += len(block)
            told(len(block))
    os.utime(target, ns=(int(time), int(time)))  # Lean's own manifest has it too
    return length == size and found.hexdigest() == digest


def _adopt(wanted: Sequence[Thing], scratch: Path, name: str) -> None:
    """Rename each thing into its place; what was there goes with the scratch folder."""
    for thing in wanted:
        if thing.kind == "node":
            mode = (scratch / thing.place).stat().st_mode
            (scratch / thing.place).chmod(mode | (mode & 0o444) >> 2)  # whoever reads it runs it
            package.node_version(scratch / thing.place)
        if thing.kind == "lean":
            wrong = install.faults(scratch / thing.place)
            if wrong:
                raise CorruptError(f"{name} is not whole: {wrong[0]}", hint=COPY_AGAIN)
            (scratch / thing.place / "snapshots").mkdir()
    for number, thing in enumerate(wanted):
        target = cache_root() / thing.place
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            target.rename(scratch / f"old-{number}")
        (scratch / thing.place).rename(target)
