"""Events that a search sends while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from burnqed.core.types import Theorem
from burnqed.search.budget import Meter
from burnqed.search.tree import Node, Tree


@dataclass(frozen=True, slots=True)
class Started:
    """Lean accepted the statement, and the search begins.

    The tree and the meter are the search's own: only read them.
    """

    theorem: Theorem
    tree: Tree
    meter: Meter


@dataclass(frozen=True, slots=True)
class Expanded:
    """A node's candidates were tried, all or some of them. Its edges have the results.

    `nodes` is how much of the budget is spent, with the node that is begun.
    """

    theorem: Theorem
    node: Node
    nodes: int


Event = Started | Expanded
EventSink = Callable[[Event], None]


def ignore(event: Event) -> None:
    """An event sink that does nothing."""
