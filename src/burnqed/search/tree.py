"""The search tree: tactics that were tried, their results, and the proof.

It is an AND/OR graph. A node is a goal (or several that share metavariables), and one of its edges must
be proved. An edge is a tactic, and all nodes that it leads to must be proved. Equal states are one
node, which several edges may reach, even from below itself.

Statuses move forward:

    OPEN -> EXPANDED -> PROVED
                     -> FAILED     every edge is dead: the candidates failed, not the goal

A node may be visited several times, with some of its candidates each. While some wait it does not fail.

If more candidates are tried at a failed node (`widen`), it becomes EXPANDED again, and so do the nodes
above it that failed only because of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from burnqed.core.types import Candidate, Cost, Goal, ProofState, state_text
from burnqed.search.keys import Key
from burnqed.search.split import Part

# The result of a tactic. `lost`: it killed Lean, so nothing is known.
Result = Literal["closed", "advanced", "rejected", "timeout", "lost"]
# What stopped a tactic, as its edge and its row say: all the heartbeats that it may have, or those of a
# first, small effort. Else it was the clock.
SPENT, EARLY = "heartbeats", "heartbeats of the first try"


class Status(Enum):
    OPEN = "open"
    EXPANDED = "expanded"
    PROVED = "proved"
    FAILED = "failed"


_NEXT = {
    Status.OPEN: {Status.EXPANDED},
    Status.EXPANDED: {Status.PROVED, Status.FAILED},
    Status.PROVED: set[Status](),
    Status.FAILED: set[Status](),
}


@dataclass(slots=True, eq=False)
class Node:
    """A goal, and the edges tried at it. `parents` are the edges that lead here, oldest first."""

    id: int
    state: ProofState
    part: Part  # this node's goals in `state`
    key: Key
    depth: int  # steps from the root, by the shortest path
    # Of the best path known when it was expanded; the nodes below it build on these.
    logprob: float
    length: int
    seconds: float  # since the beginning of the search
    energy: float | None = None
    score: float = 0.0
    # Not tried yet, the best first; then those that a small effort stopped.
    waiting: list[Candidate] = field(default_factory=list)
    later: float = 0.0  # the score of trying those
    asked: int = 0  # how many candidates it had when it was first visited, or widened
    status: Status = Status.OPEN
    edges: list[Edge] = field(default_factory=list)
    parents: list[Edge] = field(default_factory=list)
    proof: Edge | None = None  # the first edge whose children were all proved
    order: int | None = None  # of the nodes that were expanded, from 1

    @property
    def before(self) -> Edge | None:
        """The last edge of its shortest path, not dead if possible; None for the root.

        This is not simply the first parent, because loops may lead back to the root.
        """
        if self.depth == 0:
            return None
        return min(self.parents, key=lambda edge: (edge.source.depth, edge.dead))

    @property
    def goals(self) -> tuple[Goal, ...]:
        return tuple(self.state.goals[i] for i in self.part)

    @property
    def text(self) -> str:
        return state_text(self.goals)


@dataclass(frozen=True, slots=True)
class Child:
    """A node that an edge leads to, and its goals in the edge's state.

    `bridge` is a tactic that renames hypotheses to their names at the node, if they differ.
    """

    node: Node
    part: Part
    bridge: str = ""


@dataclass(slots=True, eq=False)
class Edge:
    """A tactic tried at a node.

    It is dead once it failed, led back to its own node, or has a child that failed: no proof can go
    through it. `early`: a small effort stopped its tactic, which waits at its node, or which was
    `retried` and has another edge.
    """

    source: Node
    candidate: Candidate
    result: Result
    error: str = ""
    children: tuple[Child, ...] = ()
    dead: bool = False
    seconds: float = 0.0  # since the search began
    spent: int = 0  # nodes of the budget, with the one in which it was tried
    cost: Cost | None = None
    early: bool = False
    retried: bool = False

    @property
    def proved(self) -> bool:
        return not self.dead and all(child.node.status is Status.PROVED for child in self.children)


class Tree:
    """Nodes by number (the root is 0) and by key."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._by_key: dict[str, Node] = {}
        self._expanded = 0

    @property
    def root(self) -> Node:
        return self.nodes[0]

    @property
    def proved(self) -> bool:
        return self.root.status is Status.PROVED

    def find(self, key: Key) -> Node | None:
        """The node of an equal state."""
        return self._by_key.get(key.text)

    def add_node(
        self,
        state: ProofState,
        part: Part,
        key: Key,
        source: Node | None,
        logprob: float,
        seconds: float,
    ) -> Node:
        """A new open node, one step below `source`."""
        node = Node(
            id=len(self.nodes),
            state=state,
            part=part,
            key=key,
            depth=0 if source is None else source.depth + 1,
            logprob=logprob,
            length=0 if source is None else source.length + 1,
            seconds=seconds,
        )
        self.nodes.append(node)
        self._by_key.setdefault(key.text, node)
        return node

    def expand(self, node: Node, edges: Sequence[Edge]) -> None:
        """Add all edges tried at a node, and update the nodes above."""
        _advance(node, Status.EXPANDED)
        self._expanded += 1
        node.order = self._expanded
        self._add(node, edges)
        self._settle(node)

    def resume(self, node: Node, edges: Sequence[Edge]) -> None:
        """Add what came of candidates that waited at a node, and update the nodes above."""
        self._add(node, edges)
        self._settle(node)

    def widen(self, node: Node, edges: Sequence[Edge]) -> None:
        """Add more edges to a node where nothing worked, and update the nodes above."""
        if node.status not in (Status.FAILED, Status.EXPANDED):
            raise ValueError(f"node {node.id} is {node.status.value}: there is nothing to add to")
        self._add(node, edges)
        again = [n for n in self.nodes if n.status in (Status.FAILED, Status.EXPANDED)]
        for this in again:
            this.status = Status.EXPANDED
            for edge in this.edges:
                edge.dead = _useless(edge)
        for this in again:  # settling a node settles those above it
            self._settle(this)

    def left_below(self, node: Node) -> list[Node]:
        """The nodes at which something is left to try: this one, and those below it."""
        found: list[Node] = []
        seen, todo = {node.id}, [node]
        while todo:
            this = todo.pop()
            if this.status is Status.OPEN or this.waiting:
                found.append(this)
            for child in (child for edge in this.edges if not edge.dead for child in edge.children):
                if child.node.id not in seen:
                    seen.add(child.node.id)
                    todo.append(child.node)
        return found

    def worth_more(self, more: Collection[int]) -> list[Node]:
        """The nodes of `more`, which may have more candidates, that could help to prove the root.

        They help if the root would be proved once all of them were, and all others where something is
        left to try. An edge to a hopeless node never helps, whatever its other children do.
        """
        done = (Status.OPEN, Status.PROVED)
        hopeful = {n.id for n in self.nodes if n.id in more or n.waiting or n.status in done}

        def leads_on(edge: Edge) -> bool:
            return not _useless(edge) and all(child.node.id in hopeful for child in edge.children)

        grown = -1
        while grown != len(hopeful):
            grown = len(hopeful)
            hopeful |= {n.id for n in self.nodes if any(map(leads_on, n.edges))}
        found: dict[int, Node] = {}
        todo = [self.root]
        while todo:
            node = todo.pop()
            if node.id not in found and node.id in hopeful and node.status is not Status.PROVED:
                found[node.id] = node
                todo += [child.node for edge in node.edges if leads_on(edge) for child in edge.children]
        return [node for node in found.values() if node.id in more]

    def _add(self, node: Node, edges: Sequence[Edge]) -> None:
        node.edges += edges
        for edge in edges:
            edge.dead = _useless(edge)
            for child in edge.children:
                child.node.parents.append(edge)
                self._raise(child.node, node.depth + 1)

    def _raise(self, node: Node, depth: int) -> None:
        """Update depths: a shorter path to a node shortens the paths to all nodes below it."""
        todo = [(node, depth)]
        while todo:
            this, depth = todo.pop()
            if depth < this.depth:
                this.depth = depth
                todo += [(child.node, depth + 1) for edge in this.edges for child in edge.children]

    def _settle(self, node: Node) -> None:
        todo = [node]
        while todo:
            this = todo.pop()
            if this.status is not Status.EXPANDED:
                continue
            for edge in this.edges:
                edge.dead = edge.dead or any(c.node.status is Status.FAILED for c in edge.children)
            proof = next((edge for edge in this.edges if edge.proved), None)
            if proof is not None:
                this.proof = proof
                _advance(this, Status.PROVED)
            elif not this.waiting and all(edge.dead for edge in this.edges):
                _advance(this, Status.FAILED)
            else:
                continue
            todo += [edge.source for edge in this.parents]

    def wanted(self, node: Node) -> bool:
        """Whether a proof of the root could still use a proof of this node."""
        seen = {node.id}
        todo = [node]
        while todo:
            this = todo.pop()
            if this.status in (Status.PROVED, Status.FAILED):
                continue
            if this is self.root:
                return True
            for edge in this.parents:
                if not edge.dead and edge.source.id not in seen:
                    seen.add(edge.source.id)
                    todo.append(edge.source)
        return False

    def edges(self) -> Iterator[Edge]:
        for node in self.nodes:
            yield from node.edges

    def proof_edges(self) -> list[Edge]:
        """The edges of the root's proof, each once, from the root down. Empty without a proof."""
        found: dict[int, Edge] = {}
        todo = [self.root] if self.proved else []
        while todo:
            node = todo.pop()
            if node.id in found:
                continue
            assert node.proof is not None
            found[node.id] = node.proof
            todo += [child.node for child in reversed(node.proof.children)]
        return list(found.values())

    def check_invariants(self) -> None:
        """Raise AssertionError if the tree breaks the rules of this module."""
        for index, node in enumerate(self.nodes):
            assert node.id == index
            assert bool(node.edges) <= (node.status is not Status.OPEN), "an open node has no edges"
            assert node.logprob <= 0
            assert (node is self.root) or node.parents, "every node has a parent"
            assert node.depth == (min(e.source.depth + 1 for e in node.parents) if index else 0)
            _check_status(node)
            for edge in node.edges:
                assert edge.source is node
                assert (edge.result == "advanced") == bool(edge.children)
                covered = sorted(i for child in edge.children for i in child.part)
                assert covered == list(range(len(covered))), "the parts are the goals, each once"
                for child in edge.children:
                    assert self.nodes[child.node.id] is child.node
                    assert edge in child.node.parents
        _check_well_founded(self.nodes)


