"""What lemmas cost: reading the library, making a retriever of it, asking it for a state, and `grind`.

    python bench/ranked.py [--model RANKER/best] [--workers N]

The library is read from Lean anew, whatever the cache has. The states are statements of the library.
What a lemma costs `grind` is the time of `grind [lemma]` and of `grind [. lemma]` on a goal that has
nothing to do with it, beyond the time of `grind` alone, where all three close it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from burnqed.core.types import Closed, Goal, ProofState, Proposition, Theorem
from burnqed.lean.embedded.progress import Silent, Terminal
from burnqed.lean.pool import Pool, run_sync
from burnqed.lean.process import LaunchSpec
from burnqed.lean.session import Session, open_session
from burnqed.lean.toolchain import embedded
from burnqed.policy.portfolio.portfolio import Portfolio
from burnqed.policy.ranked.library import read_from_lean
from burnqed.policy.ranked.policy import Ranked
from burnqed.policy.ranked.retrieval import Retriever
from burnqed.policy.ranked.shared_words import shared_words
from burnqed.policy.ranked.weights import load, untrained

MODULES = ("Init", "Std")
STATES = 300
CANDIDATES = 32
LEMMAS = 60
PLAIN = Theorem("plain", Proposition("∀ a b : Nat, a ≤ b → a < b + 1"))


def asking(policy: Portfolio | Ranked, states: list[list[Goal]]) -> float:
    """Seconds for a state."""
    begun = time.perf_counter()
    run_sync(policy.propose(states, CANDIDATES, 0.0, 0))
    return (time.perf_counter() - begun) / len(states)


async def grinding(spec: LaunchSpec, names: list[str]) -> tuple[float, float, int]:
    """Seconds that a lemma costs `grind`, without and with the dot, and of how many that was seen."""
    seen: list[tuple[float, float]] = []
    async with Pool(spec, 1) as pool, open_session(pool) as session:
        state = await session.start(PLAIN)
        await taken(session, state, "grind")
        for name in names:
            alone, found, dotted = [
                await taken(session, state, tactic)
                for tactic in ("grind", f"grind [{name}]", f"grind [. {name}]")
            ]
            if alone and found and dotted:
                seen.append((found - alone, dotted - alone))
    return sum(a for a, _ in seen) / len(seen), sum(b for _, b in seen) / len(seen), len(seen)


async def taken(session: Session, state: ProofState, tactic: str) -> float | None:
    """Seconds of a tactic that closes the goal."""
    before = session.lean_seconds
    (result,) = await session.apply_batch(state, [tactic])
    return session.lean_seconds - before if isinstance(result, Closed) else None


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
    shared_words(library)
    begun = time.process_time()
    Retriever(library, weights, shared_words(library))
    remade = time.process_time() - begun
    step = max(1, len(library.names) // STATES)
    states = [[Goal("", statement)] for statement in library.statements[::step]]
    plain, ours = asking(Portfolio(), states), asking(ranked, states)
    found, dotted, seen = run_sync(grinding(spec, list(library.names[:: len(library.names) // LEMMAS])))
    print(f"theorems of {' and '.join(MODULES)}: {len(library.names):,}")
    print(f"reading them from Lean: {read:.1f} s")
    print(f"making a retriever: {made:.1f} s; words from the cache: {remade:.2f} s (CPU)")
    print(f"asking for a state: {1000 * ours:.1f} ms, of which the portfolio {1000 * plain:.1f} ms")
    print(f"a lemma of `grind`, of {seen}: {1000 * found:.1f} ms, with a dot {1000 * dotted:.1f} ms")


if __name__ == "__main__":
    main()
