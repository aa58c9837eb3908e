"""What a search tells while it runs, to whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from burnqed.core.types import Theorem
from burnqed.search.budget import Meter
from burnqed.search.tree import Node, Tree


@dataclass(frozen=True, slots=True)
class Started:
    """Lean accepted the statement. The tree and the meter are the search's own: look, do not touch."""

    theorem: Theorem
    tree: Tree
    meter: Meter


@dataclass(frozen=True, slots=True)
class Expanded:
    """A node's candidates were tried; its edges say what came of them."""

    theorem: Theorem
    node: Node
    nodes: int


Event = Started | Expanded
EventSink = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Nobody watches."""
