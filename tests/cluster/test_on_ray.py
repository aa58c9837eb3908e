"""Searches on Ray's own test cluster: several raylets on this machine, each as a machine of its own.

Whatever happens to nodes and to the driver, the result is the one of this machine alone.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from burnqed.evaluation.results import read_result
from burnqed.lean.embedded import install
from burnqed.lean.process import LaunchSpec
from burnqed.trajectories.schema import TRAJECTORIES
from burnqed.trajectories.store import read_records
from tests.cluster.machines import BURN_QED, PATIENCE, machines, stations, until, works

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'burn-qed[cluster]'")

pytestmark = [pytest.mark.lean, pytest.mark.timeout(900)]
SMALL = ("--policy", "portfolio", "--budgets", "1,3,8", "--candidates", "6", "--workers", "1")

EASY = ["∀ n : Nat, n + 0 = n", "∀ p q r s : Prop, (p → q) → (q → r) → (r → s) → p → s ∧ r"]
STATEMENTS = [
    *EASY,
    *(f"∀ n : Nat, n + {i} + 1 = n + {i + 1}" for i in range(4)),
    *(f"∀ a b : Nat, a + {i} < b → a < b" for i in range(4)),
    *(f"∀ n : Nat, n * n + {i} = n * {i + 2}" for i in range(4)),  # not with eight nodes, if at all
    *(f"∀ p q r : Prop, (p ∨ q) → (q ∨ r) → r ∧ (p ∨ {'¬' * i}q)" for i in range(8)),
]


def index(folder: Path, statements: list[str]) -> Path:
    path = folder / "set.json"
    named = [{"name": f"t{i}", "statement": text} for i, text in enumerate(statements)]
    path.write_text(json.dumps({"name": "made-up", "theorems": named}), encoding="utf-8")
    return path


def command(theorems: Path, out: Path, cluster: str, *more: str) -> list[str]:
    return [BURN_QED, "eval", str(theorems), *SMALL, "--out", str(out), "--cluster", cluster, *more]


def finished(driver: subprocess.Popen[str]) -> str:
    _, said = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, said
    assert "Traceback" not in said
    return said


def started(*arguments: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def timeless(out: Path) -> list[Any]:
    """All that must be the same, whoever did it: the result and each record, but for times."""
    result = read_result(out)
    budgets = [
        [(t.name, t.outcome, t.reason, t.nodes_used, t.successes, t.proof) for t in b.per_theorem]
        for b in result.budget_results
    ]
    records = read_records(out / "attempt-1" / TRAJECTORIES, pytest.fail)
    names = [record.theorem for record in records]
    assert len(names) == len(set(names)), "a theorem was counted twice"
    told = sorted((r.theorem, r.outcome, r.nodes, r.steps, r.seed, r.proof) for r in records)
    settings = {name: value for name, value in result.settings.items() if name != "version"}
    return [budgets, told, settings]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, lean_launch: LaunchSpec) -> Path:
    """The set, searched by this machine alone."""
    folder = tmp_path_factory.mktemp("here")
    finished(started(index(folder, STATEMENTS), folder / "run", "local"))
    return folder


def test_a_node_finds_what_this_machine_finds(tmp_path: Path, lean_launch: LaunchSpec) -> None:
    theorems = index(tmp_path, EASY)
    with machines(1) as cluster:
        on_ray = started(theorems, tmp_path / "on-ray", cluster.address)
        finished(started(theorems, tmp_path / "here", "local"))
        finished(on_ray)
    assert timeless(tmp_path / "on-ray") == timeless(tmp_path / "here")


@pytest.mark.soak
def test_the_result_is_the_same_with_any_number_of_nodes(here: Path, tmp_path: Path) -> None:
    with machines(0) as cluster:
        for number in (1, 2, 3):
            cluster.add()
            out = tmp_path / str(number)
            finished(started(here / "set.json", out, cluster.address))
            assert timeless(out) == timeless(here / "run"), f"{number} nodes"


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_nodes_are_killed_at_twenty_random_moments(here: Path, tmp_path: Path) -> None:
    """Three in each evaluation, so that no theorem can lose the four after which it is given up."""
    kills = 0
    with machines(2) as cluster:
        while kills < 20:
            out = tmp_path / f"after-{kills}"
            driver = started(here / "set.json", out, cluster.address)
            for seconds in (0.5, 4.0, 4.0):
                until(lambda: bool(stations(cluster)), driver)
                time.sleep(random.uniform(0.0, seconds))
                if driver.poll() is not None:
                    break
                cluster.kill()
                cluster.add()
                kills += 1
            said = finished(driver)
            assert timeless(out) == timeless(here / "run"), said


@pytest.mark.soak
def test_our_process_on_the_only_node_is_killed(here: Path, tmp_path: Path) -> None:
    """It is started again, and the searches that it had with it."""
    with machines(1) as cluster:
        driver = started(here / "set.json", tmp_path / "run", cluster.address)
        killed: set[int] = set()
        for seconds in (0.5, 4.0):
            until(lambda: bool(set(stations(cluster)) - killed), driver)
            time.sleep(random.uniform(0.0, seconds))
            for station in set(stations(cluster)) - killed:
                with suppress(ProcessLookupError):
                    os.kill(station, signal.SIGKILL)
                killed.add(station)
        said = finished(driver)
    assert "its theorems go to others" in said
    assert timeless(tmp_path / "run") == timeless(here / "run")


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_driver_that_is_ended_goes_on_with_other_nodes(
    number: signal.Signals, here: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with machines(1) as cluster:
        driver = started(here / "set.json", out, cluster.address)
        until((out / "manifest.json").exists, driver)
        time.sleep(random.uniform(0.0, 6.0))
        driver.send_signal(number)
        driver.communicate(timeout=PATIENCE)
        assert driver.returncode in (-signal.SIGKILL, 128 + signal.SIGTERM, 0)
        cluster.add()
        finished(started(here / "set.json", out, cluster.address, "--resume"))
    assert timeless(out) == timeless(here / "run")


@pytest.mark.soak
def test_what_a_cluster_began_this_machine_ends(here: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with machines(1) as cluster:
        driver = started(here / "set.json", out, cluster.address)
        until((out / "manifest.json").exists, driver)
        driver.terminate()
        driver.communicate(timeout=PATIENCE)
    finished(started(here / "set.json", out, "local", "--resume"))
    assert timeless(out) == timeless(here / "run")


@pytest.mark.soak
def test_a_spot_machine_s_sigterm_drains_its_work(here: Path, tmp_path: Path) -> None:
    """`ray start --block` tells the cluster; its node ends what it has, and is lost to nobody."""
    with machines(0) as cluster, cluster.join() as spot:
        try:
            driver = started(here / "set.json", tmp_path / "run", cluster.address)
            until(lambda: works(spot), driver)
            time.sleep(random.uniform(2.0, 6.0))
            spot.terminate()
            cluster.add()
            said = finished(driver)
            spot.wait(PATIENCE)
        finally:
            spot.kill()
    assert "is to leave: it ends what it has" in said
    assert "is lost" not in said
    assert timeless(tmp_path / "run") == timeless(here / "run")


@pytest.mark.soak
def test_the_doctor_looks_at_every_node(tmp_path: Path, lean_launch: LaunchSpec) -> None:
    with machines(1) as cluster:
        cluster.add(BURN_QED_CACHE=str(tmp_path / "cache"), PYTHONPATH=str(older(tmp_path)))
        words = [BURN_QED, "doctor", "--cluster", cluster.address, "--json"]
        until(lambda: cluster.count() == 3)
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 3, done.stderr
    told = [{one["what"]: one for one in own} for own in json.loads(done.stdout).values()]
    head, fine, other = sorted(
        told, key=lambda own: (own["Use"]["ok"] is True, not own["burn-qed"]["ok"])
    )
    assert "no searches" in head["Use"]["found"]
    assert fine["A proof, judged"]["ok"]
    assert "1 searches at once" in fine["Use"]["found"]
    assert other["burn-qed"]["fix"] == "install the same version on every node"
    assert other["Embedded Lean"]["fix"] == "comes with the first search"


@pytest.mark.soak
def test_a_node_without_lean_sets_it_up_from_the_driver_s(tmp_path: Path) -> None:
    """Its cache is empty, and nothing answers where it would fetch the package."""
    cache = tmp_path / "cache"
    theorems = index(tmp_path, EASY)
    with machines(0) as cluster:
        cluster.add(BURN_QED_CACHE=str(cache), npm_config_registry="http://127.0.0.1:9")
        finished(started(theorems, tmp_path / "on-ray", cluster.address))
        finished(started(theorems, tmp_path / "here", "local"))
    assert not install.faults(cache / "lean" / install.identity())
    assert timeless(tmp_path / "on-ray") == timeless(tmp_path / "here")


@pytest.mark.soak
def test_another_burn_qed_on_a_node_is_refused(tmp_path: Path, lean_launch: LaunchSpec) -> None:
    """A node whose search would be another one is left out, and without any node the command ends."""
    with machines(0) as cluster:
        cluster.add(PYTHONPATH=str(older(tmp_path)))
        driver = started(index(tmp_path, EASY), tmp_path / "run", cluster.address)
        _, said = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 3, said
    assert "its burn-qed is another one" in said
    assert "install the same version on every node" in said


def older(folder: Path) -> Path:
    """A copy of burn-qed with one line more."""
    import shutil

    import burnqed

    shutil.copytree(Path(burnqed.__file__).parent, folder / "other" / "burnqed")
    with (folder / "other" / "burnqed" / "core" / "types.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    return folder / "other"
