"""Listens to a job's searches: what they have spent, and how their trees grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from burnqed.core.types import Theorem
from burnqed.prover.results import Statistics
from burnqed.search import shown
from burnqed.search.events import Event, Started
from burnqed.search.events import Expanded as Grown
from burnqed.search.tree import Edge, Node, Status
from burnqed.serve.events import Accepted, Expanded, Say, Searching, Tried
from burnqed.trajectories.schema import ERROR_LENGTH


class Growing:
    """An event sink for all searches of a job. It tells their trees to `say`, if there is one."""

    def __init__(self, say: Say | None = None) -> None:
        self._say = say
        self._started: list[Started] = []
        self._latest: dict[Theorem, _Drawn] = {}  # a theorem may be searched for again

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            number = len(self._started)
            self._started.append(event)
            if self._say is not None:
                drawn = self._latest[event.theorem] = _Drawn(number, event)
                self._say(
                    Searching(search=number, theorem=event.theorem.name, nodes=drawn.changed(0.0))
                )
        elif isinstance(event, Grown) and self._say is not None:
            self._say(self._latest[event.theorem].expanded(event.node, event.nodes))

    def accepted(self) -> None:
        """The judge accepted what the latest searches found."""
        for drawn in self._latest.values():
            if self._say is not None and drawn.tree.proved:
                self._say(drawn.accepted())

    @property
    def spent(self) -> Statistics:
        return Statistics(
            nodes=sum(one.meter.nodes for one in self._started),
            states=sum(len(one.tree.nodes) for one in self._started),
            seconds=max((one.meter.seconds for one in self._started), default=0.0),
        )


class _Drawn:
    """A tree that grows, and what was told of it."""

    def __init__(self, number: int, started: Started) -> None:
        self.number, self.tree = number, started.tree
        self._told: dict[int, shown.Node] = {}
        self._seen: dict[int, tuple[object, ...]] = {}  # what a told state was made of
        self._edges: dict[int, int] = {}  # how many were told of a state

    def expanded(self, node: Node, spent: int) -> Expanded:
        edges = node.edges[self._edges.get(node.id, 0) :]
        self._edges[node.id] = len(node.edges)
        at = max((edge.seconds for edge in edges), default=node.seconds)
        return Expanded(
            search=self.number,
            node=node.id,
            at=at,
            spent=spent,
            goals=tuple(goal.text for goal in node.goals),
            nodes=self.changed(at),
            edges=_worked(edges),
            refused=tuple(_refused(edge) for edge in edges if edge.result not in shown.WORKED),
        )

    def accepted(self) -> Accepted:
        edges = self.tree.proof_edges()
        return Accepted(
            search=self.number,
            nodes=tuple(replace(self._told[edge.source.id], on_proof=True) for edge in edges),
            edges=tuple(replace(edge, on_proof=True) for edge in _worked(edges)),
        )

    def changed(self, at: float) -> tuple[shown.Node, ...]:
        """The states that are new, or not what was told of them."""
        found = []
        for node in self.tree.nodes:
            made_of = (node.status, node.depth, node.score, node.energy, len(node.edges))
            if self._seen.get(node.id) != made_of:
                self._seen[node.id] = made_of
                self._told[node.id] = self._node(node, self._told.get(node.id), at)
                found.append(self._told[node.id])
        return tuple(found)

    def _node(self, node: Node, before: shown.Node | None, at: float) -> shown.Node:
        return shown.Node(
            id=node.id,
            parent=node.parents[0].source.id if node.depth else None,
            depth=node.depth,
            line=before.line if before else shown.line_of(node.goals[0].text) if node.goals else "",
            goals=len(node.goals),
            score=shown.number(node.score),
            energy=shown.number(node.energy),
            seen=node.seconds,
            expanded=min((edge.seconds for edge in node.edges), default=None),
            closed=_since(before.closed if before else None, at, node.status is Status.PROVED),
            failed=_since(before.failed if before else None, at, node.status is Status.FAILED),
            tried=len(node.edges),
            worked=sum(edge.result in shown.WORKED for edge in node.edges),
            on_proof=False,
        )


def _since(before: float | None, at: float, there: bool) -> float | None:
    """Since when something is there: a failed state may get more tactics."""
    if not there:
        return None
    return at if before is None else before


def _worked(edges: Sequence[Edge]) -> tuple[shown.Edge, ...]:
    return tuple(
        shown.Edge(
            source=edge.source.id,
            children=tuple(child.node.id for child in edge.children),
            tactic=edge.candidate.tactic,
            logprob=shown.number(edge.candidate.logprob),
            at=edge.seconds,
            on_proof=False,
        )
        for edge in edges
        if edge.result in shown.WORKED
    )


def _refused(edge: Edge) -> Tried:
    cost = edge.cost
    return Tried(
        tactic=edge.candidate.tactic,
        logprob=shown.number(edge.candidate.logprob),
        outcome=edge.result,
        answer=edge.error[:ERROR_LENGTH],
        at=edge.seconds,
        seconds=cost.seconds if cost else None,
        heartbeats=cost.heartbeats if cost else None,
    )
