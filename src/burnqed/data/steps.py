"""One tactic of a human or found proof, as data: what every source yields and every tool reads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from burnqed.core.runs import publish


@dataclass(frozen=True, slots=True)
class Step:
    """A tactic and the state it was used at. `depth` counts from 0 at the theorem's start.

    `after` is the state it led to, where the source says so ("no goals" for none); `source` names where
    it comes from, and keeps equal theorems of two sources apart.
    """

    source: str
    theorem: str
    state: str
    tactic: str
    depth: int
    after: str | None = None

    @property
    def pair(self) -> dict[str, Any]:
        """The row that training reads."""
        return {
            "state": self.state, "tactic": self.tactic, "theorem": self.theorem, "depth": self.depth,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class WholeProof:
    """A theorem with its whole proof as text; `context` is what must stand before it (imports …)."""

    source: str
    theorem: str
    statement: str
    proof: str
    context: str = ""


def write_steps(path: Path, steps: Iterable[Step]) -> None:
    """JSON lines, as all of `burn-qed data` and `burn-qed train policy --data` read them."""
    publish(path, (json.dumps(asdict(step), ensure_ascii=False) + "\n" for step in steps))
