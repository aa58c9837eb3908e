"""The seams: what one room needs of another, as protocols.

The search sees Lean through `Environment` and nothing else, so that a fake can stand in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from burnqed.core.types import Certificate, ProofState, StepOutcome, StepResult, Theorem


class Environment(Protocol):
    """Proof states of one theorem, and the tactics that lead from one to the next.

    States are persistent: any state that was not freed can be branched from, in any order, and
    freeing a state does not touch its descendants.
    """

    async def start(self, theorem: Theorem) -> ProofState:
        """The initial state. Raises `StatementError` when Lean does not accept the statement."""
        ...

    async def apply(self, state: ProofState, tactic: str, goal: int = 0) -> StepOutcome:
        """Run one tactic on one goal; the other goals stay in the resulting state.

        Raises `LeanLost` when the tactic took two processes with it.
        """
        ...

    async def apply_batch(
        self, state: ProofState, tactics: Sequence[str], goal: int = 0
    ) -> list[StepResult]:
        """Run each tactic on the same state; results in the order of `tactics`.

        What `apply` would raise for one tactic stands as a value in its place, so that it costs
        the others nothing. Raises only when nothing can be said about any of them.
        """
        ...

    async def free(self, states: Iterable[ProofState]) -> None:
        """Say that these states will not be used again. Freeing one twice is harmless."""
        ...

    async def certify(self, state: ProofState) -> Certificate:
        """Have the kernel check a state without goals."""
        ...

    async def close(self) -> None:
        """Give back what the environment holds. No call may follow but `close`."""
        ...
