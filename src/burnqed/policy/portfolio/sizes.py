"""What Lean's kernel should not be asked to compute: with large numbers it counts no heartbeats."""

from __future__ import annotations

import re

from burnqed.policy.portfolio.arithmetic import Unreadable, compute, names_in, parse

# The embedded Lean takes seconds for a power of a million bits, and minutes for ten million.
MOST_BITS = 200_000
_OPERAND = r"(?:\d+|\((?:[^()]|\([^()]*\))*\))"
_POWER = re.compile(rf"(?<![\w.^])({_OPERAND}|[^\W\d][\w.₀-₉']*) \^ ({_OPERAND}(?: \^ {_OPERAND})*)")
_BITS_OF_A_NAME = 8


def has_large_power(text: str) -> bool:
    """Whether a power with a known exponent is too large in this text of Lean's."""
    return any(_bits(base) * _exponent(exponent) > MOST_BITS for base, exponent in _POWER.findall(text))


def _exponent(text: str) -> float:
    """0 for one with variables in it: that is not computed."""
    try:
        term = parse(text)
    except Unreadable:
        return 0
    if names_in(term):
        return 0
    try:
        return float(compute(term, "Nat", {}, {}))
    except Unreadable:
        return float("inf")  # too large for us as well


def _bits(text: str) -> int:
    try:
        return int(compute(parse(text), "Nat", {}, {})).bit_length()
    except Unreadable:
        return _BITS_OF_A_NAME
