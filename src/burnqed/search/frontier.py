"""The open nodes, best first."""

from __future__ import annotations

import heapq

from burnqed.search.tree import Node, Status, Tree


class Frontier:
    """A heap of open nodes. Ties go to the older node, so that the order is reproducible.

    A node is pushed again when its score improves or when it is wanted again. Outdated entries are
    dropped when they reach the top.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._heap: list[tuple[float, int]] = []

    def push(self, node: Node) -> None:
        heapq.heappush(self._heap, (-node.score, node.id))

    def pop(self) -> Node | None:
        """The best open node that a proof of the root could still need, or None."""
        while self._heap:
            negated, id = heapq.heappop(self._heap)
            node = self._tree.nodes[id]
            if node.status is Status.OPEN and node.score == -negated and self._tree.wanted(node):
                return node
        return None
