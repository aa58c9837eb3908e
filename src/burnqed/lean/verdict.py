"""What the judge says of one theorem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from burnqed.core.types import LeakRule

Level = Literal["text", "compiled", "kernel", "judged"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one theorem. `level` is how far it came; `reason` is empty when accepted.

    `axioms` are all that it rests on, or None where that is not known: a library that was loaded
    without its proofs does not say what its theorems rest on. `axioms_seen` are those that were met.
    `heartbeats` is what Lean took for its command, in the thousands of the option `maxHeartbeats`: a
    proof that takes more than Lean's default compiles elsewhere only below a `set_option`.
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
        """Its axioms in words; never "none" where that is not known."""
        seen = ", ".join(self.axioms_seen)
        if self.axioms is None:
            return f"at least {seen}" if seen else "not known"
        return seen or "none"
