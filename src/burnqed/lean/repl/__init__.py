"""The Lean side of every conversation: our REPL, in Lean.

The parts are joined into one file, because the embedded Lean cannot import modules of ours.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

PARTS = (
    "Basic", "Facts", "Print", "Leak", "Goal", "Library", "Gate",
    "Frontend", "Holes", "Outline", "Start", "Trace", "Retrace", "Export", "Compare",
    "Check", "Serve", "Main",
)  # fmt: skip
# A command behind them, for the embedded Lean: it writes what they were compiled to.
PACK = "Pack"
# The Leans under which it was tried.
WORKS_WITH = ("4.27.0-pre", "4.28.0-pre")
# Requests answered before the embedded Lean's memory is kept: they build indices and caches once.
WARM_UP = Path(__file__).with_name("warmup.txt")


def _joined(parts: tuple[str, ...]) -> str:
    folder = Path(__file__).parent
    return "\n".join((folder / f"{part}.lean").read_text(encoding="utf-8") for part in parts)


@cache
def source() -> str:
    """The whole program."""
    return _joined(PARTS)


def place(line: int) -> str:
    """Where a line of the whole program is in its parts, as FILE:LINE."""
    for part in PARTS:
        length = _joined((part,)).count("\n") + 1
        if line <= length:
            return f"{part}.lean:{line}"
        line -= length
    return f"{PARTS[-1]}.lean"


@cache
def packing() -> str:
    """The program, which when elaborated is written to a file."""
    return _joined((*PARTS, PACK))


def digest() -> str:
    """Names a version of the REPL and of what it is warmed up with."""
    return hashlib.sha256(packing().encode() + WARM_UP.read_bytes()).hexdigest()[:12]
