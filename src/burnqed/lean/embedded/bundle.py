"""An archive with everything that a machine without a network needs: a part of this machine's cache.

    OUTPUT                   a plain tar
        manifest.json        first: what is inside, for which platform, every file's size and SHA-256
        packed.tar.xz        what compresses: Lean, Node, theorem sets
        brought/models/…     weights, as they are: they do not compress, and there may be gigabytes

In parts it is `OUTPUT.000`, `OUTPUT.001`, …. `OUTPUT.sha256` has the sums in the format of `sha256sum
-c`. Snapshots are left out: each would double the archive, and is made again in half a minute.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import platform
import re
import shutil
import tarfile
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from burnqed.core.errors import InputError, SetupError
from burnqed.core.files import publish
from burnqed.core.storage import remedy
from burnqed.lean.embedded import install, package
from burnqed.lean.embedded.install import Installation
from burnqed.lean.embedded.progress import Progress
from burnqed.lean.pool import usable_cores

FORMAT = 1
MANIFEST = "manifest.json"
PACKED = "packed.tar.xz"
SUMS = ".sha256"
NUMBERED = re.compile(r"(.+)\.(\d{3,})")
LEVEL = 1  # of xz: 6 makes the archive a seventh smaller and takes six times as long

_BLOCK = 16 << 20  # compressed separately, so that every core has work
_STORED = frozenset({".safetensors", ".gguf"})


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a bundle. It is installed completely or not at all."""

    kind: str  # lean, node, set, model or value
    name: str  # its name on the other machine
    place: str  # its file or folder, as a path in a cache
    files: Mapping[str, Path]  # path in a cache: path of the file now


def lean_items(installation: Installation) -> list[Item]:
    """Lean itself, and the Node that runs it."""
    root = installation.root
    place = f"lean/{root.name}"
    files = [p for p in sorted(root.rglob("*")) if p.is_file()]
    kept = [(p.relative_to(root), p) for p in files]
    lean = {f"{place}/{p.as_posix()}": path for p, path in kept if p.parts[0] != "snapshots"}
    node = package.node_executable().resolve()
    carried = package.bundled_node()
    node_place = f"{carried.parent.name}/{carried.name}"
    return [
        Item("lean", package.LEAN_VERSION, place, lean),
        Item("node", package.node_version(node), node_place, {node_place: node}),
    ]


def this_platform() -> str:
    return f"{platform.system()}-{platform.machine()}".lower()


def pack(
    items: Sequence[Item], output: Path, part_bytes: int, progress: Progress, level: int = LEVEL
) -> list[Path]:
    """Write the archive or its parts, and their sums. Earlier files of that name are replaced."""
    try:
        with tempfile.TemporaryDirectory(dir=output.absolute().parent, prefix="bundle-") as scratch:
            return _publish(
                _write(items, output.name, part_bytes, level, Path(scratch), progress), output
            )
    except OSError as error:
        raise SetupError(
            f"cannot write {output}: {error.strerror or error}",
            hint=remedy(error, output, "write to another place"),
        ) from error


def _write(
    items: Sequence[Item], name: str, part_bytes: int, level: int, scratch: Path, progress: Progress
) -> dict[Path, str]:
    files = {inside: path for item in items for inside, path in item.files.items()}
    total = sum(path.stat().st_size for path in files.values())
    count = _Counter(progress)
    progress.stage("computing sums", total)
    known = {}
    for inside, path in files.items():
        known[inside] = install.record(path)
        count.add(path)
    manifest = {
        "format": FORMAT,
        "made_by": f"burn-qed {version('burn-qed')}",
        "platform": this_platform(),
        "lean": install.identity(),
        "items": [
            {
                "kind": item.kind, "name": item.name, "place": item.place,
                "files": {inside: known[inside] for inside in item.files},
            }
            for item in items
        ],
    }  # fmt: skip
    progress.stage("packing", total)
    count.done = 0

    def add(tar: tarfile.TarFile, inside: str) -> None:
        path = files[inside]
        with path.open("rb") as file:
            tar.addfile(_entry(inside, int(known[inside][0])), file)
        if not install.unchanged(path, known[inside], thorough=False):
            raise InputError(
                f"{path} changed while it was packed", hint="run this again when nothing changes it"
            )
        count.add(path)

    packed = scratch / PACKED
    with (
        packed.open("wb") as raw,
        _Compressor(raw, level) as stream,
        tarfile.open(fileobj=stream, mode="w|") as tar,
    ):
        for inside in files:
            if Path(inside).suffix not in _STORED:
                add(tar, inside)
    parts = _Parts(scratch / "parts", name, part_bytes)
    with parts, tarfile.open(fileobj=parts, mode="w|") as tar:
        text = json.dumps(manifest).encode()
        tar.addfile(_entry(MANIFEST, len(text)), io.BytesIO(text))
        with packed.open("rb") as file:
            tar.addfile(_entry(PACKED, packed.stat().st_size), file)
        for inside in files:
            if Path(inside).suffix in _STORED:
                add(tar, inside)
    return parts.sums


