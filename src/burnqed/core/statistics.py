"""Whether one of two is better, or by chance. Standard library only."""

from __future__ import annotations


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p-value of McNemar's test for two ways to do the same theorems.

    Theorems that both did alike do not show which is better. If there is no difference, each
    of the others is gained or lost by the toss of a fair coin.
    """
    if gained < 0 or lost < 0:
        raise ValueError("counts cannot be negative")
    tosses = gained + lost
    ways = tail = 1  # how many sequences of tosses have k heads; and at most k
    for k in range(min(gained, lost)):
        ways = ways * (tosses - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << tosses))
