"""What is refused before anything is set up, and how many workers a node has. No Ray, no Lean."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from burnqed.cluster.machines import workers_of
from burnqed.cluster.named import cluster_named
from burnqed.cluster.on_ray import OnRay
from burnqed.cluster.recipe import code, refuse
from burnqed.core.errors import ConfigError, InputError
from burnqed.prover.config import SetConfig
from burnqed.prover.sites import HERE
from tests.cli.in_process import burn_qed


def test_what_nodes_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match="a lake project is not brought"):
        refuse(SetConfig(project=Path("lake")))


@pytest.mark.parametrize(
    "config",
    [
        SetConfig(),
        SetConfig(policy="portfolio"),
        SetConfig(model="core"),
        SetConfig(policy="openai", url="http://x", model="m"),
        SetConfig(policy="mix", model="smollm2"),
    ],
)
def test_policies_of_every_kind_run_on_nodes(config: SetConfig) -> None:
    refuse(config)


@pytest.mark.parametrize(
    "given", ["ray", "ray://head:10001", "10.0.0.1:6379", "head.example:6379", "[::1]:6379"]
)
def test_addresses(given: str) -> None:
    assert isinstance(cluster_named(given), OnRay)


@pytest.mark.parametrize("given", ["", "Ray", "head", "http://head:1", "ray://head", "head:port"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="--cluster cannot be"):
        cluster_named(given)


def test_local_is_this_machine() -> None:
    assert cluster_named("local") is HERE


@pytest.mark.parametrize(
    ("cores", "memory", "given", "workers"),
    [(96, 400e9, None, 72), (96, 20e9, None, 10), (1, 1e9, None, 1), (4, 16e9, 7, 7)],
)
def test_a_node_has_workers_by_its_cores_and_memory(
    cores: float, memory: float, given: int | None, workers: int
) -> None:
    assert workers_of(cores, memory, given) == workers


def test_the_code_has_a_checksum() -> None:
    assert len(code()) == 64


def test_where_no_cluster_is_the_command_says_so_at_once(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'burn-qed[cluster]'")
    with socket.socket() as taken:  # bound, and listening to nobody
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        done = burn_qed("search", "qed-core", "--out", tmp_path / "run", "--cluster", place, code=3)
    assert f"no Ray cluster answers at {place}" in done.stderr
    assert "ray start --head" in done.stderr
    assert not (tmp_path / "run").exists()
