"""Theorems that must not be learnt from: those of the sets that are evaluated on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from burnqed.data.contamination import held_out
from burnqed.data.index import TheoremIndex, statement_sha
from burnqed.trajectories.schema import TheoremRecord


class HeldOut:
    """The theorems of some sets, known by their names, and by what they state as far as text tells."""

    def __init__(self, without: Sequence[TheoremIndex]) -> None:
        self._held = held_out(without)
        self._statements = {statement_sha(t.statement) for index in without for t in index.theorems}

    def why(self, record: TheoremRecord, goal: str) -> Literal["name", "statement"] | None:
        """By what a searched theorem, whose search began at `goal`, is one of them; None: it is not."""
        if record.theorem in self._held.names:
            return "name"
        if record.statement_sha in self._statements or self._held.has_state(goal):
            return "statement"
        return None
