"""The theorems of the library: how many, and how many print so that they elaborate again.

    python bench/library.py [--sample N] [MODULE…]

Counts come from `qed.theorems` over everything. For the share that elaborates again, every k-th theorem
is printed, parsed, elaborated and compared with the original as a term.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter

from burnqed.lean.embedded.progress import Terminal
from burnqed.lean.process import LeanProcess
from burnqed.lean.requests import Theorems
from burnqed.lean.toolchain import embedded

PAGE = 500


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("modules", nargs="*", default=["Init", "Std"])
    parser.add_argument("--sample", type=int, default=1000)
    options = parser.parse_args()
    with Terminal() as progress:
        spec = embedded(progress).launch(options.modules)
    process = await LeanProcess.start(spec)
    begun = time.perf_counter()
    names: Counter[str] = Counter()
    offset: int | None = 0
    while offset is not None:
        page = await process.request(Theorems(offset, PAGE * 10, print=False).line, timeout=300)
        names.update(entry["module"].split(".")[0] for entry in page["theorems"])
        offset = page["next"]
    total = sum(names.values())
    print(f"theorems: {total}  {json.dumps(dict(names))}  ({time.perf_counter() - begun:.1f} s)")

    stride = max(1, total // options.sample)
    outcomes: Counter[str] = Counter()
    begun = time.perf_counter()
    offset = 0
    while offset is not None:
        page = await process.request(
            Theorems(offset, 50, stride=stride, roundtrip=True).line,
            timeout=600,
        )
        outcomes.update(entry["roundtrip"] for entry in page["theorems"])
        offset = page["next"]
    tried = sum(outcomes.values())
    print(f"printed and elaborated again: {tried}  ({time.perf_counter() - begun:.1f} s)")
    for outcome, count in outcomes.most_common():
        print(f"  {outcome:8} {count:5}  {count / tried:.1%}")
    await process.close()


if __name__ == "__main__":
    asyncio.run(main())
