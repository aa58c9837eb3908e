"""The seams: what one room needs of another, as protocols.

The search sees Lean, the policy and the value model through these, so that fakes can stand in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from burnqed.core.types import (
    Candidate,
    Certificate,
    Goal,
    ProofState,
    StepOutcome,
    StepResult,
    Theorem,
)


class Environment(Protocol):
    """Proof states of one theorem, and the tactics that lead from one to the next.

    States are persistent: any state that was not freed can be branched from, in any order, and
    freeing a state does not touch its descendants.
    """

    @property
    def lean_seconds(self) -> float:
        """Time that Lean itself says it has spent on this environment's tactics so far."""
        ...

    async def start(self, theorem: Theorem) -> ProofState:
        """The initial state. Raises `StatementError` when Lean does not accept the statement."""
        ...

    async def apply(
        self, state: ProofState, tactic: str, goals: Sequence[int] | None = None
    ) -> StepOutcome:
        """Run one tactic on the goals with these indices (by default all, in their order).

        A tactic acts on the first of them and sees the others. The resulting state has what became of
        these goals, and none of the state's other goals. Raises `LeanLost` when the tactic took two
        processes with it.
        """
        ...

    async def apply_batch(
        self, state: ProofState, tactics: Sequence[str], goals: Sequence[int] | None = None
    ) -> list[StepResult]:
        """Run each tactic on the same goals; results in the order of `tactics`.

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


class Policy(Protocol):
    """What to try at a state."""

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        """For each state (its open goals), at most `n` candidates, the likeliest first.

        Tactics within a list are distinct. The same arguments give the same candidates.
        """
        ...

    def about(self, theorem: Theorem) -> Policy:
        """The policy to ask for a proof of this theorem.

        One that names lemmas leaves out those that the proof may not use; the others are who they are.
        """
        ...


class Value(Protocol):
    """How provable a state looks."""

    async def energies(self, root: Sequence[Goal], states: Sequence[Sequence[Goal]]) -> list[float]:
        """One energy for each state of a search that began at `root`; lower is more provable."""
        ...
