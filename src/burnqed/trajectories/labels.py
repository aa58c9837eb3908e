"""Labels of tried steps: what a step is evidence of.

positive  it is on the path of a proof that the judge accepted
negative  Lean refused it, it led back to its own state, or everything tried after it failed; or it
          was tried at a state on which a probe spent a whole search without a proof
unknown   anything else: steps that were not explored to the end, timed out, or killed Lean
"""

from __future__ import annotations

from collections.abc import Collection

from burnqed.search.tree import Edge, Node, Status, Tree
from burnqed.trajectories.schema import Label


class Labels:
    """The labels of one tree's edges. `verified`: the judge accepted its proof.

    `given_up` are the numbers of nodes that had a search of their own which found no proof.
    """

    def __init__(self, tree: Tree, verified: bool, given_up: Collection[int] = ()) -> None:
        self.path = {id(edge) for edge in tree.proof_edges()} if verified else set[int]()
        self._given_up = given_up
        self._failed = failed_for_certain(tree).union(given_up)
        self._remaining: dict[int, int] = {}

    def label(self, edge: Edge) -> Label:
        if id(edge) in self.path:
            return "positive"
        # What was stopped early says nothing, until all that was tried at its node is known to fail.
        spent = edge.source.id in (self._failed if edge.retried else self._given_up)
        return "negative" if spent or _is_refuted(edge, self._failed) else "unknown"

    def remaining(self, edge: Edge) -> int | None:
        """The steps from this one to the end of the proof, both included, on the proof's path only."""
        return self._steps(edge.source) if id(edge) in self.path else None

    def _steps(self, node: Node) -> int:
        if node.id not in self._remaining:
            assert node.proof is not None
            below = sum(self._steps(child.node) for child in node.proof.children)
            self._remaining[node.id] = 1 + below
        return self._remaining[node.id]


def _is_refuted(edge: Edge, failed: set[int]) -> bool:
    return edge.result == "rejected" or any(
        child.node is edge.source or child.node.id in failed for child in edge.children
    )


def failed_for_certain(tree: Tree) -> set[int]:
    """The nodes that would have failed even without timeouts and lost tactics.

    This is the least such set, because of loops: a node does not fail by leading back to itself.
    """
    failed: set[int] = set()
    todo = [node for node in reversed(tree.nodes) if node.status is Status.FAILED]
    while True:
        left: list[Node] = []
        for node in todo:  # mostly children first, so that one pass mostly suffices
            if all(edge.retried or _is_refuted(edge, failed) for edge in node.edges):
                failed.add(node.id)
            else:
                left.append(node)
        if len(left) == len(todo):
            return failed
        todo = left
