"""The judge's verdict on one theorem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from burnqed.core.types import LeakRule

Level = Literal["text", "compiled", "kernel", "judged"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one theorem. `level` is the level it reached; `reason` is empty if accepted.

    `axioms` are all axioms that it uses, or None if not known: a library loaded without proofs does not
    show which axioms its theorems use. `axioms_seen` are those that were found. `heartbeats` is what
    Lean took for its command, in units of the option `maxHeartbeats`: a proof that takes more than
    Lean's default compiles elsewhere only after a `set_option`.
    """

    theorem: str
    accepted: bool
    reason: str
    level: Level
    axioms: tuple[str, ...] | None = None
    axioms_seen: tuple[str, ...] = ()
    type: str = ""
    leak_rule: LeakRule | None = None
    source: str = ""
    seconds: float = 0.0
    heartbeats: int = 0

    @property
    def rests_on(self) -> str:
        return rests_on(self.axioms, self.axioms_seen)


def rests_on(axioms: Sequence[str] | None, axioms_seen: Sequence[str]) -> str:
    """Axioms in words; "none" only if that is known."""
    seen = ", ".join(axioms_seen)
    if axioms is None:
        return f"at least {seen}" if seen else "not known"
    return seen or "none"
