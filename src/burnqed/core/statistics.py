"""Whether one of two is better, or by chance. Standard library only."""

from __future__ import annotations

from math import sqrt


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


def paired_interval(gained: int, lost: int, tested: int) -> tuple[float, float]:
    """The 95% interval of the difference of two rates over the same theorems.

    Agresti and Min's: half a theorem is added to each of the four cells (both, neither, gained, lost),
    so that few theorems, or none that differ, do not look certain.
    """
    total = tested + 2
    more, less = gained + 0.5, lost + 0.5
    middle = (more - less) / total
    wide = 1.96 * sqrt(more + less - (more - less) ** 2 / total) / total
    return max(-1.0, middle - wide), min(1.0, middle + wide)
