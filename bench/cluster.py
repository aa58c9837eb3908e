"""What a cluster costs: messages of the driver, overhead against this machine, what is full first.

    python bench/cluster.py messages [--theorems N] [--nodes N] [--workers N] [--rows N] [--out FILE]
    python bench/cluster.py overhead [--pairs N] [--theorems N] [--workers N]
    python bench/cluster.py table MESSAGES.json [--cores N] [--gpus N] [--tokens N]

`messages` dispatches theorems to stub workers, which answer at once with a record and so many rows, by
the real driver: Ray, its nodes, the writer of trajectories. It prints theorems per second, processor
time of the driver for each, bytes of each answer, and the driver's memory at every tenth of the way.

`overhead` searches the same theorems by the plain pool, by one raylet and by two, with the same number
of Leans, in turn. It prints tactics per second of each, once all Leans are warm.

`table` is arithmetic on what `messages` measured: how much of the driver, its network and the replicas
so many cores need, and which of them saturates first. Its other inputs are in its `--help`.

Raylets are several on this machine, so both measure the software and no network. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pickle
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from burnqed.cluster.dispatch import Dispatch
from burnqed.cluster.hosts import NONE
from burnqed.cluster.nodes import Nodes
from burnqed.cluster.on_ray import OnRay, connect
from burnqed.cluster.recipe import Recipe
from burnqed.cluster.station import Station
from burnqed.core.errors import BurnQedError
from burnqed.core.types import Proposition, Theorem
from burnqed.core.watching import Quiet
from burnqed.data.benchmarks import theorem_set
from burnqed.evaluation.prove import Attempt
from burnqed.evaluation.run import Job, Kept, Plan, Search, Site, record_of, run, seed_of
from burnqed.lean.pool import run_sync
from burnqed.prover.assembly import Assembled, assemble
from burnqed.prover.config import EvalConfig, SetConfig
from burnqed.prover.leans import modules_of
from burnqed.prover.sites import HERE
from burnqed.search.events import ignore
from burnqed.trajectories.record import Provenance
from burnqed.trajectories.schema import StepRow
from burnqed.trajectories.store import open_writer

_STATE = "a b c : Nat\nh : a < b\nhb : b ≤ c\n⊢ ∃ k, a + k = c ∧ 0 < k"
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SAID = "Type mismatch: a term has a type that it is not expected to have here"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parts = parser.add_subparsers(required=True)
    messages = parts.add_parser("messages")
    messages.add_argument("--theorems", type=int, default=10_000)
    messages.add_argument("--nodes", type=int, default=2, help="raylets")
    messages.add_argument("--workers", type=int, default=32, help="stub workers of each")
    messages.add_argument("--rows", type=int, default=320, help="steps: of 10 nodes, 32 each")
    messages.add_argument("--out", type=Path, help="a file for the figures, which `table` reads")
    messages.set_defaults(do=measure_messages)
    overhead = parts.add_parser("overhead")
    overhead.add_argument("--pairs", type=int, default=2, help="times that each way is measured")
    overhead.add_argument("--theorems", type=int, default=24, help="of qed-core")
    overhead.add_argument("--workers", type=int, default=2, help="Leans, of all raylets together")
    overhead.set_defaults(do=measure_overhead)
    table = parts.add_parser("table")
    table.add_argument("measured", type=Path, metavar="MESSAGES.json")
    table.add_argument("--cores", type=int, default=1000)
    table.add_argument("--gpus", type=int, default=64)
    table.add_argument("--seconds", type=float, default=20.0, help="of a worker for a theorem")
    table.add_argument("--visits", type=float, default=0.5, help="states a worker asks about, a second")
    table.add_argument("--samples", type=int, default=8, help="tactics for a state")
    table.add_argument("--tactic", type=int, default=17, help="tokens of one")
    table.add_argument("--prompt", type=int, default=195, help="tokens of a prompt")
    table.add_argument("--tokens", type=float, default=5000, help="a GPU generates, a second: a guess")
    table.add_argument("--prefill", type=float, default=50_000, help="a GPU reads, a second: a guess")
    table.add_argument("--network", type=float, default=10.0, help="Gbit/s of the driver")
    table.set_defaults(do=print_table)
    asked = parser.parse_args()
    try:
        asked.do(asked)
    except BurnQedError as error:
        sys.exit(f"error: {error.message}\n  fix: {error.hint}")


# ------------------------------------------------------------------------------------- raylets


@contextmanager
def raylets(numbers: Sequence[int]) -> Iterator[str]:
    """A cluster on this machine: a head without cores, and a raylet with so many each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 300 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for cores in numbers:
            cluster.add_node(wait=False, num_cpus=cores, object_store_memory=300 * 2**20)
        yield str(cluster.address)
    finally:
        cluster.shutdown()