def _entry(name: str, size: int) -> tarfile.TarInfo:
    """A reproducible tar entry: times are in the manifest, to the nanosecond."""
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry


class _Counter:
    """Counts the bytes of finished files."""

    def __init__(self, progress: Progress) -> None:
        self.done = 0
        self._progress = progress

    def add(self, path: Path) -> None:
        self.done += path.stat().st_size
        self._progress.at(self.done)


class _Compressor(io.RawIOBase):
    """Compresses a stream into consecutive xz blocks, which form an xz stream again."""

    def __init__(self, target: IO[bytes], level: int) -> None:
        cores = min(16, usable_cores())
        self._target, self._level, self._most = target, level, cores + 1
        self._threads = ThreadPoolExecutor(cores)
        self._block = bytearray()
        self._waiting: deque[Future[bytes]] = deque()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._block += data
        if len(self._block) >= _BLOCK:
            self._submit()
        return len(data)

    def _submit(self) -> None:
        self._waiting.append(
            self._threads.submit(lzma.compress, bytes(self._block), preset=self._level)
        )
        self._block.clear()
        while len(self._waiting) > self._most:
            self._target.write(self._waiting.popleft().result())

    def close(self) -> None:
        if not self.closed:
            self._submit()
            while self._waiting:
                self._target.write(self._waiting.popleft().result())
            self._threads.shutdown()
        super().close()


class _Parts(io.RawIOBase):
    """Writes a stream to one file, or to numbered files of a size, with the sum of each."""

    def __init__(self, folder: Path, name: str, limit: int) -> None:
        folder.mkdir()
        self.sums: dict[Path, str] = {}
        self._folder, self._name, self._limit = folder, name, limit
        self._file: IO[bytes] | None = None
        self._digest = hashlib.sha256()
        self._left = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        rest = memoryview(data)
        while rest:
            file = self._file or self._next()
            now = rest[: self._left] if self._limit else rest
            file.write(now)
            self._digest.update(now)
            self._left -= len(now)
            rest = rest[len(now) :]
            if self._limit and not self._left:
                self._end()
        return len(data)

    def _next(self) -> IO[bytes]:
        name = f"{self._name}.{len(self.sums):03d}" if self._limit else self._name
        self._file = (self._folder / name).open("wb")
        self._digest, self._left = hashlib.sha256(), self._limit
        return self._file

    def _end(self) -> None:
        if self._file is not None:
            self._file.close()
            self.sums[Path(self._file.name)] = self._digest.hexdigest()
            self._file = None

    def close(self) -> None:
        self._end()
        super().close()


def _publish(written: Mapping[Path, str], output: Path) -> list[Path]:
    """Rename finished files into place. The sums come last, because they promise the others."""
    sums = output.with_name(output.name + SUMS)
    sums.unlink(missing_ok=True)
    for old in (output, *numbered(output)):
        old.unlink(missing_ok=True)
    for path in written:
        shutil.move(path, output.with_name(path.name))
    publish(sums, "".join(f"{digest}  {path.name}\n" for path, digest in written.items()))
    return [*(output.with_name(path.name) for path in written), sums]


def whole_name(path: Path) -> Path:
    """The archive's name, from that of a part or of the sums."""
    match = NUMBERED.fullmatch(path.name)
    return path.with_name(match[1] if match else path.name.removesuffix(SUMS) or path.name)


def numbered(output: Path) -> list[Path]:
    """The existing parts of this name, in order."""
    names = [path.name for path in output.absolute().parent.iterdir()]
    matches = [match for name in names if (match := NUMBERED.fullmatch(name))]
    found = sorted((int(match[2]), match[0]) for match in matches if match[1] == output.name)
    return [output.with_name(name) for _, name in found]
