"""What the head learns from: a state on a judged proof's path, and siblings that were given up.

A sibling is a negative only if everything that was tried at it failed. What was not explored, or not to
the end, is unknown and no evidence at all: once it was taken for one, and the model learnt which states
a search happens to visit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from burnqed.trajectories.schema import StepRow


@dataclass(frozen=True, slots=True)
class Contrast:
    """States by their text: one that led to a proof, and those tried beside it that led nowhere."""

    theorem: str
    root_goal: str
    positive: str
    negatives: tuple[str, ...]
    depth: int
    remaining_steps: int


@dataclass(frozen=True, slots=True)
class Contrasts:
    """The groups of a set, and what had to be left out of them."""

    groups: tuple[Contrast, ...]
    positives: int  # states on a path, below the root
    alone: int  # of these, those without a sibling that was given up
    dual: int  # states that are on one path and given up in another search: no negatives

    @property
    def by_depth(self) -> Mapping[int, int]:
        """How many groups there are at each depth: whether there is anything to learn."""
        return dict(sorted(Counter(group.depth for group in self.groups).items()))


def contrasts(rows: Iterable[StepRow]) -> Contrasts:
    """Groups from the steps of some searches; those of one theorem and run stand together."""
    searches: dict[tuple[str, str], list[StepRow]] = defaultdict(list)
    for row in rows:
        searches[row.run, row.theorem].append(row)
    found = [_Search(steps) for steps in searches.values()]
    proved = {text for search in found for text in search.on_path}
    groups: list[Contrast] = []
    positives = alone = 0
    dual: set[str] = set()
    for search in found:
        for contrast in search.contrasts():
            positives += 1
            dual |= proved.intersection(contrast.negatives)
            negatives = tuple(n for n in contrast.negatives if n not in proved)
            if negatives:
                groups.append(replace(contrast, negatives=negatives))
            else:
                alone += 1
    return Contrasts(tuple(groups), positives, alone, len(dual))


class _Search:
    """One search's steps, by the node at which they were tried."""

    def __init__(self, steps: Sequence[StepRow]) -> None:
        self.at: dict[int, list[StepRow]] = defaultdict(list)
        for step in steps:
            self.at[step.node].append(step)

    @property
    def on_path(self) -> set[str]:
        return {s.state for steps in self.at.values() for s in steps if s.on_proof_path}

    def contrasts(self) -> Iterable[Contrast]:
        for steps in self.at.values():
            for step in steps:
                if step.on_proof_path:
                    rivals = self._given_up(steps, step)
                    for child in step.children:
                        yield from self._contrast(child, rivals)

    def _contrast(self, node: int, rivals: tuple[str, ...]) -> Iterable[Contrast]:
        step = next((s for s in self.at.get(node, ()) if s.on_proof_path), None)
        if step is not None and step.remaining_steps is not None:
            others = tuple(rival for rival in rivals if rival != step.state)
            yield Contrast(
                step.theorem, step.root_goal, step.state, others, step.depth, step.remaining_steps
            )

    def _given_up(self, steps: Sequence[StepRow], path: StepRow) -> tuple[str, ...]:
        """The states that the other steps led to and that failed for certain, each once."""
        nodes = [n for s in steps if s is not path for n in s.children if n not in path.children]
        failed = [n for n in nodes if n in self.at and all(s.label == "negative" for s in self.at[n])]
        return tuple(dict.fromkeys(self.at[n][0].state for n in failed))
