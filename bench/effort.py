"""What a small first effort for each tactic saves: nodes and proofs for the processor time of Lean.

    python bench/effort.py [SET] [--every N] [--nodes N] [--seconds S] [--efforts N ...]

Searches every Nth theorem of a set with each effort, one after the other on one worker, with the policy
and the limits of `burn-qed search`. A limit in seconds is the machine's; processor time is counted in
all processes of Lean, so other work disturbs it little. Nothing is judged: this is about the search.
Linux only.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from burnqed.core.types import Theorem
from burnqed.evaluation.prove import EFFORT, HEARTBEATS, Prover
from burnqed.lean.pool import run_sync
from burnqed.lean.session import open_session
from burnqed.prover.assembly import assemble, modules_of
from burnqed.prover.config import SearchConfig
from burnqed.prover.sets import chosen
from burnqed.search.best_first import best_first

_TICKS = os.sysconf("SC_CLK_TCK")
_WITHIN = (1, 3, 10, 30)  # processor seconds


@dataclass(frozen=True, slots=True)
class Spent:
    """One search: whether it found a proof, its nodes, and what Lean used."""

    proved: bool
    nodes: int
    seconds: float
    heartbeats: int


async def main(given: argparse.Namespace) -> None:
    index = chosen(given.set)
    config = SearchConfig(workers=1, nodes=given.nodes, seconds=given.seconds)
    assembled = assemble(config, modules_of(config, index.imports), given.nodes, warned)
    spent: dict[int, list[Spent]] = {effort: [] for effort in given.efforts}
    async with assembled.opened() as prover:
        theorems = index.theorems[:: given.every]
        await searched(prover, theorems[0], given.efforts[-1])  # warm up
        for number, theorem in enumerate(theorems):
            turn = number % len(given.efforts)  # each comes first as often as the others
            for effort in (*given.efforts[turn:], *given.efforts[:turn]):
                spent[effort].append(await searched(prover, theorem, effort))
            told = ", ".join(f"{e}: {spent[e][-1].seconds:.1f} s" for e in given.efforts)
            print(f"{theorem.name} {told}", file=sys.stderr)
    print(f"{len(theorems)} theorems of {index.name}, {given.nodes} nodes at most, one worker")
    within = "  ".join(f"{seconds:>3} s" for seconds in _WITHIN)
    print(f"effort  proved  nodes  CPU s  nodes/CPU s  million heartbeats  proved within {within}")
    for effort, every in spent.items():
        nodes, seconds = sum(one.nodes for one in every), sum(one.seconds for one in every)
        done = [one.seconds for one in every if one.proved]
        counts = "  ".join(f"{sum(s <= most for s in done):>5}" for most in _WITHIN)
        print(
            f"{effort:>6}  {len(done):>6}  {nodes:>5}  {seconds:>5.0f}  {nodes / seconds:>11.2f}  "
            f"{sum(one.heartbeats for one in every) / 1000:>18.1f}              {counts}"
        )


async def searched(prover: Prover, theorem: Theorem, effort: int) -> Spent:
    settings = replace(prover.settings, effort=effort if effort < HEARTBEATS else None)
    before = of_children()
    async with open_session(prover.pool, HEARTBEATS) as session:
        policy = prover.policy.about(theorem)
        found = await best_first(theorem, session, policy, None, prover.budget, settings=settings)
    costs = [edge.cost.heartbeats or 0 for edge in found.tree.edges() if edge.cost]
    return Spent(found.tree.proved, found.nodes, of_children() - before, sum(costs))


def warned(text: str) -> None:
    print(text, file=sys.stderr)


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
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--efforts", type=int, nargs="+", default=[EFFORT, HEARTBEATS])
    run_sync(main(parser.parse_args()))
