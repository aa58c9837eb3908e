"""An `Environment` that follows a script, for tests of everything above Lean.

For a goal (its target) and a tactic, the script gives the result: the targets of the new goals (none
closes the goal), the same with suggestions, a refusal, a timeout, or an error to raise. Everything
else is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from burnqed.core.errors import LeanLost, StatementError
from burnqed.core.types import (
    Advanced,
    Certificate,
    Closed,
    Goal,
    LibraryConstant,
    ProofState,
    Proposition,
    Rejected,
    StepOutcome,
    StepResult,
    Theorem,
    TheoremText,
    TimedOut,
)


@dataclass(frozen=True, slots=True)
class Suggests:
    """A tactic that searches: the goals it leaves, and the equivalent tactics."""

    targets: tuple[str, ...]
    suggestions: tuple[str, ...]


Scripted = tuple[str, ...] | Suggests | Rejected | TimedOut | LeanLost
Script = Mapping[str, Mapping[str, Scripted]]


class FakeEnvironment:
    """Deterministic; keeps `calls` (target, tactic), `live` handles and `closed` for assertions."""

    def __init__(self, script: Script, needs: Mapping[str, int] | None = None) -> None:
        """`needs`: the heartbeats of tactics, where they matter."""
        self._script = script
        self._needs = needs or {}
        self._made = 0
        self.calls: list[tuple[str, str]] = []
        self.live: set[int] = set()
        self.closed = False

    @property
    def lean_seconds(self) -> float:
        return 0.0

    async def start(self, theorem: Theorem) -> ProofState:
        match theorem.statement:
            case Proposition(text=target) | TheoremText(source=target) | LibraryConstant(name=target):
                pass
        if target not in self._script:
            raise StatementError(f"{theorem.name}: not in the script: {target}")
        return self._state(_goals((target,)))

    async def apply(
        self, state: ProofState, tactic: str, goals: Sequence[int] | None = None
    ) -> StepOutcome:
        if state.id not in self.live:
            raise ValueError(f"state {state.id} was freed, or is not of this environment")
        wanted = range(len(state.goals)) if goals is None else goals
        if not wanted or len(set(wanted)) < len(wanted) or min(wanted) < 0:
            raise ValueError(f"no goals {goals} in a state of {len(state.goals)}")
        first, *others = (state.goals[index] for index in wanted)
        target = first.target
        self.calls.append((target, tactic))
        scripted = self._script.get(target, {}).get(tactic, Rejected("not in the script", "tactic"))
        match scripted:
            case LeanLost():
                raise scripted
            case Rejected() | TimedOut():
                return scripted
            case Suggests(targets, suggestions):
                pass
            case targets:
                suggestions = ()
        after = self._state((*_goals(targets), *others))
        return (Advanced if after.goals else Closed)(after, suggestions=suggestions)

    async def apply_batch(
        self,
        state: ProofState,
        tactics: Sequence[str],
        goals: Sequence[int] | None = None,
        heartbeats: int | None = None,
    ) -> list[StepResult]:
        results: list[StepResult] = []
        for tactic in tactics:
            try:
                outcome = await self.apply(state, tactic, goals)
                needed = self._needs.get(tactic, 0)
                short = heartbeats is not None and needed > heartbeats
                results.append(TimedOut(0.0, True) if short else outcome)
            except LeanLost as error:
                results.append(error)
        return results

    async def free(self, states: Iterable[ProofState]) -> None:
        self.live -= {state.id for state in states}

    async def certify(self, state: ProofState) -> Certificate:
        return Certificate(not state.goals, "scripted", axioms=(), axioms_seen=(), constants=())

    async def close(self) -> None:
        self.closed = True

    def _state(self, goals: tuple[Goal, ...]) -> ProofState:
        state = ProofState(self._made, goals)
        self._made += 1
        self.live.add(state.id)
        return state


def _goals(targets: Iterable[str]) -> tuple[Goal, ...]:
    return tuple(Goal("g", target, holes=()) for target in targets)