def _useless(edge: Edge) -> bool:
    """Whether an edge is dead regardless of other nodes."""
    led_back = any(child.node is edge.source for child in edge.children)
    return edge.result not in ("closed", "advanced") or led_back


def _advance(node: Node, status: Status) -> None:
    if status not in _NEXT[node.status]:
        raise ValueError(f"node {node.id} cannot go from {node.status.value} to {status.value}")
    node.status = status


def _check_status(node: Node) -> None:
    match node.status:
        case Status.OPEN:
            assert not node.edges
            assert node.proof is None
        case Status.EXPANDED:
            assert not any(edge.proved for edge in node.edges)
            assert node.waiting or any(not edge.dead for edge in node.edges)
        case Status.PROVED:
            assert node.proof is not None
            assert node.proof.proved
            assert node.proof in node.edges
        case Status.FAILED:
            assert all(edge.dead for edge in node.edges)


def _check_well_founded(nodes: Sequence[Node]) -> None:
    """Check that no proof leads back to its own node."""
    done: set[int] = set()
    for start in nodes:
        path: list[tuple[Node, Iterator[Child]]] = []
        on_path: set[int] = set()

        def enter(node: Node, path: list[tuple[Node, Iterator[Child]]], on_path: set[int]) -> None:
            assert node.id not in on_path, "a proof depends on itself"
            on_path.add(node.id)
            path.append((node, iter(node.proof.children if node.proof else ())))

        if start.id not in done:
            enter(start, path, on_path)
        while path:
            node, children = path[-1]
            child = next(children, None)
            if child is None:
                path.pop()
                on_path.discard(node.id)
                done.add(node.id)
            elif child.node.id not in done:
                enter(child.node, path, on_path)