# ------------------------------------------------------------------------------------ messages


class Stub(Station):
    """A station whose searches cost nothing: what is left is the cost of the messages."""

    rows = 0

    def has_lean(self) -> bool:
        return True

    def open(self, recipe: Recipe, workers: int, hosts: Sequence[Any]) -> None:
        self.rows = int(recipe.about["rows"])

    def do(self, job: Job) -> Kept:
        assert isinstance(job, Search)
        record = record_of(Attempt(job.theorem, "exhausted", "nodes"), job.seed)
        return record, [row(job.theorem.name, at) for at in range(self.rows)]


def row(theorem: str, at: int) -> StepRow:
    """As long as those of a search; no two are equal."""
    return StepRow(
        run="stub", theorem=theorem, node=at // 32, parent=at // 64, children=(at,), depth=3,
        state=f"{theorem}_{at // 32} : Prop\n{_STATE}", root_goal=f"⊢ {theorem}",
        tactic=f"exact h.{at}", logprob=-1.0 - at, energy=None, score=-float(at), outcome="rejected",
        error=f"{_SAID}: {at}", label="unknown", on_proof_path=False, remaining_steps=None,
        origin="search", temperature=0.0, iteration=0, seconds=0.1 * at, lean_seconds=0.01,
        heartbeats=at, child_scores=(-1.0,), spent=at // 32,
    )  # fmt: skip


def measure_messages(asked: argparse.Namespace) -> None:
    import ray

    config = SetConfig(policy="portfolio", toolchain="embedded", workers=asked.workers)
    recipe = Recipe(config, (), 1, False, None, {}, None, {"rows": asked.rows})
    theorems = [Theorem(f"t{i}", Proposition(f"{i} = {i}")) for i in range(asked.theorems)]
    with raylets([asked.workers] * asked.nodes) as address:
        connect(address)
        try:
            told = run_sync(_dispatched(asked, recipe, theorems))
        finally:
            ray.shutdown()
    told |= {"answer_bytes": len(pickle.dumps((None, [row("t1234", i) for i in range(asked.rows)])))}
    told |= {"job_bytes": len(pickle.dumps(Search(theorems[0], 1, Provenance("stub"))))}
    for name, value in told.items():
        print(f"{name}: {value}")
    if asked.out is not None:
        asked.out.write_text(json.dumps(told) + "\n", encoding="utf-8")


