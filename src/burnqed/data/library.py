"""The running Lean's own theorems as an index: what to prove when there is no data set at all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from burnqed.core.errors import InputError
from burnqed.core.types import LeakRule
from burnqed.lean import replies, requests
from burnqed.lean.library import read_theorems
from burnqed.lean.pool import Pool


async def library_entries(
    pool: Pool, prefixes: Sequence[str], leak_rule: LeakRule
) -> list[dict[str, Any]]:
    """An entry for each theorem that a person wrote, of modules with these prefixes, by name.

    Printing their statements is most of the work: choose first, then ask `with_statements`.
    """
    theorems = await read_theorems(pool, prefixes, printed=False)
    entries = [_entry(theorem, leak_rule) for theorem in theorems]
    if not entries:
        raise InputError(f"no theorems in modules {', '.join(prefixes)}", hint="such as Init or Std")
    return sorted(entries, key=lambda entry: str(entry["name"]))


async def with_statements(pool: Pool, entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same entries, each with its statement as it prints."""
    found = []
    async with pool.lease() as worker:
        for entry in entries:
            reply = await worker.request(requests.Inspect(entry["constant"]).line)
            found.append({**entry, "statement": replies.read(reply, replies.Inspected).type.pp})
    return found


def sample(entries: Sequence[dict[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    """Some of them, the same for the same seed."""
    if count > len(entries):
        raise InputError(f"a sample of {count} from {len(entries)} theorems")
    return random.Random(seed).sample(list(entries), count)


def _entry(theorem: replies.ListedTheorem, leak_rule: LeakRule) -> dict[str, Any]:
    return {
        "name": theorem.name,
        "statement": theorem.statement,
        "file_path": theorem.module,
        "module": theorem.module,
        "difficulty": theorem.size,
        "constant": theorem.name,
        "leak_rule": leak_rule,
    }
