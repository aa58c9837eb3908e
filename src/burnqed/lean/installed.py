"""Which Leans are installed, and where."""

from __future__ import annotations

import shutil
from typing import Any

from burnqed.core.errors import SetupError
from burnqed.lean import toolchain
from burnqed.lean.embedded import install, package, snapshot


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
    if toolchain.native_lean() is None:
        return {"kind": "native", "version": "", "state": "not found", "where": ""}
    try:
        found = toolchain.native()
    except SetupError as error:
        return {"kind": "native", "version": "", "state": error.message, "where": ""}
    return {"kind": "native", "version": found.version, "state": "ready", "where": str(found.where)}


def _pantograph() -> dict[str, Any]:
    where = shutil.which("pantograph-repl")
    state = "ready" if where else "not found"
    return {"kind": "pantograph", "version": "", "state": state, "where": where or ""}
