"""The machines of a Ray cluster, as Ray knows them."""

from __future__ import annotations

from dataclasses import dataclass

from burnqed.core.errors import BurnQedError, NodeLost, SetupError

# Of a worker: a Lean that searches and one that judges.
WORKER_BYTES = 2 * 10**9


@dataclass(frozen=True, slots=True)
class Known:
    """A node, as Ray knows it."""

    id: str
    host: str
    cores: float
    memory: float
    gpus: float

    @property
    def name(self) -> str:
        return f"node {self.host} ({self.id[:8]})"


def alive(least_cores: float = 1) -> dict[str, Known]:
    """The nodes that have cores for work. Some clusters keep their head free of it."""
    import ray

    found = {}
    for node in ray.nodes():
        has, id = node["Resources"], node["NodeID"]
        cores, memory, gpus = (has.get(name, 0.0) for name in ("CPU", "memory", "GPU"))
        if node["Alive"] and cores >= least_cores:
            found[id] = Known(id, node["NodeManagerHostname"], cores, memory, gpus)
    return found


def to_leave() -> set[str]:
    """The nodes whose machines are about to go: `ray start --block` was sent SIGTERM there, or somebody
    drains them. From outside of the cluster (`ray://`) nobody can tell.
    """
    from ray._private.state import state
    from ray.util.client import ray as client

    return set() if client.is_connected() else set(state.get_draining_nodes())


def workers_of(cores: float, memory: float, given: int | None) -> int:
    """How many jobs a node does at once, by default: three quarters of its cores, if memory lasts."""
    if given is not None:
        return given
    return max(1, min(int(0.75 * cores), int(memory // WORKER_BYTES)))


def refusal_of(known: Known, error: Exception) -> BurnQedError | None:
    """What an error of Ray's says of a node."""
    from ray.exceptions import RayError

    if "No module named 'burnqed" in str(error):
        return SetupError(
            "burn-qed is not installed there, or is another one",
            hint="install the same version on every node",
        )
    if not isinstance(error, RayError):
        return None
    said = str(error).strip().splitlines()
    return NodeLost(f"{known.name} is lost: {said[0] if said else type(error).__name__}")
