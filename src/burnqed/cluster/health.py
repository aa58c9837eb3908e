"""What each node of a Ray cluster has, and what is missing there, with the fix."""

from __future__ import annotations

import asyncio
import platform
import shutil
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from burnqed.cluster.machines import Known, alive, refusal_of, to_leave, workers_of
from burnqed.cluster.on_ray import connect
from burnqed.cluster.recipe import code
from burnqed.core.cache import cache_root
from burnqed.core.errors import BurnQedError, NodeLost
from burnqed.lean.embedded import install
from burnqed.prover.health import Finding, examine

_SECONDS = 180.0  # for all that is looked at on a node, a proof that Lean judges included
_LEAN_FREE = 2e9  # bytes that Lean takes on a disk, with its snapshots
_SAME = "install the same version on every node"


def examine_nodes(address: str) -> dict[str, list[Finding]]:
    """Look at every node of the cluster, by its name."""
    connect(address)
    return asyncio.run(_every())


async def _every() -> dict[str, list[Finding]]:
    nodes = await asyncio.to_thread(lambda: list(alive(least_cores=0).values()))
    leaving = await asyncio.to_thread(to_leave)
    found = await asyncio.gather(*(_node(known, known.id in leaving) for known in nodes))
    return {known.name: own for known, own in zip(nodes, found, strict=True)}


async def _node(known: Known, leaving: bool) -> list[Finding]:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(known.id, soft=False)
    looking = ray.remote(look).options(num_cpus=0, max_retries=0, scheduling_strategy=here)
    own = [_use(known, leaving)]
    try:
        async with asyncio.timeout(_SECONDS):
            told: dict[str, Any] = await looking.remote()
    except TimeoutError:
        return [*own, Finding("burn-qed", False, f"no answer in {_SECONDS:g} s", "see `ray status`")]
    except Exception as error:
        return [*own, Finding("burn-qed", False, *_why(known, error))]
    return [*own, *_told(known, told)]


def _why(known: Known, error: Exception) -> tuple[str, str]:
    refused: BurnQedError = refusal_of(known, error) or NodeLost(str(error).splitlines()[0])
    return refused.message, refused.hint


def _use(known: Known, leaving: bool) -> Finding:
    """What of it Ray gives to searches."""
    has = f"{known.cores:g} cores, {known.memory / 1e9:.0f} GB, {known.gpus:g} GPUs for Ray"
    if leaving:
        return Finding("Use", None, f"{has}; it is to leave the cluster", "")
    if known.cores < 1:
        return Finding("Use", None, f"{has}: no searches", "optional: `ray start` with --num-cpus")
    workers = workers_of(known.cores, known.memory, None)
    return Finding("Use", True, f"{has}: {workers} searches at once")


def look() -> dict[str, Any]:
    """What a node says of itself. Plain data: its burn-qed may be another one."""
    ready = not install.faults(install.location())
    place = cache_root()
    while not place.exists():
        place = place.parent
    return {
        "code": code(),
        "version": version("burn-qed"),
        "python": platform.python_version(),
        "lean": ready,
        "free": shutil.disk_usage(place).free,
        "cache": str(cache_root()),
        "torch": find_spec("torch") is not None,
        "findings": [(one.what, one.ok, one.found, one.fix) for one in examine(lean=ready)],
    }


def _told(known: Known, told: dict[str, Any]) -> list[Finding]:
    same = told["code"] == code()
    found = [
        Finding(
            "burn-qed",
            same,
            told["version"] + ("" if same else ", but its files are not those of this machine"),
            "" if same else _SAME,
        )
    ]
    if told["python"].split(".")[:2] != platform.python_version().split(".")[:2]:
        what = f"{told['python']}, and here {platform.python_version()}"
        found.append(Finding("Same Python", False, what, "use the same minor version everywhere"))
    if not told["lean"]:
        room = told["free"] >= _LEAN_FREE
        found.append(
            Finding(
                "Embedded Lean",
                None if room else False,
                f"not set up; {told['free'] / 1e9:.0f} GB free at {told['cache']}",
                "comes with the first search" if room else "free 2 GB there, or set BURN_QED_CACHE",
            )
        )
    if known.gpus and not told["torch"]:
        fix = "pip install 'burn-qed[models]'"
        found.append(Finding("GPU", False, "torch is not installed beside it", fix))
    return found + [Finding(*one) for one in told["findings"]]