async def _dispatched(
    asked: argparse.Namespace, recipe: Recipe, theorems: list[Theorem]
) -> dict[str, Any]:
    dispatch = Dispatch()
    watching = asyncio.create_task(Nodes(dispatch, recipe, NONE, print, Stub).watch())
    async with asyncio.timeout(300):
        while dispatch.workers < asked.nodes * asked.workers:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
    memory: list[int] = []
    done = 0

    def on_record(_record: object) -> None:
        nonlocal done
        done += 1
        if done % max(1, len(theorems) // 10) == 0:
            memory.append(resident())

    begun, spent = time.monotonic(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        with open_writer(Path(folder) / "trajectories", print) as writer:
            plan = Plan(theorems, 0, Provenance("stub"))
            await run(dispatch, plan, writer, on_record, asyncio.Event(), ignore)
        written = size_of(folder)
    seconds, cpu = time.monotonic() - begun, time.process_time() - spent
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return {
        "theorems": done,
        "rows_each": asked.rows,
        "stub_workers": asked.nodes * asked.workers,
        "theorems_per_second": round(done / seconds, 1),
        "messages_per_second": round(2 * done / seconds, 1),
        "driver_cpu_ms_each": round(1000 * cpu / done, 3),
        "written_bytes_each": written // done,
        "driver_mb_at_each_tenth": [round(one / 1e6) for one in memory],
        "driver_mb_at_most": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
    }


def size_of(folder: str) -> int:
    return sum(file.stat().st_size for file in Path(folder).rglob("*.parquet"))


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


# ------------------------------------------------------------------------------------ overhead


def measure_overhead(asked: argparse.Namespace) -> None:
    few = asked.workers
    ways: dict[str, list[int] | None] = {"the plain pool": None, "1 raylet": [few]}
    if few > 1:
        ways["2 raylets"] = [few - few // 2, few // 2]
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(asked.pairs):
        names = list(ways)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            tactics, seconds = _searched(asked, ways[name])
            rates[name].append(tactics / seconds)
            print(f"{name}: {tactics} tactics in {seconds:.1f} s", flush=True)
    plain = statistics.median(rates["the plain pool"])
    for name, found in rates.items():
        rate = statistics.median(found)
        print(f"{name}: {rate:.1f} tactics a second, {rate / plain:.3f} of the plain pool's")


def _searched(asked: argparse.Namespace, cores: list[int] | None) -> tuple[int, float]:
    """Tactics and seconds of all theorems but those that warm the Leans."""
    index = theorem_set("qed-core", None, None)
    workers = asked.workers if cores is None else max(cores)
    config = EvalConfig(policy="portfolio", toolchain="embedded", workers=workers, budgets=(8,))
    assembled = assemble(config, modules_of(config, index.imports), 8, print)
    theorems = [*index.theorems][:: max(1, len(index.theorems) // asked.theorems)]
    if cores is None:
        return run_sync(_timed(assembled, None, theorems, asked.workers))
    with raylets(cores) as address:
        cluster = OnRay(address)
        cluster.ready(config)
        return run_sync(_timed(assembled, cluster, theorems, asked.workers))


async def _timed(
    assembled: Assembled, cluster: OnRay | None, theorems: list[Theorem], workers: int
) -> tuple[int, float]:
    async with _open(assembled, cluster, workers) as site:
        warm = 4 * workers
        await _all(site, theorems[:warm])
        begun = time.monotonic()
        kept = await _all(site, theorems[warm:])
        return sum(record.steps for record, _ in kept), time.monotonic() - begun


@asynccontextmanager
async def _open(assembled: Assembled, cluster: OnRay | None, workers: int) -> AsyncIterator[Site]:
    if cluster is None:
        async with HERE.opened(assembled, Quiet().warn) as site:
            yield site
        return
    async with cluster.opened(assembled, Quiet().warn) as site:
        assert isinstance(site, Dispatch)
        async with asyncio.timeout(600):
            while site.workers < workers:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.1)
        yield site


async def _all(site: Site, theorems: Sequence[Theorem]) -> list[Kept]:
    todo, kept = iter(theorems), list[Kept]()

    async def work() -> None:
        for theorem in todo:
            job = Search(theorem, seed_of(0, theorem.name), Provenance("bench"))
            kept.append(await site.do(job, ignore))

    await asyncio.gather(*(work() for _ in range(min(site.at_once, len(theorems)))))
    return kept


# --------------------------------------------------------------------------------------- table


def print_table(asked: argparse.Namespace) -> None:
    told = json.loads(asked.measured.read_text(encoding="utf-8"))
    workers = int(0.75 * asked.cores)
    rate = workers / asked.seconds
    states = workers * asked.visits
    sent = told["answer_bytes"] + told["job_bytes"]
    needed = {
        "driver, processor": rate * told["driver_cpu_ms_each"] / 1000,
        "driver, network": rate * sent * 8 / (asked.network * 1e9),
        "replicas, generating": states * asked.samples * asked.tactic / (asked.gpus * asked.tokens),
        "replicas, reading": states * asked.prompt / (asked.gpus * asked.prefill),
    }
    print(f"{workers} workers: {rate:.1f} theorems and {states:.0f} states a second")
    print("| part | used | full with cores |\n|---|---|---|")
    for name, share in sorted(needed.items(), key=lambda part: -part[1]):
        print(f"| {name} | {share:.1%} | {asked.cores / share:,.0f} |")


if __name__ == "__main__":
    main()
