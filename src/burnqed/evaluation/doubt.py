"""A search that checks whether its statement is false, if it is not proved at the first node.

A theorem that the first node proves loses nothing by this, and others lose little. A statement that
small values refute does not cost its whole budget. Where numbers computed in Python are a
counterexample, Lean is asked about them before the first node.
"""

from __future__ import annotations

from collections.abc import Sequence

from burnqed.core.errors import LeanError, StatementError
from burnqed.core.ports import Policy
from burnqed.core.types import Candidate, Goal, Theorem
from burnqed.lean.refute import Refutation, refute
from burnqed.lean.session import Session
from burnqed.policy.portfolio.fitting import counterexample
from burnqed.policy.portfolio.reading import Reading
from burnqed.search.best_first import SearchResult
from burnqed.search.events import Doing, Event, EventSink, Started

_AFTER = 1  # nodes of the search


class Refuted(Exception):
    """Ends a search: the kernel accepted a proof of the statement's negation."""

    def __init__(self, refutation: Refutation, searched: SearchResult | None) -> None:
        super().__init__(refutation.sentence)
        self.refutation = refutation
        self.searched = searched  # so far


class Doubting:
    """A policy for one search that looks for a refutation at the second request.

    It uses the search's own session, so that it needs no other process. It passes the search's events
    on, to know how far the search is.
    """

    def __init__(
        self, policy: Policy, session: Session, theorem: Theorem, seconds: float, events: EventSink
    ) -> None:
        self._policy = policy
        self._session = session
        self._theorem = theorem
        self._seconds = seconds
        self._events = events
        self._started: Started | None = None
        self._asked = 0
        self._looked = False

    def about(self, theorem: Theorem) -> Doubting:
        policy = self._policy.about(theorem)
        return Doubting(policy, self._session, theorem, self._seconds, self._events)

    def hear(self, event: Event) -> None:
        if isinstance(event, Started):
            self._started = event
        self._events(event)

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        if self._asked >= _AFTER or (self._asked == 0 and guess(states[0][0]) is not None):
            await self.look()
            self._events(Doing(self._theorem.name, "choosing tactics"))
        self._asked += 1
        return await self._policy.propose(states, n, temperature, seed)

    async def look(self) -> None:
        """Look for a refutation, but only once. Raises `Refuted` if the statement is false."""
        if self._looked:
            return
        self._looked = True
        self._events(Doing(self._theorem.name, "looking for a refutation"))
        try:
            found = await refute(self._session, self._theorem, self._seconds, guess)
        except (LeanError, StatementError):
            return  # nothing was found, and the search itself reports what is wrong with Lean
        if found is not None:
            raise Refuted(found, self._so_far())

    def _so_far(self) -> SearchResult | None:
        if self._started is None:
            return None
        tree, meter = self._started.tree, self._started.meter
        return SearchResult(tree, None, meter.nodes, meter.seconds, self._session.lean_seconds)


def guess(goal: Goal) -> dict[str, int] | None:
    return counterexample(Reading(goal))
