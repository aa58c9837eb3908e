"""What lemmas cost: reading the library, making a retriever of it, and asking it for a state.

    python bench/ranked.py [--model RANKER/best] [--workers N]

The library is read from Lean anew, whatever the cache has. The states are statements of the library.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from burnqed.core.types import Goal
from burnqed.lean.embedded.progress import Silent, Terminal
from burnqed.lean.pool import run_sync
from burnqed.lean.toolchain import embedded
from burnqed.policy.portfolio.portfolio import Portfolio
from burnqed.policy.ranked.library import read_from_lean
from burnqed.policy.ranked.policy import Ranked
from burnqed.policy.ranked.retrieval import Retriever
from burnqed.policy.ranked.weights import load, untrained

MODULES = ("Init", "Std")
STATES = 300
CANDIDATES = 32


def asking(policy: Portfolio | Ranked, states: list[list[Goal]]) -> float:
    """Seconds for a state."""
    begun = time.perf_counter()
    run_sync(policy.propose(states, CANDIDATES, 0.0, 0))
    return (time.perf_counter() - begun) / len(states)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    with Terminal() as progress:
        spec = embedded(progress).launch(MODULES)
    begun = time.perf_counter()
    library = run_sync(read_from_lean(spec, given.workers, Silent()))
    read = time.perf_counter() - begun
    weights = load(given.model) if given.model else untrained()
    begun = time.perf_counter()
    ranked = Ranked(Retriever(library, weights), weights)
    made = time.perf_counter() - begun
    step = max(1, len(library.names) // STATES)
    states = [[Goal("", statement)] for statement in library.statements[::step]]
    plain, ours = asking(Portfolio(), states), asking(ranked, states)
    print(f"theorems of {' and '.join(MODULES)}: {len(library.names):,}")
    print(f"reading them from Lean: {read:.1f} s")
    print(f"making a retriever: {made:.1f} s")
    print(f"asking for a state: {1000 * ours:.1f} ms, of which the portfolio {1000 * plain:.1f} ms")


if __name__ == "__main__":
    main()
