"""Events that a search sends while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from burnqed.core.types import StepResult, Theorem
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


# What is done for a theorem, one after the other. The first is for all of them.
Activity = Literal[
    "loading rules and lemmas",
    "starting Lean",
    "reading the statement",
    "looking for a refutation",
    "choosing tactics",
    "rating states",
    "trying tactics",
    "shortening the proof",
    "judging the proof",
    "done",
]


@dataclass(frozen=True, slots=True)
class Doing:
    """What is done from now on, and the tactics that are tried at a node. `name` is the theorem's."""

    name: str
    activity: Activity
    node: Node | None = None
    tactics: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """What Lean answered to these tactics."""

    name: str
    tactics: Sequence[str]
    results: Sequence[StepResult]


Event = Started | Expanded | Doing | Tried
EventSink = Callable[[Event], None]


def ignore(event: Event) -> None:
    """An event sink that does nothing."""
