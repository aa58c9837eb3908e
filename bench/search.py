"""What a search costs besides Lean, and what merging and splitting save.

    python bench/search.py [--nodes N] [--workers N]

Searches the theorems below with the portfolio, once with both on (which also gives the speed), then
without merging equal states, without proving independent goals separately, and without either. Nodes
are compared over the theorems that all four prove. Nothing is judged: this is about the search.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass

from burnqed.core.types import Proposition, Theorem
from burnqed.evaluation.prove import HEARTBEATS
from burnqed.lean.embedded.progress import Terminal
from burnqed.lean.pool import Pool, run_sync
from burnqed.lean.session import open_session
from burnqed.lean.toolchain import embedded
from burnqed.policy.portfolio import Portfolio
from burnqed.prover.policies import choice
from burnqed.search.best_first import SearchResult, Settings, best_first
from burnqed.search.budget import Budget

THEOREMS = {
    "odd_sum": "∀ n : Nat, ((List.range n).map fun k => 2 * k + 1).sum = n * n",
    "cube_sum": "∀ n : Nat, 4 * ((List.range (n + 1)).map fun k => k ^ 3).sum = (n * (n + 1)) ^ 2",
    "three_cases": "∀ a b c : Nat, (a < 2 ∧ b < 2 ∧ c < 2) → a * b * c ≤ 1",
    "iffs": "∀ p q r : Prop, ((p ∧ q) ∨ r ↔ (p ∨ r) ∧ (q ∨ r)) ∧ ((p → q → r) ↔ (p ∧ q → r))",
    "append_iff": "∀ (α : Type) (xs ys : List α), xs ++ ys = [] ↔ xs = [] ∧ ys = []",
    "map_filter": "∀ (f : Nat → Nat) (xs ys : List Nat), (xs ++ ys).map f = xs.map f ++ ys.map f ∧ "
    "(xs ++ ys).length = ys.length + xs.length ∧ (xs ++ ys).reverse = ys.reverse ++ xs.reverse",
    "pow_mod": "∀ n : Nat, 2 ^ (3 * n) % 7 = 1 ∧ 3 ^ (2 * n) % 8 = 1",
    "residues": "∀ n : Nat, n ^ 3 % 9 = 0 ∨ n ^ 3 % 9 = 1 ∨ n ^ 3 % 9 = 8",
    "recurrence": "∀ u : Nat → Nat, u 0 = 1 → (∀ n, u (n + 1) = 3 * u n + 2) → "
    "∀ n, u n + 1 = 2 * 3 ^ n",
    "growth": "∀ n : Nat, 5 ≤ n → n ^ 2 < 2 ^ n",
    "exists_both": "∀ a b : Nat, a ≤ b → (∃ c, b = a + c) ∧ ∃ d, a + d = b",
    "diophantine": "∀ x y : Nat, x * y = 35 → x + y = 12 → x = 5 ∨ x = 7",
    "functional": "∀ f : Nat → Nat, (∀ x y, f (x + y) = f x + f y) → f 0 = 0 ∧ f 2 = 2 * f 1",
    "options": "∀ (o : Option Nat) (p : Prop), (o = none ∨ ∃ x, o = some x) ∧ (p → p ∨ o = none)",
    "four_goals": "∀ a b : Nat, (a + b = b + a ∧ a * b = b * a) ∧ "
    "(max a b = max b a ∧ min a b = min b a)",
    "square_sum": "∀ a b : Int, 0 ≤ a ^ 2 + b ^ 2 ∧ 2 * a * b ≤ a ^ 2 + b ^ 2",
}


@dataclass(frozen=True, slots=True)
class Figures:
    searched: dict[str, SearchResult]
    wall: float

    @property
    def proved(self) -> set[str]:
        return {name for name, found in self.searched.items() if found.tree.proved}

    def nodes(self, names: set[str]) -> int:
        return sum(self.searched[name].nodes for name in names)


async def measure(pool: Pool, budget: Budget, settings: Settings) -> Figures:
    searched: dict[str, SearchResult] = {}

    async def one(name: str) -> None:
        async with open_session(pool, HEARTBEATS) as session:
            theorem = Theorem(name, Proposition(THEOREMS[name]))
            found = await best_first(theorem, session, Portfolio(), None, budget, settings=settings)
            searched[name] = found

    begun = time.monotonic()
    await asyncio.gather(*map(one, THEOREMS))
    return Figures(searched, time.monotonic() - begun)


async def main(nodes: int, workers: int) -> None:
    with Terminal() as progress:
        spec = embedded(progress).launch(("Init",))
    budget = Budget(nodes=nodes, candidates=choice("portfolio").candidates)
    ways = {
        "both": Settings(),
        "without merging": Settings(merge=False),
        "without splitting": Settings(split=False),
        "without either": Settings(merge=False, split=False),
    }
    async with Pool(spec, workers) as pool:
        await measure(pool, Budget(nodes=2, candidates=16), Settings())  # warm up
        figures = {name: await measure(pool, budget, settings) for name, settings in ways.items()}
    both = figures["both"].searched.values()
    seconds, lean = sum(s.seconds for s in both), sum(s.lean_seconds for s in both)
    spent = sum(s.nodes for s in both)
    tactics = sum(1 for s in both for _ in s.tree.edges())
    print(f"{len(THEOREMS)} theorems, {nodes} nodes at most, {workers} workers")
    print(f"share of search time that is not Lean   {1 - lean / seconds:.1%}   (goal: under 10%)")
    print(f"nodes per second                        {spent / figures['both'].wall:.1f}")
    print(f"tactics per second                      {tactics / figures['both'].wall:.0f}")
    common = set.intersection(*(f.proved for f in figures.values()))
    base = figures["both"].nodes(common)
    print(f"\nproved, and nodes over the {len(common)} theorems that every way proves")
    for name, found in figures.items():
        cost = found.nodes(common)
        print(f"  {name:<20} proved {len(found.proved):>2}   nodes {cost:>4}   x{cost / base:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    run_sync(main(options.nodes, options.workers))
