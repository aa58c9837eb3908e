"""What a tried step is evidence of.

positive  it is on the path of a proof that the judge accepted
negative  Lean refused it, it led back to where it was tried, or all that was tried after it failed
unknown   anything else: what was not explored to the end says nothing, nor does what Lean had no
          time or no life left to answer
"""

from __future__ import annotations

from burnqed.search.tree import Edge, Node, Status, Tree
from burnqed.trajectories.schema import Label


class Labels:
    """The labels of one tree's edges; `verified` says that the judge accepted its proof."""

    def __init__(self, tree: Tree, verified: bool) -> None:
        self.path = {id(edge) for edge in tree.proof_edges()} if verified else set[int]()
        self._uncertain: dict[int, bool] = {}
        self._remaining: dict[int, int] = {}

    def label(self, edge: Edge) -> Label:
        if id(edge) in self.path:
            return "positive"
        if edge.result == "rejected":
            return "negative"
        if edge.result != "advanced" or not edge.dead:
            return "unknown"
        failed = [child.node for child in edge.children if child.node.status is Status.FAILED]
        if not failed:  # it led back to its own node
            return "negative"
        return "unknown" if all(self._is_uncertain(node) for node in failed) else "negative"

    def remaining(self, edge: Edge) -> int | None:
        """Steps from here to the end of the proof, this one counted, on the proof's path only."""
        return self._steps(edge.source) if id(edge) in self.path else None

    def _steps(self, node: Node) -> int:
        if node.id not in self._remaining:
            assert node.proof is not None
            below = sum(self._steps(child.node) for child in node.proof.children)
            self._remaining[node.id] = 1 + below
        return self._remaining[node.id]

    def _is_uncertain(self, node: Node) -> bool:
        """Whether it failed for want of an answer: a step below it timed out or was lost."""
        if node.id not in self._uncertain:
            self._uncertain[node.id] = False  # a loop adds nothing
            self._uncertain[node.id] = any(
                edge.result in ("timeout", "lost")
                or any(self._is_uncertain(child.node) for child in edge.children)
                for edge in node.edges
            )
        return self._uncertain[node.id]
