"""Why a search went where it went: what it knew of the states that it could choose between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from burnqed.search.tree import Edge, Node, Tree


@dataclass(frozen=True, slots=True)
class Led:
    """A state that a tactic led to; with a tactic that closed its goal, none.

    `logprob` is the tactic's. That of the best known path to the state is `path_logprob`, over
    `path_length` steps; the score is made of these and of the energy.
    """

    tactic: str
    logprob: float
    states: int  # that the tactic led to: all of them have to be proved
    node: int | None = None
    path_logprob: float | None = None
    path_length: int | None = None
    energy: float | None = None
    score: float | None = None
    status: str = "proved"


@dataclass(frozen=True, slots=True)
class Choice:
    """A state that was expanded, and what came of it, the best score first.

    `others` counts the tactics that led nowhere, by their outcome.
    """

    order: int  # of the states that were expanded, from 1
    node: int
    depth: int
    state: str
    path_logprob: float
    path_length: int
    energy: float | None
    score: float
    status: str
    led: tuple[Led, ...]
    others: Mapping[str, int]


def choices(tree: Tree) -> list[Choice]:
    """The states of a search in the order in which they were expanded."""
    expanded = [(node.order, node) for node in tree.nodes if node.order is not None]
    return [_choice(order, node) for order, node in sorted(expanded, key=lambda one: one[0])]


def _choice(order: int, node: Node) -> Choice:
    led = [one for edge in node.edges for one in _led(edge)]
    led.sort(key=lambda one: (one.score is not None, -(one.score or 0.0)))
    others = Counter[str](e.result for e in node.edges if e.result not in ("closed", "advanced"))
    return Choice(
        order=order,
        node=node.id,
        depth=node.depth,
        state=node.text,
        path_logprob=node.logprob,
        path_length=node.length,
        energy=node.energy,
        score=node.score,
        status=node.status.value,
        led=tuple(led),
        others=dict(others),
    )


def _led(edge: Edge) -> Iterator[Led]:
    tactic, logprob = edge.candidate.tactic, edge.candidate.logprob
    if edge.result == "closed":
        yield Led(tactic, logprob, 0)
    for child in edge.children:
        node = child.node
        yield Led(
            tactic, logprob, len(edge.children), node.id, node.logprob, node.length, node.energy,
            node.score, node.status.value,
        )  # fmt: skip
