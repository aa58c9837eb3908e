"""One archive with everything an air-gapped machine needs to run the embedded Lean.

It holds the installation as it lies in the cache, one snapshot, and Node itself. Unpacking puts them
where `install` and `package` look, and checks every file against the manifest that came along.
"""

from __future__ import annotations

import io
import json
import lzma
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import IO, Any

from burnqed.core.cache import lock
from burnqed.core.errors import CorruptError, InputError
from burnqed.lean.embedded import install, package
from burnqed.lean.embedded.install import Installation
from burnqed.lean.embedded.progress import Progress

NODE = "node"
ROOT = "lean"


def pack(
    installation: Installation, memory: Path, output: Path, part_bytes: int, progress: Progress
) -> list[Path]:
    """Write the archive, or its parts `OUTPUT.000`, `OUTPUT.001`, …"""
    files = [path for path in installation.root.rglob("*") if path.is_file()]
    files = [p for p in files if "snapshots" not in p.parts] + [memory, memory.with_suffix(".json")]
    total = sum(path.stat().st_size for path in files)
    progress.stage("packing", total)
    done = 0
    with tempfile.TemporaryDirectory(dir=output.absolute().parent, prefix="bundle-") as scratch:
        whole = Path(scratch) / "whole"
        with (
            lzma.open(whole, "wb", preset=1) as stream,
            tarfile.open(fileobj=stream, mode="w|") as tar,
        ):
            tar.add(package.node_executable().resolve(), NODE)
            for path in files:
                tar.add(path, f"{ROOT}/{path.relative_to(installation.root).as_posix()}")
                done += path.stat().st_size
                progress.at(done)
        return _split(whole, output, part_bytes)


def _split(whole: Path, output: Path, part_bytes: int) -> list[Path]:
    if not part_bytes:
        whole.replace(output)
        return [output]
    parts: list[Path] = []
    with whole.open("rb") as stream:
        while block := stream.read(part_bytes):
            part = output.with_name(f"{output.name}.{len(parts):03d}")
            part.write_bytes(block)
            parts.append(part)
    return parts


class _Joined(io.RawIOBase):
    """The parts of a bundle read as one stream."""

    def __init__(self, parts: list[Path]) -> None:
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


def _parts(first: Path) -> list[Path]:
    """All parts, given the whole archive, its first part, or the name before the numbers."""
    if not first.is_file():
        first = first.with_name(first.name + ".000")
    if not first.is_file():
        raise InputError(f"no bundle {first}")
    if first.suffix != ".000":
        return [first]
    parts = sorted(first.parent.glob(first.stem + ".[0-9][0-9][0-9]"))
    if [int(p.suffix[1:]) for p in parts] != list(range(len(parts))):
        raise InputError(f"parts of {first.stem} are missing", hint="they are numbered from .000 on")
    return parts


def unpack(first: Path, progress: Progress) -> None:
    """Put a bundle's content into the cache."""
    parts = _parts(first)
    root = install.location()
    held = lock(root)
    try:
        progress.stage(f"unpacking {first.name}")
        with tempfile.TemporaryDirectory(prefix="new-", dir=root.parent) as scratch:
            folder = Path(scratch)
            try:
                with (
                    lzma.open(io.BufferedReader(_Joined(parts))) as stream,
                    tarfile.open(fileobj=stream, mode="r|") as tar,
                ):
                    tar.extractall(folder, filter="data")
            except (lzma.LZMAError, tarfile.TarError, EOFError) as error:
                raise CorruptError(f"{first.name} is damaged: {error}") from error
            _adopt(folder, root, first.name)
    finally:
        held.release()


def _adopt(folder: Path, root: Path, name: str) -> None:
    wrong = install.faults(folder / ROOT, thorough=True)
    if wrong:
        raise CorruptError(f"{name} is not whole: {wrong[0]}")
    known = json.loads((folder / ROOT / install.MANIFEST).read_text())
    if known["identity"] != install.identity():
        raise InputError(
            f"{name} was made by another version of burn-qed", hint="make it with this one"
        )
    if root.exists():
        shutil.rmtree(root)
    (folder / ROOT).rename(root)
    node = package.bundled_node()
    node.parent.mkdir(parents=True, exist_ok=True)
    (folder / NODE).replace(node)
