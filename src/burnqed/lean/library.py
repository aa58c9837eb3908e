"""The theorems of the running Lean's library, page by page, and which modules import which."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from burnqed.lean import replies, requests
from burnqed.lean.embedded.progress import Progress, Silent
from burnqed.lean.pool import Pool

PAGE = 250  # theorems, where each is printed
_NAMES = 2000  # where they are only named
_SECONDS = 300.0  # for a page
_SILENT = Silent()


async def read_theorems(
    pool: Pool, modules: Sequence[str] = (), progress: Progress = _SILENT, *, printed: bool = True
) -> list[replies.ListedTheorem]:
    """Every theorem of modules with these prefixes, as declared; to print them is most of the work."""
    size = PAGE if printed else _NAMES
    first = await _page(pool, modules, 0, size, printed)
    progress.stage("reading the library", first.total)
    done = len(first.theorems)

    async def page(offset: int) -> replies.TheoremsPage:
        nonlocal done
        found = await _page(pool, modules, offset, size, printed)
        done += len(found.theorems)
        progress.at(done)
        return found

    rest = await asyncio.gather(*map(page, range(size, first.total, size)))
    return [one for found in (first, *rest) for one in found.theorems]


async def _page(
    pool: Pool, modules: Sequence[str], offset: int, size: int, printed: bool
) -> replies.TheoremsPage:
    async with pool.lease() as worker:
        line = requests.Theorems(offset, size, modules or None, print=printed).line
        return replies.read(await worker.request(line, timeout=_SECONDS), replies.TheoremsPage)


async def read_imports(pool: Pool) -> dict[str, tuple[str, ...]]:
    """What each loaded module imports."""
    found = {}
    async with pool.lease() as worker:
        described = await worker.request(requests.DescribeEnvironment().line)
        for module in replies.read(described, replies.Modules).modules:
            reply = await worker.request(requests.ReadModule(module).line)
            found[module] = replies.read(reply, replies.Module).imports
    return found
