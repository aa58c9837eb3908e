"""The names that the running Lean knows: is one gone, and in which namespaces is it?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from burnqed.core.errors import ProtocolError, RequestRefused
from burnqed.lean import replies, requests
from burnqed.lean.pool import Pool

_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class KnownNames:
    """All constants, and for the last part of a name what may stand before it."""

    full: frozenset[str] = frozenset()
    before: dict[str, list[str]] = field(default_factory=dict)

    def namespaces(self, name: str) -> list[str]:
        """Those in which there is this name: opening one of them would make it known."""
        last = name.rsplit(".", 1)[-1]
        found = (
            before.removesuffix(name.removesuffix(last).rstrip(".")).rstrip(".")
            for before in self.before.get(last, ())
            if f"{before}.{last}".endswith(f".{name}")
        )
        return sorted({one for one in found if one}, key=lambda one: (one.count("."), one))


def known(names: Iterable[str]) -> KnownNames:
    full = frozenset(name for name in names if not name.startswith("_"))
    before: dict[str, list[str]] = {}
    for name in full:
        prefix, dot, last = name.rpartition(".")
        if dot:
            before.setdefault(last, []).append(prefix)
    return KnownNames(full, before)


async def known_names(pool: Pool) -> KnownNames:
    """Of what is loaded. A REPL that cannot list them knows none."""
    async with pool.lease() as worker:
        reply = await worker.request(requests.Catalog().line, timeout=_SECONDS)
    try:
        return known(symbol[1:] for symbol in replies.read(reply, replies.Symbols).symbols)
    except (RequestRefused, ProtocolError):
        return known(())
