"""What it costs true theorems that `prove` asks whether they are false.

    python bench/refute.py [--every N] [--nodes N]

Proves every Nth theorem of qed-core with the portfolio, one after the other, as `burn-qed prove` does,
and says which share of the time went into looking for refutations, and whether one was found.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from unittest.mock import patch

from burnqed.core.types import Theorem
from burnqed.evaluation import doubt
from burnqed.evaluation.prove import Prover, prove
from burnqed.lean.embedded.progress import Terminal
from burnqed.lean.pool import Pool, run_sync
from burnqed.lean.refute import Refutation, refute
from burnqed.lean.session import Session
from burnqed.lean.toolchain import embedded
from burnqed.policy.portfolio import Portfolio
from burnqed.prover.sets import chosen
from burnqed.search.budget import Budget


class Timed:
    """`refute`, and the seconds that it took in all."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def __call__(self, session: Session, theorem: Theorem, seconds: float) -> Refutation | None:
        begun = time.monotonic()
        try:
            return await refute(session, theorem, seconds)
        finally:
            self.seconds += time.monotonic() - begun


async def measure(every: int, nodes: int) -> None:
    index = chosen("qed-core")
    with Terminal() as progress:
        launch = embedded(progress).launch(("Init", *index.imports))
    timed = Timed()
    whole, shares, outcomes = 0.0, [], []
    with patch.object(doubt, "refute", timed):
        async with Pool(launch, 1) as pool, Pool(launch, 1) as judges:
            budget = Budget(nodes=nodes, candidates=32, seconds=120.0)
            prover = Prover(pool, judges, Portfolio(), budget, refutes=True)
            for theorem in index.theorems[::every]:
                begun, before = time.monotonic(), timed.seconds
                outcomes.append((await prove(prover, theorem, 0)).outcome)
                seconds = time.monotonic() - begun
                whole += seconds
                shares.append((timed.seconds - before) / seconds)
    print(f"{len(shares)} theorems: {outcomes.count('proved')} proved, {outcomes.count('false')} false")
    print(f"{sum(share > 0 for share in shares)} were not proved at once, and looked at")
    print(f"time that this took: {timed.seconds / whole:.1%} of {whole:.0f} s")
    print(f"of a theorem's time: median {median(shares):.1%}, at most {max(shares):.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--nodes", type=int, default=30)
    given = parser.parse_args()
    run_sync(measure(given.every, given.nodes))


if __name__ == "__main__":
    main()
