"""Groups of states, and what the positive of each is held against in a step.

Siblings come first; then other states that the same theorem's searches gave up; then, where that is
asked for, states of other theorems in the batch. The latter are negatives because they are about
another goal. A head that does not see goals gets only those that were given up: a state on a path is no
negative by itself.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupRows:
    """A contrast, its states named by their rows in the embeddings.

    `goal` is the row of the theorem's own goal. `remaining` is how many steps of the proof are left.
    """

    theorem: str
    goal: int
    depth: int
    positive: int
    siblings: tuple[int, ...]
    others: tuple[int, ...]
    remaining: int


class Negatives:
    """Chooses what positives are held against: the hardest first, never more than `k`."""

    def __init__(
        self, groups: Sequence[GroupRows], k: int, *, in_batch: bool, conditioned: bool
    ) -> None:
        self._k, self._in_batch, self._conditioned = k, in_batch, conditioned
        self._proved: dict[int | None, set[int]] = defaultdict(set)
        for group in groups:
            self._proved[self._goal(group)].add(group.positive)

    def choose(self, batch: Sequence[GroupRows], chance: random.Random) -> list[list[int]]:
        """For each group the rows of its negatives; it has one at least if it has any of its own."""
        pool = list(dict.fromkeys(pair for group in batch for pair in self._lent(group)))
        return [self._of(group, pool, chance) for group in batch]

    def _of(self, group: GroupRows, pool: list[tuple[str, int]], chance: random.Random) -> list[int]:
        chosen: dict[int, None] = {}
        for source in (group.siblings, group.others):
            fresh = [state for state in source if state not in chosen]
            short = self._k - len(chosen)
            chosen.update(dict.fromkeys(chance.sample(fresh, min(short, len(fresh)))))
        if self._in_batch and len(chosen) < self._k:
            barred = self._proved[self._goal(group)]
            drawn = chance.sample(pool, min(3 * self._k, len(pool)))  # some are of no use
            for theorem, state in drawn:
                if len(chosen) < self._k and theorem != group.theorem and state not in barred:
                    chosen[state] = None
        return list(chosen)

    def _lent(self, group: GroupRows) -> Iterator[tuple[str, int]]:
        """The states that another theorem may have for negatives."""
        if self._conditioned:
            yield group.theorem, group.positive
        yield from ((group.theorem, state) for state in (*group.siblings, *group.others[: self._k]))

    def _goal(self, group: GroupRows) -> int | None:
        return group.goal if self._conditioned else None
