"""The command that starts the embedded Lean: Node, its flags, the launcher, and an environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from burnqed.lean import process, repl
from burnqed.lean.embedded import package
from burnqed.lean.embedded.install import Installation
from burnqed.lean.process import LaunchSpec, Limits

# Node asks its permissions about real paths: a checkout behind a symbolic link would be refused.
LAUNCHER = Path(__file__).resolve().with_name("launch.js")
NODE_FLAGS = (
    "--stack-size=900000",  # with the stack limit that `guard` raises: deep recursion is an error
    "--wasm-lazy-validation",
    "--single-threaded-gc",
    "--max-semi-space-size=8",
    # Twice V8's default: a process that judges one proof ends before optimised code pays off.
    "--wasm-tiering-budget=30000000",
    "--disallow-code-generation-from-strings",  # a wall: `eval` is disabled
)
# V8 keeps a copy of the module's 110 MB, allocated with malloc. In pages of 2 MB, if the system has
# them, that takes a few faults and not 28,000: a quarter of the work of a start.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def _spec(installation: Installation, *arguments: str, flags: Sequence[str] = ()) -> LaunchSpec:
    node = str(package.node_executable())
    command = (node, *NODE_FLAGS, *flags, str(LAUNCHER), *arguments)
    env = {"LEAN_DIST": str(installation.root), "LEAN_LIBRARY": str(installation.library)}
    return LaunchSpec(command, env | LARGE_PAGES, installation.root, sealed=True)


def permissions(*readable: Path) -> tuple[str, ...]:
    """A second wall behind Lean's own file system: Node itself may read these folders, but not write
    files or start processes. (Node 24 has no permission for the network: see `guard`.)
    """
    reading = (f"--allow-fs-read={path}" for path in readable)
    return ("--no-warnings", "--permission", "--allow-worker", *reading)


def serve_spec(installation: Installation, snapshot: Path) -> LaunchSpec:
    """The command of a worker, which restores the snapshot and answers requests."""
    walls = permissions(installation.root, LAUNCHER.parent)
    return _spec(installation, "serve", str(snapshot), flags=walls)


def pack_spec(installation: Installation, code: Path, source: Path) -> LaunchSpec:
    """The command that compiles the REPL to `code`."""
    return _once(_spec(installation, "pack", str(code), str(source)))


def boot_spec(
    installation: Installation, snapshot: Path, code: Path, arguments: Sequence[str]
) -> LaunchSpec:
    """The command that makes a snapshot, by one long start."""
    warm_up = str(repl.WARM_UP)
    return _once(_spec(installation, "boot", str(snapshot), str(code), warm_up, *arguments))


def _once(spec: LaunchSpec) -> LaunchSpec:
    """The command under the guard, for anything but a worker."""
    return LaunchSpec(process.guarded(spec, Limits()), spec.env, spec.cwd)
