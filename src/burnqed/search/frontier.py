"""The open nodes, the best first."""

from __future__ import annotations

import heapq

from burnqed.search.tree import Node, Status, Tree


class Frontier:
    """A heap of open nodes; ties go to the older node, so that the order is the same every time.

    A node may be pushed again when its score has improved or when it is wanted again; entries that
    are no longer true are dropped when they come up.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._heap: list[tuple[float, int]] = []

    def push(self, node: Node) -> None:
        heapq.heappush(self._heap, (-node.score, node.id))

    def pop(self) -> Node | None:
        """The best open node that a proof of the root could still need, and None if there is none."""
        while self._heap:
            negated, id = heapq.heappop(self._heap)
            node = self._tree.nodes[id]
            if node.status is Status.OPEN and node.score == -negated and self._tree.wanted(node):
                return node
        return None
