"""Whether statements are worth proving: Lean elaborates each of them, and it is not plainly false.

False is said only where the kernel accepted a proof of `¬ T`, for all that the statement says. The
search for one is short, and its tactics are bounded by heartbeats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from burnqed.core.errors import LeanError, LeanLost, StatementError, is_own_fault
from burnqed.core.types import (
    Advanced,
    Closed,
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
from burnqed.data.disproof import CLOSERS, Instance, instances
from burnqed.lean import rules
from burnqed.lean.pool import Pool
from burnqed.lean.session import Session, open_session

# Of one tactic, in the thousands of `maxHeartbeats`: about a quarter of a second.
HEARTBEATS = 1_000
_AT_ONCE = 8
_TIMEOUTS = 4  # where automation runs away, it is left alone

Verdict = Literal["fine", "does not elaborate", "trivially false", "error"]


@dataclass(frozen=True, slots=True)
class Verified:
    """What is known of a statement. "error" is Lean's failure, and says nothing about the statement."""

    name: str
    verdict: Verdict
    why: str = ""


async def verify(
    pool: Pool, theorems: Sequence[Theorem], on_result: Callable[[Verified], None]
) -> list[Verified]:
    """Look at each statement, as many at once as the pool has workers; `on_result` as each is done."""

    async def one(theorem: Theorem) -> Verified:
        found = await _verify(pool, theorem)
        on_result(found)
        return found

    return await asyncio.gather(*map(one, theorems))


async def _verify(pool: Pool, theorem: Theorem) -> Verified:
    try:
        async with open_session(pool, HEARTBEATS) as session:
            state = await session.start(theorem)
            # A theorem of the library is true, and a hole of a file is its file's affair.
            if not isinstance(theorem.statement, Proposition | TheoremText):
                return Verified(theorem.name, "fine")
            negated = await session.start(Theorem(theorem.name, Negation(theorem.statement)))
            disproof = await _disproof(session, negated, await _binders(session, state))
    except StatementError as error:
        why = error.message.removeprefix(f"{theorem.name}: ")
        return Verified(theorem.name, "does not elaborate", why)
    except LeanError as error:
        return Verified(theorem.name, "error", error.message)
    if disproof is None:
        return Verified(theorem.name, "fine")
    return Verified(theorem.name, "trivially false", f"this proves its negation: {disproof}")


async def _binders(session: Session, state: ProofState) -> tuple[Hypothesis, ...]:
    """The variables and premises that a statement begins with."""
    outcome = await session.apply(state, "intros")
    return (outcome.state if isinstance(outcome, Advanced) else state).goals[0].hypotheses


async def _disproof(
    session: Session, negated: ProofState, binders: tuple[Hypothesis, ...]
) -> str | None:
    """A tactic that proves the negation, as the kernel says, if a short search finds one."""
    attempt = _Attempt(session, negated)
    tried = instances(binders)
    left: list[Instance] = []
    if await attempt.any(CLOSERS):
        return attempt.found
    for some in _groups(tried):
        if await attempt.any([instance.computed for instance in some]):
            return attempt.found
        left += [i for i, outcome in zip(some, attempt.outcomes, strict=True) if not _is_true(outcome)]
    for some in _groups(left):
        if await attempt.any([instance.reasoned for instance in some]):
            return attempt.found
    return None


class _Attempt:
    """Tactics tried on one negated statement, until one works or too many were stopped."""

    def __init__(self, session: Session, negated: ProofState) -> None:
        self._session = session
        self._negated = negated
        self._stopped = 0
        self.outcomes: list[StepResult] = []
        self.found: str | None = None

    async def any(self, tactics: Sequence[str]) -> bool:
        if self._stopped >= _TIMEOUTS:
            self.outcomes = [TimedOut(0.0, deterministic=True) for _ in tactics]
            return False
        self.outcomes = await self._session.apply_batch(self._negated, tactics)
        for tactic, outcome in zip(tactics, self.outcomes, strict=True):
            if isinstance(outcome, Closed) and await self._is_proof(outcome.state):
                self.found = tactic
                return True
            if isinstance(outcome, LeanLost) and not is_own_fault(outcome):
                raise outcome
            self._stopped += not isinstance(outcome, Advanced | Closed | Rejected)
        return False

    async def _is_proof(self, state: ProofState) -> bool:
        certificate = await self._session.certify(state)
        return certificate.ok and rules.ALLOWED_AXIOMS.issuperset(certificate.axioms)


def _is_true(outcome: StepResult) -> bool:
    """Whether an instance was computed, and holds: it is no counterexample."""
    return isinstance(outcome, Rejected) and "proved that the proposition" in outcome.error


def _groups(tried: Sequence[Instance]) -> list[Sequence[Instance]]:
    return [tried[at : at + _AT_ONCE] for at in range(0, len(tried), _AT_ONCE)]
