"""Whether statements are worth proving: Lean elaborates each of them, and it is not plainly false.

False is said only where the kernel accepted a proof of `¬ T`, for all that the statement says. The
search for one is short, and its tactics are bounded by heartbeats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from burnqed.core.errors import LeanError, StatementError
from burnqed.core.types import Theorem
from burnqed.lean.pool import Pool
from burnqed.lean.refute import refute
from burnqed.lean.session import open_session

# Of one tactic, in the thousands of `maxHeartbeats`: about a quarter of a second.
HEARTBEATS = 1_000
SECONDS = 60.0  # of the tactics for one statement, which mostly take less than one

Verdict = Literal["fine", "does not elaborate", "trivially false", "error"]


@dataclass(frozen=True, slots=True)
class Verified:
    """What is known of a statement. "error" is Lean's failure, and says nothing about the statement."""

    name: str
    verdict: Verdict
    why: str = ""


async def verify(
    pool: Pool, theorems: Sequence[Theorem], on_result: Callable[[Verified], None]
) -> list[Verified]:
    """Look at each statement, as many at once as the pool has workers; `on_result` as each is done."""

    async def one(theorem: Theorem) -> Verified:
        found = await _verify(pool, theorem)
        on_result(found)
        return found

    return await asyncio.gather(*map(one, theorems))


async def _verify(pool: Pool, theorem: Theorem) -> Verified:
    try:
        async with open_session(pool, HEARTBEATS) as session:
            found = await refute(session, theorem, SECONDS)
    except StatementError as error:
        why = error.message.removeprefix(f"{theorem.name}: ")
        return Verified(theorem.name, "does not elaborate", why)
    except LeanError as error:
        return Verified(theorem.name, "error", error.message)
    if found is None:
        return Verified(theorem.name, "fine")
    at = f"{found.sentence}; " if found.values else ""
    return Verified(theorem.name, "trivially false", f"{at}this proves its negation: {found.tactic}")
