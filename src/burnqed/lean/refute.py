"""A short search for a proof that a statement is false.

A statement is called false only if the kernel accepted a proof of the negation of all of it, with the
usual axioms only. The session's heartbeats limit each tactic, and a time limits the whole. If nothing
is found, nothing is known. A computation with large numbers counts no heartbeats (`3 ^ 16000000`): if
one still runs after twice the time, it is stopped with its process.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from burnqed.core.errors import LeanLost, is_own_fault
from burnqed.core.types import (
    Advanced,
    Closed,
    FileHole,
    Goal,
    Hypothesis,
    Negation,
    ProofState,
    Proposition,
    Rejected,
    StepResult,
    Theorem,
    TheoremText,
    TimedOut,
)
from burnqed.lean import rules
from burnqed.lean.disproof import CLOSERS, Instance, instance, instances, sweep
from burnqed.lean.session import Session

_AT_ONCE = 8
_STOPPED = 4  # timeouts after which automation is not tried further


@dataclass(frozen=True, slots=True)
class Refutation:
    """A tactic that proves the negation, and a counterexample if it used one."""

    tactic: str
    values: tuple[tuple[str, str], ...] = ()

    @property
    def sentence(self) -> str:
        if not self.values:
            return "its negation is proved"
        return ", ".join(f"{name} = {value}" for name, value in self.values)


Guess = Callable[[Goal], Mapping[str, int] | None]  # values of a goal's variables, by name


async def refute(
    session: Session, theorem: Theorem, seconds: float, guess: Guess = lambda goal: None
) -> Refutation | None:
    """Look for a refutation for about this time. Raises `StatementError` and `LeanError`.

    A theorem of the library is true, so it is only started. What is guessed is tried first.
    """
    statement = theorem.statement
    state = await session.start(theorem)
    if not isinstance(statement, Proposition | TheoremText | FileHole):
        return None
    negated = await session.start(Theorem(theorem.name, Negation(statement)))
    binders = await _binders(session, state)
    try:
        async with asyncio.timeout(2 * seconds):
            search = _Search(session, negated, time.monotonic() + seconds)
            return await search.run(binders, guess(state.goals[0]) or {})
    except TimeoutError:
        return None


async def _binders(session: Session, state: ProofState) -> tuple[Hypothesis, ...]:
    """The variables and premises at the beginning of a statement."""
    outcome = await session.apply(state, "intros")
    return (outcome.state if isinstance(outcome, Advanced) else state).goals[0].hypotheses


class _Search:
    """Tries tactics on a negated statement until one works, too many time out, or time is over."""

    def __init__(self, session: Session, negated: ProofState, deadline: float) -> None:
        self._session = session
        self._negated = negated
        self._deadline = deadline
        self._stopped = 0

    async def run(self, binders: Sequence[Hypothesis], guessed: Mapping[str, int]) -> Refutation | None:
        """Try values first, as they say most; then automation, alone and at undecided values."""
        named = instance(binders, guessed)
        if named is not None and (found := await self._counterexample([named])) is not None:
            return found
        tried = instances(binders)
        box = sweep(binders)
        if box is not None:
            at, outcomes = await self._first([box.tactic])
            if at is not None:
                return await self._counterexample(box.instances) or Refutation(box.tactic)
            if _is_true(outcomes[0]):
                covered = set(box.instances)
                tried = [instance for instance in tried if instance not in covered]
        left: list[Instance] = []
        for some in _groups(tried):
            at, outcomes = await self._first([instance.computed for instance in some])
            if at is not None:
                return Refutation(some[at].computed, some[at].values)
            left += [i for i, outcome in zip(some, outcomes, strict=True) if not _is_true(outcome)]
        at, _ = await self._first(CLOSERS)
        if at is not None:
            return Refutation(CLOSERS[at])
        for some in _groups(left):
            at, _ = await self._first([instance.reasoned for instance in some])
            if at is not None:
                return Refutation(some[at].reasoned, some[at].values)
        return None

    async def _counterexample(self, tried: Sequence[Instance]) -> Refutation | None:
        """Find the false one among these instances, of which at least one is false."""
        for some in _groups(tried):
            at, _ = await self._first([instance.computed for instance in some])
            if at is not None:
                return Refutation(some[at].computed, some[at].values)
        return None

    async def _first(self, tactics: Sequence[str]) -> tuple[int | None, list[StepResult]]:
        """The first tactic that proves the negation, as checked by the kernel; and all results."""
        if self._stopped >= _STOPPED or time.monotonic() >= self._deadline:
            return None, [TimedOut(0.0, deterministic=True) for _ in tactics]
        outcomes = await self._session.apply_batch(self._negated, tactics)
        found: int | None = None
        for at, outcome in enumerate(outcomes):
            if isinstance(outcome, LeanLost) and not is_own_fault(outcome):
                raise outcome
            if found is None and isinstance(outcome, Closed) and await self._is_proof(outcome.state):
                found = at
            self._stopped += not isinstance(outcome, Advanced | Closed | Rejected)
        await self._session.free([o.state for o in outcomes if isinstance(o, Advanced | Closed)])
        return found, outcomes

    async def _is_proof(self, state: ProofState) -> bool:
        certificate = await self._session.certify(state)
        return certificate.ok and rules.ALLOWED_AXIOMS.issuperset(certificate.axioms_seen)


def _is_true(outcome: StepResult) -> bool:
    """Whether an instance was computed and holds, and so is not a counterexample."""
    return isinstance(outcome, Rejected) and "proved that the proposition" in outcome.error


def _groups(tried: Sequence[Instance]) -> list[Sequence[Instance]]:
    return [tried[at : at + _AT_ONCE] for at in range(0, len(tried), _AT_ONCE)]
