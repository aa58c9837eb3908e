"""Which Leans are installed, and where."""

from __future__ import annotations

import shutil
from typing import Any

from burnqed.core.errors import SetupError
from burnqed.lean.embedded import install, package, snapshot
from burnqed.lean.native import found, program


def toolchains() -> list[dict[str, Any]]:
    """Each toolchain with its kind, version, state and place."""
    return [_embedded(), _native(), _pantograph()]


def _embedded() -> dict[str, Any]:
    root = install.location()
    wrong = install.faults(root)
    state = "not set up" if not root.exists() else "ready" if not wrong else f"damaged: {wrong[0]}"
    snapshots = sorted(p.name for p in root.glob("snapshots/*.memory") if snapshot.is_whole(p))
    return {
        "kind": "embedded",
        "version": package.LEAN_VERSION,
        "state": state,
        "where": str(root),
        "snapshots": snapshots,
    }


def _native() -> dict[str, Any]:
    nothing = {"kind": "native", "version": "", "where": "", "repl": "", "compiler": ""}
    if found.on_path() is None:
        return nothing | {"state": "not found"}
    try:
        lean = found.look()
    except SetupError as error:
        return nothing | {"state": error.message}
    where = program.location(lean)
    known = program.manifest(where)
    return {
        "kind": "native",
        "version": lean.version,
        "state": "ready" if known else "the REPL is compiled on first use",
        "where": str(lean.binary),
        "repl": str(where) if known else "",
        "compiler": (known["compiler"] or "none: lean --run") if known else "",
    }


def _pantograph() -> dict[str, Any]:
    where = shutil.which("pantograph-repl")
    state = "ready" if where else "not found"
    return {"kind": "pantograph", "version": "", "state": state, "where": where or ""}
