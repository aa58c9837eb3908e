"""From what --cluster says to a cluster."""

from __future__ import annotations

import re

from burnqed.cluster.on_ray import OnRay
from burnqed.core.errors import ConfigError
from burnqed.prover.sites import HERE, LOCAL, Cluster

_ADDRESS = re.compile(r"ray|(ray://)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}")


def cluster_named(given: str) -> Cluster:
    """This machine (`local`), or the Ray cluster at an address."""
    if given == LOCAL:
        return HERE
    if not _ADDRESS.fullmatch(given):
        raise ConfigError(
            f"--cluster cannot be {given}",
            hint="local, ray (the cluster of this machine or of RAY_ADDRESS), HOST:PORT or "
            "ray://HOST:PORT",
        )
    return OnRay(given)
