"""Two searches for one theorem: what each did, in order, and which of their states are the same."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from burnqed.search.keys import renumbered
from burnqed.search.shown import line_of
from burnqed.trajectories.schema import StepRow, TheoremRecord
from burnqed.web.tree import figures, goals_of

Expansion = tuple[int, list[StepRow]]  # a visit: a node, and what was tried at it


class Side:
    """One of the two searches: its rows by expansion, and by what leads where."""

    def __init__(self, record: TheoremRecord, rows: Sequence[StepRow]) -> None:
        self.record = record
        self.expansions = list(_expansions(rows))
        self.tried: dict[int, dict[str, StepRow]] = {}
        self._ways: dict[int, StepRow] = {}  # the first step that led to a node
        for row in rows:
            tried = self.tried.setdefault(row.node, {})
            if row.tactic not in tried or row.children:  # of several tries, the one that led on
                tried[row.tactic] = row
            for child in row.children:
                self._ways.setdefault(child, row)
        self.states = {node: renumbered(self.row(node).state) for node in self.tried}

    def row(self, node: int) -> StepRow:
        """A step at a node that was expanded."""
        return next(iter(self.tried[node].values()))

    def figures(self, node: int | None) -> tuple[float | None, float | None]:
        """Energy and score, as the record has them in the end."""
        if node is None:
            return None, None
        return figures(node, self.row(node) if node in self.tried else None, self._ways.get(node))

    def when(self, node: int) -> int | None:
        """The number of the first visit to a node, from 1."""
        return next((n for n, (one, _) in enumerate(self.expansions, 1) if one == node), None)


def _expansions(rows: Sequence[StepRow]) -> Iterator[Expansion]:
    """In the order of time. One record may hold several searches, each with a root and a clock."""
    roots = sorted({row.node for row in rows if row.parent is None})
    ordered = sorted(rows, key=lambda row: (bisect_right(roots, row.node), row.seconds))
    for node, tried in groupby(ordered, lambda row: row.node):
        yield node, list(tried)


class Pairs:
    """Which nodes are the same state: the same steps lead to both, and Lean prints the same goals."""

    def __init__(self, here: Side, there: Side) -> None:
        self._here, self._there = here, there
        self.there: dict[int, int] = {}  # by the node here
        self.here: dict[int, int] = {}

    def join(self, one: int, other: int) -> bool:
        """Whether they can be the same; if so, they are from now on."""
        known = self.there.get(one, other) == other and self.here.get(other, one) == one
        text, same = self._here.states.get(one), self._there.states.get(other)
        if not known or (text is not None and same is not None and text != same):
            return False
        self.there[one], self.here[other] = other, one
        return True

    def join_all(self, some: Sequence[int], others: Sequence[int]) -> bool:
        return len(some) == len(others) and all(map(self.join, some, others))

    def joined(self, one: int, other: int) -> bool:
        return self.there.get(one) == other

    def follow(self) -> None:
        """Join what the same tactics lead to from states that are the same."""
        todo = list(self.there.items())
        for one, other in todo:
            others = self._there.tried.get(other, {})
            for tactic, row in self._here.tried.get(one, {}).items():
                same = others.get(tactic)
                if same is None or len(same.children) != len(row.children):
                    continue
                for pair in zip(row.children, same.children, strict=True):
                    fresh = pair[0] not in self.there and pair[1] not in self.here
                    if fresh and self.join(*pair):
                        todo.append(pair)


@dataclass(frozen=True, slots=True)
class Choice:
    """A state that could be expanded next, in both trees."""

    here: int | None
    there: int | None
    line: str
    scores: tuple[float | None, float | None]
    energies: tuple[float | None, float | None]


def choice_of(one: int | None, other: int | None, here: Side, there: Side) -> Choice:
    (energy, score), (other_energy, other_score) = here.figures(one), there.figures(other)
    known = here.row(one) if one in here.tried else there.row(other) if other in there.tried else None
    line = line_of(goals_of(known.state)[0]) if known else ""
    return Choice(one, other, line, (score, other_score), (energy, other_energy))
