"""A search tree as HTML for a notebook: nested lists, all escaped, nothing loaded from outside."""

from __future__ import annotations

import html

from burnqed.core.screen import visible
from burnqed.search.tree import Edge, Node, Status, Tree

# Most nodes, and most steps from the root, so that a notebook stays small and readable.
SHOWN, DEEP = 200, 60
_MARKS = {Status.PROVED: "✓", Status.FAILED: "✗", Status.EXPANDED: "…", Status.OPEN: "○"}
_REFUSED = 5  # tactics that did not work, at each node


def result_html(kind: str, said: str, statement: str, proof: str | None, tree: Tree | None) -> str:
    """A result: its outcome, the proof or the statement, and the tree folded away."""
    shown = statement if proof is None else proof
    parts = [f"<b>{_text(kind)}</b> {_text(said)}", f"<pre>{_text(shown)}</pre>"]
    if tree is not None and tree.nodes:
        parts.append(f"<details><summary>search tree</summary>{tree_html(tree)}</details>")
    return f"<div>{''.join(parts)}</div>"


def tree_html(tree: Tree) -> str:
    """The tree from its root. A node that was drawn already appears as its number."""
    return f"<ul>{_node(tree.root, 0, set())}</ul>"


def _text(text: str) -> str:
    """Text without markup and without invisible characters."""
    return html.escape(visible(text))


def _node(node: Node, depth: int, drawn: set[int]) -> str:
    head = f"{_MARKS[node.status]} <b>{node.id}</b>"
    if node.id in drawn:
        return f"<li>{head} (above)</li>"
    if len(drawn) >= SHOWN or depth > DEEP:
        return f"<li>{head} (more nodes are not shown)</li>"
    drawn.add(node.id)
    # First the edge that led to a proof, then those that worked, in the order tried.
    worked = [edge for edge in node.edges if edge.result in ("closed", "advanced")]
    worked.sort(key=lambda edge: edge is not node.proof)
    inner = "".join(_edge(edge, depth, drawn, edge is node.proof) for edge in worked)
    refused = [edge for edge in node.edges if edge.result not in ("closed", "advanced")]
    if refused:
        lines = "".join(f"<li>{_tried(edge)}</li>" for edge in refused[:_REFUSED])
        more = f"<li>{len(refused) - _REFUSED} more</li>" if len(refused) > _REFUSED else ""
        summary = f"<summary>{len(refused)} did not work</summary>"
        inner += f"<li><details>{summary}<ul>{lines}{more}</ul></details></li>"
    return f"<li>{head}<pre>{_text(node.text)}</pre><ul>{inner}</ul></li>"


def _edge(edge: Edge, depth: int, drawn: set[int], proves: bool) -> str:
    children = "".join(_node(child.node, depth + 1, drawn) for child in edge.children)
    tactic = f"<code>{_text(edge.candidate.tactic)}</code>"
    below = f"<ul>{children}</ul>" if children else ""
    return f"<li>{'✓ ' if proves else ''}{tactic}{below}</li>"


def _tried(edge: Edge) -> str:
    error = f" {_text(edge.error[:200])}" if edge.error else ""
    return f"<code>{_text(edge.candidate.tactic)}</code> {_text(edge.result)}{error}"
