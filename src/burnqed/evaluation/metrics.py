"""The statistics of results. Plain functions, standard library only."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(solved: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a rate. Unlike the normal approximation it is sensible at 0 and 1."""
    if not 0 <= solved <= total:
        raise ValueError(f"{solved} of {total} is not a rate")
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = solved / total
    scale = 1 + z * z / total
    centre = (rate + z * z / (2 * total)) / scale
    spread = z / scale * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    low = 0.0 if solved == 0 else centre - spread
    high = 1.0 if solved == total else centre + spread
    return max(low, 0.0), min(high, 1.0)


def pass_at(k: int, attempts: int, successes: int) -> float:
    """The probability that k of these attempts, drawn at random, include a success."""
    if not (1 <= k <= attempts and 0 <= successes <= attempts):
        raise ValueError(f"pass@{k} of {attempts} attempts with {successes} successes")
    return 1 - math.comb(attempts - successes, k) / math.comb(attempts, k)
