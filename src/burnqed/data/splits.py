"""Train, validation and test, by the hash of a theorem's name.

A theorem falls where its name says, whatever else is in the set: adding theorems, or taking some away,
moves none. Never by steps: two steps of one proof in two splits would be a leak.
"""

from __future__ import annotations

import hashlib

from burnqed.core.errors import InputError

SPLITS = ("train", "val", "test")
SHARES = (90.0, 5.0, 5.0)
_BITS = 48


def split_of(name: str, shares: tuple[float, ...] = SHARES) -> str:
    """The split of a theorem. Growing the first share moves theorems into it, and none out of it."""
    digest = hashlib.sha256(b"split " + name.encode()).digest()
    place = int.from_bytes(digest[: _BITS // 8], "big") / 2**_BITS * sum(shares)
    for split, share in zip(SPLITS, shares, strict=True):
        place -= share
        if place < 0:
            return split
    return SPLITS[-1]


def read_shares(text: str) -> tuple[float, ...]:
    """`90/5/5`: what train, validation and test get."""
    try:
        shares = tuple(float(part) for part in text.split("/"))
    except ValueError:
        shares = ()
    if len(shares) != len(SPLITS) or min(shares) < 0 or not 0 < sum(shares) < float("inf"):
        raise InputError(f"no shares: {text}", hint="three parts for train/val/test, such as 90/5/5")
    return shares
