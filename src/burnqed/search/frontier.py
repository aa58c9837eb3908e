"""The nodes with something to try, best first: open ones, and those where candidates wait."""

from __future__ import annotations

import heapq

from burnqed.search.tree import Node, Status, Tree


class Frontier:
    """A heap of such nodes. Ties go to the older node, so that the order is reproducible.

    A node is pushed again when its score improves or when it is wanted again. Outdated entries are
    dropped when they reach the top.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._heap: list[tuple[float, int]] = []

    def push(self, node: Node) -> None:
        worth = _worth(node)
        if worth is not None:
            heapq.heappush(self._heap, (-worth, node.id))

    def pop(self) -> Node | None:
        """The best of those that a proof of the root could still need, or None."""
        while self._heap:
            negated, id = heapq.heappop(self._heap)
            node = self._tree.nodes[id]
            if _worth(node) == -negated and self._tree.wanted(node):
                return node
        return None


def _worth(node: Node) -> float | None:
    """None where there is nothing to try."""
    if node.status is Status.OPEN:
        return node.score
    return node.later if node.waiting else None
