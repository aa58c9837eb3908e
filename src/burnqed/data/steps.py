"""One tactic of a human or found proof, as data: what every source yields and every tool reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from json.encoder import encode_basestring as _quoted
from pathlib import Path
from typing import Any

from burnqed.core.files import publish


@dataclass(frozen=True, slots=True)
class Step:
    """A tactic and the state it was used at. `depth` counts from 0 at the theorem's start.

    `after` is the state it led to, where the source says so ("no goals" for none); `source` names where
    it comes from, and keeps equal theorems of two sources apart. `premises` are the constants that the
    tactic names, by their whole names, where the source says so. `dialect` is the tag of a row in a set
    that is for core Lean and for Mathlib.
    """

    source: str
    theorem: str
    state: str
    tactic: str
    depth: int
    after: str | None = None
    premises: tuple[str, ...] = ()
    dialect: str = ""

    def pair(self, mathlib: Sequence[str] = ()) -> str:
        """The row that training reads, as JSON; it says `premises` and `mathlib` where there are some.

        `mathlib` are the tactics in it that core Lean does not have.

        Put together by hand, since there are hundreds of thousands: a third of the encoder's time.
        """
        lists = (("premises", self.premises), ("mathlib", mathlib))
        more = "".join(f', "{key}": [{", ".join(map(_quoted, it))}]' for key, it in lists if it)
        return (
            f'{{"state": {_quoted(self.state)}, "tactic": {_quoted(self.tactic)}, '
            f'"theorem": {_quoted(self.theorem)}, "depth": {self.depth:d}{more}}}'
        )

    @property
    def row(self) -> dict[str, Any]:
        """All that is known of it, as a row that `burn-qed data` reads."""
        row = asdict(self)
        return row if self.premises else {k: v for k, v in row.items() if k != "premises"}


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
    publish(path, (json.dumps(step.row, ensure_ascii=False) + "\n" for step in steps))
