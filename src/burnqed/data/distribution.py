"""Many whole numbers in few: percentiles and a histogram."""

from __future__ import annotations

from collections import Counter
from typing import Any

PERCENTILES = (1, 10, 25, 50, 75, 90, 99)


def distribution(counts: Counter[int]) -> dict[str, Any]:
    """Of how often each number came. The bins of the histogram double: 0, 1, 2 to 3, 4 to 7, …"""
    total = counts.total()
    if not total:
        return {"count": 0}
    values = sorted(counts)
    bins: Counter[int] = Counter()
    for value, count in counts.items():
        bins[value.bit_length()] += count
    return {
        "count": total,
        "min": values[0],
        "mean": round(sum(value * count for value, count in counts.items()) / total, 3),
        **{f"p{share}": _percentile(counts, values, share * total) for share in PERCENTILES},
        "max": values[-1],
        "histogram": [
            {"from": (1 << bits) >> 1, "to": (1 << bits) - 1, "count": bins[bits]}
            for bits in range(max(bins) + 1)
        ],
    }


def _percentile(counts: Counter[int], values: list[int], hundredths: int) -> int:
    """The smallest number that has at least that share of them at or below it."""
    reached = 0
    for value in values:
        reached += counts[value] * 100
        if reached >= hundredths:
            return value
    return values[-1]
