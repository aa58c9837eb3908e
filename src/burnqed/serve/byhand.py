"""Proofs by hand: a client starts a theorem and applies tactics to its states, in any order.

A proof is found by its id, which nobody can guess. Between steps it holds no Lean, only what its states
print. What is kept is bounded: states and bytes of each proof, and all proofs by number, bytes and the
time since their last step.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from burnqed.core.errors import InputError
from burnqed.core.types import Advanced, Closed, Goal, ProofState, Rejected, StepOutcome, TimedOut
from burnqed.lean.verdict import Verdict
from burnqed.prover.stepping import ByHand
from burnqed.serve.answers import TheoremAnswer, of_verdict
from burnqed.serve.refusal import Refused

STATES, PROOF_BYTES = 1000, 2 * 2**20  # of one proof
KEPT, KEPT_BYTES = 500, 64 * 2**20  # proofs
KEPT_SECONDS = 1800.0  # since a proof's last step


class HypothesisAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A hypothesis. A `let` has a value."""

    name: str
    type: str
    value: str | None


class GoalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A goal. `case` is its name, if it has one; `text` is all of it, as Lean prints it."""

    case: str | None
    hypotheses: tuple[HypothesisAnswer, ...]
    target: str
    text: str


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a tactic did.

    goals: these remain in the new `state`. proved: none is left, and the judge accepted `source`.
    refused: none is left, but the judge refused, and `verdict` says why. rejected: Lean refuses the
    tactic, and `error` says why. timeout: it was stopped.
    """

    proof: str
    outcome: Literal["goals", "proved", "refused", "rejected", "timeout"]
    state: int | None = None
    goals: tuple[GoalAnswer, ...] = ()
    messages: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    error: str = ""
    verdict: TheoremAnswer | None = None
    source: str | None = None


@dataclass(eq=False)
class Proof:
    """A proof by hand: its states by number, each with the tactics that lead to it."""

    hand: ByHand
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    states: list[tuple[ProofState, tuple[str, ...]]] = field(default_factory=list)
    bytes: int = 0
    latest: float = field(default_factory=time.monotonic)
    busy: bool = False

    async def start(self) -> StepAnswer:
        return self._goals(await self.hand.start(), ())

    async def step(self, number: int, tactic: str) -> StepAnswer:
        """Apply a tactic to a state; where no goal is left, ask the judge."""
        if number >= len(self.states):
            raise InputError(f"the proof has no state {number}", hint=f"it has {len(self.states)}")
        if len(self.states) >= STATES or self.bytes >= PROOF_BYTES:
            raise InputError("the proof has too many states", hint="start it again")
        if self.busy:
            raise InputError("the proof is in the middle of a step", hint="wait for its answer")
        self.busy = True
        try:
            state, before = self.states[number]
            tactics = (*before, tactic)
            outcome = await self.hand.apply(state, tactic)
            judged = await self.hand.judge(tactics) if isinstance(outcome, Closed) else None
            return self._answer(outcome, tactics, judged)
        finally:
            self.busy = False
            self.latest = time.monotonic()

    def _answer(
        self, outcome: StepOutcome, tactics: tuple[str, ...], judged: Verdict | None
    ) -> StepAnswer:
        match outcome:
            case Rejected(error=error):
                return StepAnswer(proof=self.id, outcome="rejected", error=error)
            case TimedOut(seconds=seconds, deterministic=deterministic):
                why = "it took too many heartbeats" if deterministic else f"it took {seconds:.1f} s"
                return StepAnswer(proof=self.id, outcome="timeout", error=why)
            case Advanced(state=state):
                found = self._goals(state, tactics)
            case Closed() if judged is not None:
                found = StepAnswer(
                    proof=self.id,
                    outcome="proved" if judged.accepted else "refused",
                    verdict=of_verdict(judged),
                    source=judged.source if judged.accepted else None,
                )
            case _:
                raise TypeError(f"an outcome of an unknown kind: {type(outcome).__name__}")
        messages = tuple(message.text for message in outcome.messages)
        return msgspec.structs.replace(found, messages=messages, suggestions=outcome.suggestions)

    def _goals(self, state: ProofState, tactics: tuple[str, ...]) -> StepAnswer:
        self.states.append((state, tactics))
        self.bytes += len(state.text.encode()) + sum(len(tactic.encode()) for tactic in tactics)
        goals = tuple(map(_goal, state.goals))
        return StepAnswer(proof=self.id, outcome="goals", state=len(self.states) - 1, goals=goals)


class Proofs:
    """The proofs by hand of a server, by their ids."""

    def __init__(self) -> None:
        self._proofs: dict[str, Proof] = {}

    def add(self, proof: Proof) -> None:
        self._proofs[proof.id] = proof
        self._tidy()

    def find(self, id: str) -> Proof:
        self._tidy()
        proof = self._proofs.get(id)
        if proof is None:
            raise Refused(
                404, "there is no such proof by hand", kind="NotFound",
                hint=f"one is kept for {KEPT_SECONDS / 60:g} minutes after its last step; start again",
            )  # fmt: skip
        return proof

    def end(self, id: str) -> None:
        """Forget it. A step that runs is answered."""
        del self._proofs[self.find(id).id]

    def _tidy(self) -> None:
        """Forget proofs beyond the bounds, the one that waits longest for a step first."""
        idle = sorted(self._proofs.values(), key=lambda proof: proof.latest, reverse=True)
        too_old = time.monotonic() - KEPT_SECONDS
        total = 0
        for number, proof in enumerate(idle):
            total += proof.bytes
            beyond = proof.latest < too_old or number >= KEPT or total > KEPT_BYTES
            if beyond and not proof.busy:
                del self._proofs[proof.id]


def _goal(goal: Goal) -> GoalAnswer:
    return GoalAnswer(
        case=goal.user_name,
        hypotheses=tuple(
            HypothesisAnswer(name=one.name, type=one.type, value=one.value) for one in goal.hypotheses
        ),
        target=goal.target,
        text=goal.text,
    )
