"""Ports: what one room needs of another, as protocols.

The search sees Lean, the policy and the value model through these, so that tests can use fakes.
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

    States are persistent: tactics can be applied to any state that was not freed, in any order. Freeing
    a state does not affect its descendants.
    """

    @property
    def lean_seconds(self) -> float:
        """The time that Lean reports for this environment's tactics so far."""
        ...

    async def start(self, theorem: Theorem) -> ProofState:
        """The initial state. Raises `StatementError` when Lean does not accept the statement."""
        ...

    async def apply(
        self, state: ProofState, tactic: str, goals: Sequence[int] | None = None
    ) -> StepOutcome:
        """Run one tactic on the goals with these indices (by default all, in their order).

        A tactic acts on the first of them and sees the others. The resulting state has only the goals
        that these turned into. Raises `LeanLost` if the tactic killed two processes.
        """
        ...

    async def apply_batch(
        self,
        state: ProofState,
        tactics: Sequence[str],
        goals: Sequence[int] | None = None,
        heartbeats: int | None = None,
    ) -> list[StepResult]:
        """Run each tactic on the same goals; results in the order of `tactics`.

        `heartbeats` is a limit for each of them, below the environment's own.
        If `apply` would raise for one tactic, the exception is its result, and the others keep theirs.
        Raises only if nothing is known about any of them.
        """
        ...

    async def free(self, states: Iterable[ProofState]) -> None:
        """Free states that will not be used again. Freeing one twice is harmless."""
        ...

    async def certify(self, state: ProofState) -> Certificate:
        """Have the kernel check a state without goals."""
        ...

    async def close(self) -> None:
        """Release everything. Only `close` may be called after this."""
        ...


class Policy(Protocol):
    """Proposes tactics at a state."""

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        """For each state (its open goals), at most `n` candidates, the likeliest first.

        Tactics within a list are distinct. The same arguments give the same candidates.
        """
        ...

    def about(self, theorem: Theorem) -> Policy:
        """The policy for a proof of this theorem.

        A policy that names lemmas leaves out those that the proof may not use.
        """
        ...


class Value(Protocol):
    """Estimates how provable a state is."""

    async def energies(self, root: Sequence[Goal], states: Sequence[Sequence[Goal]]) -> list[float]:
        """One energy for each state of a search that began at `root`; lower is more provable."""
        ...
