"""Which lemmas `grind` can use: it wants a pattern in a lemma, and one without takes its list with it.

Lean is asked once, when the library is read. There is no other way to know: what makes a pattern is
`grind`'s own affair, and changes with it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

from burnqed.core.errors import LeanDied, LeanError
from burnqed.core.types import Closed, ProofState, Proposition, Rejected, Theorem, TimedOut
from burnqed.lean.pool import Pool
from burnqed.lean.session import Session, open_session
from burnqed.policy.ranked.tactics import instances

_AT_ONCE = 16
_DEADLY = 20  # lemmas, at most, that end Lean; with more than that it is not the lemmas
_TRIVIAL = Theorem("trivial", Proposition("True"))  # so that lemmas are read, and nothing is proved
_WITHOUT = re.compile(r"theorem (\S+)` failed to find patterns")


async def usable(pool: Pool, names: Sequence[str], at: Callable[[int], None]) -> frozenset[str]:
    """Those of these lemmas that a list of `grind` may have. `at` hears how many are known."""
    known = 0
    deadly: list[str] = []

    async def some(names: Sequence[str]) -> list[str]:
        nonlocal known
        async with open_session(pool) as session:
            found = await _usable(session, await session.start(_TRIVIAL), names, deadly)
        known += len(names)
        at(known)
        return found

    parts = [names[i : i + _AT_ONCE] for i in range(0, len(names), _AT_ONCE)]
    return frozenset(name for found in await asyncio.gather(*map(some, parts)) for name in found)


async def _usable(
    session: Session, state: ProofState, names: Sequence[str], deadly: list[str]
) -> list[str]:
    found: list[str] = []
    left = list(names)
    while left:
        try:
            result = await session.apply(state, f"grind {instances(left)}")
        except LeanDied:
            # Twice, of this list. A native Lean computes what is in a lemma, and some of that ends the
            # process: the least Int64 divided by -1, say.
            if len(left) > 1:
                return [*found, *await _one_by_one(session, state, left, deadly)]
            deadly += left
            if len(deadly) > _DEADLY:
                raise
            return found
        if isinstance(result, Closed):
            return [*found, *left]
        named = _WITHOUT.search(result.error) if isinstance(result, Rejected) else None
        if named is not None and named[1] in left:  # it reads them in order: those before it are fine
            at = left.index(named[1])
            found, left = [*found, *left[:at]], left[at + 1 :]
        elif len(left) == 1:
            if isinstance(result, TimedOut) and not result.deterministic:  # that says nothing of it
                raise LeanError(
                    f"Lean did not say in {result.seconds:.0f} s whether grind can use {left[0]}",
                    hint="again, when the machine has less to do",
                )
            left = []
        else:  # one of them spoils it, and nobody says which
            return [*found, *await _one_by_one(session, state, left, deadly)]
    return found


async def _one_by_one(
    session: Session, state: ProofState, names: Sequence[str], deadly: list[str]
) -> list[str]:
    return [one for name in names for one in await _usable(session, state, [name], deadly)]
