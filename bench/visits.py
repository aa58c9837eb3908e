"""What it saves to try a state's candidates in several visits: proofs for the processor time of Lean.

    python bench/visits.py [SET] [--every N] [--first N] [--nodes N] [--minutes M]

Searches every Nth theorem of a set in three ways on one worker, with the policy of `burn-qed search`:
all candidates of a state at once, the likeliest first, with all heartbeats; in visits, the likeliest
per second first; and so with a small effort first, as the commands do it. Each way is first as often as
the others. Processor time is counted in all processes of Lean, so other work disturbs it little.
Nothing is judged: this is about the search. Linux only.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnqed.core.errors import BurnQedError
from burnqed.core.ports import Policy
from burnqed.core.types import Candidate, Goal, Theorem
from burnqed.evaluation.prove import EFFORT, HEARTBEATS, Prover
from burnqed.lean.pool import run_sync
from burnqed.lean.session import open_session
from burnqed.prover.assembly import assemble
from burnqed.prover.config import SearchConfig
from burnqed.prover.leans import modules_of
from burnqed.prover.sets import chosen
from burnqed.search.best_first import best_first

_TICKS = os.sysconf("SC_CLK_TCK")
_SECONDS, _NODES = (0.3, 1, 3, 10, 60), (1, 3, 10, 30)
_WAYS: dict[str, tuple[bool, int | None]] = {  # by visits, and the effort
    "at once": (False, None), "in visits": (True, None), "small effort": (True, EFFORT),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Priceless:
    """A policy that knows no costs."""

    policy: Policy

    def about(self, theorem: Theorem) -> Priceless:
        return Priceless(self.policy.about(theorem))

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        proposed = await self.policy.propose(states, n, temperature, seed)
        return [[replace(one, cost=0.0) for one in candidates] for candidates in proposed]


@dataclass(frozen=True, slots=True)
class Spent:
    """One search: whether it found a proof, its nodes and tactics, and the time that Lean used."""

    proved: bool
    nodes: int
    tactics: int
    seconds: float


async def main(given: argparse.Namespace) -> None:
    index = chosen(given.set)
    config = SearchConfig(workers=1, nodes=given.nodes)
    assembled = assemble(config, modules_of(config, index.imports), given.nodes, warned)
    spent: dict[str, list[Spent]] = {way: [] for way in _WAYS}
    end = time.monotonic() + 60 * given.minutes
    async with assembled.opened() as prover:
        theorems = index.theorems[given.first :: given.every]
        await searched(prover, theorems[0], *_WAYS["in visits"])  # warm up
        for number, theorem in enumerate(theorems):
            turn = number % len(_WAYS)
            ways = [*_WAYS][turn:] + [*_WAYS][:turn]
            try:
                found = {way: await searched(prover, theorem, *_WAYS[way]) for way in ways}
            except BurnQedError as error:
                warned(f"{theorem.name} left out: {error}")
                continue
            for way, one in found.items():
                spent[way].append(one)
            told = ", ".join(
                f"{way}: {'proved' if found[way].proved else 'no'} {found[way].seconds:.1f} s"
                for way in _WAYS
            )
            warned(f"{theorem.name} {told}")
            if time.monotonic() > end:
                break
    shown(spent, given)


def shown(spent: dict[str, list[Spent]], given: argparse.Namespace) -> None:
    count = len(spent["at once"])
    print(f"{count} theorems of {given.set}, {given.nodes} nodes at most, one worker")
    for way, every in spent.items():
        seconds = sum(one.seconds for one in every)
        nodes, tactics = sum(one.nodes for one in every), sum(one.tactics for one in every)
        proved = [one for one in every if one.proved]
        print(f"{way}: proved {len(proved)}; {nodes} nodes, {tactics} tactics, {seconds:.0f} CPU s")
        by_time = (f"{most:g}: {sum(one.seconds <= most for one in proved)}" for most in _SECONDS)
        by_nodes = (f"{most}: {sum(one.nodes <= most for one in proved)}" for most in _NODES)
        print(f"    proved within CPU seconds  {'  '.join(by_time)}")
        print(f"    proved within nodes        {'  '.join(by_nodes)}")
        both = [
            one.seconds
            for one, *all_ways in zip(every, *spent.values(), strict=True)
            if all(other.proved for other in all_ways)
        ]
        print(f"    CPU seconds for the {len(both)} that all prove: {sum(both):.0f}")


async def searched(prover: Prover, theorem: Theorem, by_visits: bool, effort: int | None) -> Spent:
    settings = replace(prover.settings, by_visits=by_visits, effort=effort)
    policy: Policy = prover.policy.about(theorem)
    if not by_visits:
        policy = Priceless(policy)
    before = of_children()
    async with open_session(prover.pool, HEARTBEATS) as session:
        found = await best_first(theorem, session, policy, None, prover.budget, settings=settings)
    tactics = sum(1 for _ in found.tree.edges())
    return Spent(found.tree.proved, found.nodes, tactics, of_children() - before)


def warned(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def of_children() -> float:
    """The processor time of the processes below this one, those that have ended among them."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(_seconds(pid) for pid in below(os.getpid()))


def below(pid: int) -> Iterator[int]:
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            yield child
            yield from below(child)


def _seconds(pid: int) -> float:
    """Of a process, and of what it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("set", nargs="?", default="qed-core")
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=30.0)
    run_sync(main(parser.parse_args()))
