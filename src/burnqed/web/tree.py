"""A search tree made from the rows of its steps, with the time at which each thing happened.

The rows hold tactics and what they led to. What became of a node follows from them, by the rules of
`search/tree`: it is closed once all nodes behind one of its tactics are, and failed once all of its
tactics are dead. Both are computed with their times, so that a page can show the tree as it was at any
moment. Closed is what the search saw: only the judge makes a proof of it.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from burnqed.search.shown import WORKED, Edge, Node, line_of, number
from burnqed.trajectories.schema import StepRow


@dataclass(frozen=True, slots=True)
class Grown:
    """A whole tree. `moments` are the times at which something was tried, in order."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    moments: tuple[float, ...]


def grown(rows: Sequence[StepRow]) -> Grown:
    """The tree of one search."""
    by_node: dict[int, list[StepRow]] = defaultdict(list)
    first: dict[int, StepRow] = {}  # the step that first led to a node
    for row in rows:
        by_node[row.node].append(row)
        for child in row.children:
            if child not in first or row.seconds < first[child].seconds:
                first[child] = row
    closed, failed = _closed(rows), _failed(by_node)
    nodes = [
        _node(one, by_node.get(one, []), first.get(one), closed.get(one), failed.get(one))
        for one in sorted({*by_node, *first})
    ]
    edges = [
        Edge(row.node, row.children, row.tactic, number(row.logprob), row.seconds, row.on_proof_path)
        for row in rows
        if row.outcome in WORKED
    ]
    moments = sorted({row.seconds for row in rows})
    return Grown(tuple(nodes), tuple(edges), tuple(moments))


def goals_of(state: str) -> list[str]:
    """The goals of a state, as Lean prints them: each ends with the lines from its target on."""
    goals: list[str] = []
    begun: list[str] = []
    for line in state.split("\n"):
        if not line and begun and any(one.startswith(("⊢ ", "| ")) for one in begun):
            goals.append("\n".join(begun))
            begun = []
        else:
            begun.append(line)
    return [*goals, "\n".join(begun)] if begun else goals


def _node(
    node: int,
    rows: Sequence[StepRow],
    first: StepRow | None,
    closed: float | None,
    failed: float | None,
) -> Node:
    row = rows[0] if rows else None
    goals = goals_of(row.state) if row else []
    parent = row.parent if row else None
    if parent is None and first is not None and node != 0:
        parent = first.node
    depth = row.depth if row else first.depth + 1 if first else 0
    energy, score = figures(node, row, first)
    return Node(
        id=node,
        parent=parent,
        depth=depth,
        line=line_of(goals[0]) if goals else "",
        goals=len(goals),
        score=score,
        energy=energy,
        seen=first.seconds if first and node != 0 else 0.0,
        expanded=min(one.seconds for one in rows) if rows else None,
        closed=closed,
        failed=failed,
        tried=len(rows),
        worked=sum(one.outcome in WORKED for one in rows),
        on_proof=any(one.on_proof_path for one in rows),
    )


def figures(node: int, row: StepRow | None, way: StepRow | None) -> tuple[float | None, float | None]:
    """The energy and the score of a node: from a step at it, or else from a step that led to it."""
    if row is not None:
        return number(row.energy), number(row.score)
    if way is None:
        return None, None
    place = way.children.index(node)
    energy = way.child_energies[place] if way.child_energies else None
    return number(energy), number(way.child_scores[place] if way.child_scores else None)


@dataclass(slots=True)
class _Waiting:
    """A tactic that counts once all nodes behind it are closed."""

    source: int
    at: float
    left: set[int] = field(default_factory=set)


def _closed(rows: Iterable[StepRow]) -> dict[int, float]:
    """When each node was closed: the earliest time is settled first, so each is settled once."""
    behind: dict[int, list[_Waiting]] = defaultdict(list)
    due: list[tuple[float, int]] = []
    for row in rows:
        if row.outcome not in WORKED or row.node in row.children:
            continue
        edge = _Waiting(row.node, row.seconds, set(row.children))
        for child in edge.left:
            behind[child].append(edge)
        if not edge.left and row.outcome == "closed":
            heapq.heappush(due, (row.seconds, row.node))
    closed: dict[int, float] = {}
    while due:
        at, node = heapq.heappop(due)
        if node in closed:
            continue
        closed[node] = at
        for edge in behind[node]:
            edge.left.discard(node)
            if not edge.left:
                heapq.heappush(due, (max(at, edge.at), edge.source))
    return closed


def _failed(by_node: dict[int, list[StepRow]]) -> dict[int, float]:
    """When each node failed: when the last of its tactics was dead."""
    behind: dict[int, list[tuple[int, int, float]]] = defaultdict(list)  # source, edge, its time
    alive: dict[int, set[int]] = {}
    last: dict[int, float] = {}
    due: list[tuple[float, int]] = []
    for node, rows in by_node.items():
        alive[node] = {k for k, row in enumerate(rows) if _leads_on(row)}
        last[node] = max((row.seconds for row in rows if not _leads_on(row)), default=0.0)
        for k in alive[node]:
            for child in set(rows[k].children):
                behind[child].append((node, k, rows[k].seconds))
        if not alive[node]:
            heapq.heappush(due, (last[node], node))
    failed: dict[int, float] = {}
    while due:
        at, node = heapq.heappop(due)
        failed[node] = at
        for source, edge, tried in behind[node]:
            if edge in alive[source]:
                alive[source].discard(edge)
                last[source] = max(last[source], at, tried)
                if not alive[source]:
                    heapq.heappush(due, (last[source], source))
    return failed


def _leads_on(row: StepRow) -> bool:
    return row.outcome in WORKED and row.node not in row.children
