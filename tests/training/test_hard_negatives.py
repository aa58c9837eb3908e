"""What a positive is held against: the hardest first, and never what is proved."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from burnqed.training.hard_negatives import GroupRows, Negatives


def group(
    theorem: str, positive: int, siblings: Sequence[int], others: Sequence[int] = ()
) -> GroupRows:
    return GroupRows(theorem, 1000 + ord(theorem[0]), 1, positive, tuple(siblings), tuple(others), 1)


def choose(groups: list[GroupRows], k: int, seed: int = 0, **how: bool) -> list[list[int]]:
    settings = {"in_batch": True, "conditioned": True, **how}
    return Negatives(groups, k, **settings).choose(groups, random.Random(seed))


def test_siblings_come_first_then_others_then_other_theorems() -> None:
    groups = [group("a", 0, [1, 2], [3, 4, 5]), group("b", 10, [11, 12, 13, 14])]
    for seed in range(30):
        assert set(choose(groups, 2, seed)[0]) == {1, 2}
        four = choose(groups, 4, seed)[0]
        assert len(four) == 4
        assert {1, 2} < set(four) <= {1, 2, 3, 4, 5}
        seven = choose(groups, 7, seed)
        assert {1, 2, 3, 4, 5} < set(seven[0]) <= {1, 2, 3, 4, 5, 10, 11, 12, 13, 14}
        assert len(seven[0]) == 7
        assert set(choose(groups, 7, seed, in_batch=False)[0]) == {1, 2, 3, 4, 5}


def test_more_siblings_than_wanted_take_turns() -> None:
    groups = [group("a", 0, range(1, 9))]
    drawn = Counter(row for seed in range(200) for row in choose(groups, 3, seed)[0])
    assert set(drawn) == set(range(1, 9))
    assert all(len(choose(groups, 3, seed)[0]) == 3 for seed in range(20))
    assert max(drawn.values()) < 2 * min(drawn.values())


def test_what_is_on_a_path_to_the_same_goal_is_never_a_negative() -> None:
    first, second = group("a", 0, [1]), group("b", 2, [3, 0])
    twin = replace(group("c", 4, [5]), goal=first.goal)  # the same theorem under another name
    for seed in range(30):
        chosen = choose([first, second, twin], 6, seed)
        assert not {0, 4} & {*chosen[0], *chosen[2]}
        assert 4 in choose([second, twin], 6, seed)[0], "a state about another goal is one"
        blind = choose([first, second, twin], 6, seed, conditioned=False)
        assert not {0, 2, 4} & set(blind[0]), "without a goal nothing on any path is"
