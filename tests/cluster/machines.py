"""Ray's own test cluster: several raylets on this machine, each as a machine of its own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 300.0
BURN_QED = str(Path(sys.executable).with_name("burn-qed"))


class Machines:
    """A cluster whose head does no work, and nodes with one core each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 200 * 2**20}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._nodes: list[Any] = []

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, **environment: str) -> None:
        node = self._cluster.add_node(
            wait=False, num_cpus=1, object_store_memory=80 * 2**20, env_vars=environment or None
        )
        self._nodes.append(node)

    def add_gpu(self) -> None:
        self._nodes.append(
            self._cluster.add_node(wait=False, num_cpus=1, num_gpus=1, object_store_memory=80 * 2**20)
        )

    def join(self) -> subprocess.Popen[bytes]:
        """A machine of its own, as `ray start --block` makes it one."""
        ray = str(Path(sys.executable).with_name("ray"))
        few = ("--num-cpus", "1", "--object-store-memory", str(80 * 2**20))
        return subprocess.Popen([ray, "start", f"--address={self.address}", "--block", *few])

    def kill(self) -> None:
        """One of them, as when its power fails."""
        node = self._nodes.pop(random.randrange(len(self._nodes)))
        self._cluster.remove_node(node, allow_graceful=False)

    def count(self) -> int:
        """Of its nodes that answer, the head included."""
        import ray

        ray.init(self.address, ignore_reinit_error=True, log_to_driver=False)
        try:
            return sum(bool(node["Alive"]) for node in ray.nodes())
        finally:
            ray.shutdown()

    def stations(self) -> list[int]:
        """Our processes on the nodes, which their raylets started."""
        found = []
        for node in self._nodes:
            raylet = node.all_processes["raylet"][0].process.pid
            for children in Path(f"/proc/{raylet}/task").glob("*/children"):
                for pid in children.read_text(encoding="ascii").split():
                    title = Path(f"/proc/{pid}/cmdline").read_bytes()
                    if title.startswith(b"ray::Station"):
                        found.append(int(pid))
        return found

    def close(self) -> None:
        self._cluster.shutdown()


@contextmanager
def machines(number: int) -> Iterator[Machines]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Machines()
    try:
        for _ in range(number):
            made.add()
        yield made
    finally:
        made.close()


def stations(cluster: Machines) -> list[int]:
    """Processes come and go while one looks."""
    try:
        return cluster.stations()
    except OSError:
        return []


def children(pid: int) -> Iterator[int]:
    """Of a process, and theirs."""
    for place in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in place.read_text(encoding="ascii").split():
            yield int(child)
            yield from children(int(child))


def works(machine: subprocess.Popen[bytes]) -> bool:
    """Whether our process runs on a machine that joined."""
    try:
        names = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children(machine.pid)]
    except OSError:  # processes come and go while one looks
        return False
    return any(name.startswith(b"ray::Station") for name in names)


def until(happened: Callable[[], bool], driver: subprocess.Popen[str] | None = None) -> None:
    end = time.monotonic() + PATIENCE
    while not happened() and (driver is None or driver.poll() is None):
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)
