"""Tactics tried at nodes: in bunches, and what became of each as an edge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from burnqed.core.errors import LeanLost, is_own_fault
from burnqed.core.ports import Environment
from burnqed.core.types import (
    Advanced,
    Candidate,
    Closed,
    Cost,
    ProofState,
    Rejected,
    StepResult,
    TimedOut,
)
from burnqed.search.budget import Meter
from burnqed.search.events import Doing, EventSink, Tried
from burnqed.search.tree import EARLY, SPENT, Child, Edge, Node

# Tactics sent to Lean at once. If one closes the node, those after its bunch are not run.
BUNCH = 6
_NEARLY = 0.85  # of a small effort: a failure so late says nothing
_MAX_TROUBLE = 3  # tactics whose process was killed by something else
_MAX_LOST = 10  # tactics that killed Lean in any way


class Trials:
    """Of one search. `children` are the nodes that a tactic led to; `events` hears what is tried."""

    def __init__(
        self,
        environment: Environment,
        meter: Meter,
        children: Callable[[Node, Candidate, ProofState], Iterable[Child]],
        name: str,
        events: EventSink,
    ) -> None:
        self._environment = environment
        self._meter = meter
        self._children = children
        self._name = name
        self._events = events
        self.tried: dict[int, set[str]] = {}  # at a node; searching tactics are not among its edges
        self.lost: dict[str, LeanLost] = {}
        self.lost_at: int | None = None
        self.cut = False  # the time ran out in the middle of a node

    async def run(
        self, node: Node, candidates: Sequence[Candidate], effort: int | None = None
    ) -> list[Edge]:
        """Try candidates with `effort`, in heartbeats. What that stops waits at the node.

        What it stopped before is tried with all that the environment gives.
        """
        stopped = {edge.candidate.tactic: edge for edge in node.edges if edge.early}
        edges = await self._try(node, [c for c in candidates if c.tactic not in stopped], effort)
        again = [c for c in candidates if c.tactic in stopped]
        if again and not _closed(edges):
            for candidate in again:
                stopped[candidate.tactic].retried = True
            self.tried[node.id] -= {candidate.tactic for candidate in again}
            edges += await self._try(node, again, None)
        node.waiting += [edge.candidate for edge in edges if edge.early]
        return edges

    async def _try(self, node: Node, candidates: Sequence[Candidate], effort: int | None) -> list[Edge]:
        """Try what was not tried at the node."""
        tried = self.tried.setdefault(node.id, set())
        edges = [
            self._not_tried(node, c, f"{type(self.lost[c.tactic]).__name__} elsewhere")
            for c in _distinct(candidates)
            if c.tactic in self.lost
        ]
        tried |= {edge.candidate.tactic for edge in edges}
        todo = [c for c in candidates if c.tactic not in self.lost]
        while todo and not _closed(edges):
            bunch, todo = todo[:BUNCH], todo[BUNCH:]
            bunch = [c for c in _distinct(bunch) if c.tactic not in tried]
            tried |= {c.tactic for c in bunch}
            results = await self._apply(node, bunch, effort)
            if results is None:
                self.cut = True
                edges += [
                    self._not_tried(node, c, "the time ran out") for c in _distinct([*bunch, *todo])
                ]
                break
            suggested: list[Candidate] = []
            for candidate, result in zip(bunch, results, strict=True):
                if isinstance(result, Advanced | Closed) and result.suggestions:
                    # A searching tactic is replaced by its suggestions, with the same log-probability.
                    suggested += [replace(candidate, tactic=tactic) for tactic in result.suggestions]
                    await self._environment.free([result.state])
                else:
                    edges.append(self._edge(node, candidate, result, effort))
            todo = suggested + todo
        return edges

    def give_up(self) -> None:
        """Raise when too much was lost.

        A tactic that killed Lean twice is not tried again, and nothing is concluded from it: some
        overflow memory or the stack, and the search can continue without them. But if processes are
        killed from outside, or every tactic kills Lean, the trouble has nothing to do with the theorem:
        "not found" would be a lie.
        """
        trouble = [e for e in self.lost.values() if not is_own_fault(e)]
        if len(trouble) >= _MAX_TROUBLE or len(self.lost) >= _MAX_LOST:
            raise (trouble or list(self.lost.values()))[-1]

    async def _apply(
        self, node: Node, bunch: Sequence[Candidate], effort: int | None
    ) -> list[StepResult] | None:
        """The results of these tactics, or None if the time runs out first."""
        left = self._meter.left
        if left is not None and left <= 0:
            return None
        tactics = [candidate.tactic for candidate in bunch]
        self._events(Doing(self._name, "trying tactics", node, tactics))
        try:
            async with asyncio.timeout(left):
                found = await self._environment.apply_batch(node.state, tactics, node.part, effort)
        except TimeoutError:
            return None
        self._events(Tried(self._name, tactics, found))
        return found

    def _edge(self, node: Node, candidate: Candidate, result: StepResult, effort: int | None) -> Edge:
        when, cost = self._meter.seconds, None if isinstance(result, LeanLost) else result.cost
        spent = self._meter.nodes
        match result:
            case LeanLost():
                self.lost[candidate.tactic] = result
                if self.lost_at is None and not is_own_fault(result):
                    self.lost_at = spent
                why = f"{type(result).__name__}: {result}"
                return Edge(node, candidate, "lost", why, (), True, when, spent)
            case Rejected() if _gave_up(effort, cost):
                return Edge(node, candidate, "timeout", EARLY, (), True, when, spent, cost, early=True)
            case Rejected(error, kind):
                why = f"{kind}: {error}"
                return Edge(node, candidate, "rejected", why, (), True, when, spent, cost)
            case TimedOut(deterministic=True) if _stopped_by(effort, cost):
                return Edge(node, candidate, "timeout", EARLY, (), True, when, spent, cost, early=True)
            case TimedOut(taken, deterministic):
                why = SPENT if deterministic else f"{taken:.1f} s"
                return Edge(node, candidate, "timeout", why, (), True, when, spent, cost)
            case Closed():
                return Edge(node, candidate, "closed", seconds=when, spent=spent, cost=cost)
            case Advanced(state):
                children = tuple(self._children(node, candidate, state))
                return Edge(node, candidate, "advanced", "", children, False, when, spent, cost)

    def _not_tried(self, node: Node, candidate: Candidate, why: str) -> Edge:
        """An edge for a tactic that was not tried: without it the node might look failed."""
        seconds, spent = self._meter.seconds, self._meter.nodes
        return Edge(node, candidate, "lost", f"not tried: {why}", (), True, seconds, spent)


def _closed(edges: Iterable[Edge]) -> bool:
    return any(edge.result == "closed" for edge in edges)


def _stopped_by(effort: int | None, cost: Cost | None) -> bool:
    """Whether a tactic that heartbeats stopped was stopped by this limit, and not by one of its own."""
    spent = None if cost is None else cost.heartbeats
    return effort is not None and (spent is None or spent >= effort)


def _gave_up(effort: int | None, cost: Cost | None) -> bool:
    """Whether a tactic failed so near the limit that it may have ended because of it.

    `exact?` ends when a tenth of its heartbeats is left, and says only that it found nothing.
    """
    spent = None if cost is None else cost.heartbeats
    return effort is not None and spent is not None and spent >= _NEARLY * effort


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    return list({candidate.tactic: candidate for candidate in reversed(candidates)}.values())[::-1]
