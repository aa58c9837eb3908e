"""A run of expert iteration, begun or gone on with: its configuration is frozen when it begins."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from burnqed.cluster.named import cluster_named
from burnqed.core.config import as_content
from burnqed.core.errors import InputError
from burnqed.core.runs import MANIFEST, check_out
from burnqed.iteration import rounds
from burnqed.iteration.config import Config, read_config
from burnqed.iteration.directory import freeze, locked, read_run
from burnqed.iteration.history import History
from burnqed.iteration.runner import Stopped, Watcher
from burnqed.iteration.specs import Stage
from burnqed.iteration.stages import stages
from burnqed.iteration.standing import read_standing
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig

# What another machine may do otherwise: it decides how long a run takes, not what comes of it.
_OF_THE_MACHINE = frozenset({
    "run.workers", "run.device", "run.project", "cluster.address", "served.url",
    "value.training.embeddings",
})  # fmt: skip

Job = Callable[[rounds.Work], signal.Signals | None]
Planned = Callable[[int], Sequence[tuple[Stage, str]]]
Watching = Callable[[Planned], AbstractContextManager[Watcher]]


def go_on(
    out: Path,
    config: str | Config | None,
    settings: Sequence[str],
    warn: Callable[[str], None],
    job: Job,
    watching: Watching,
    stopped: Stopped,
    cluster: str | None = None,
) -> tuple[History, signal.Signals | None]:
    """Begin or open the run, and do a job in it: what there is then, and the signal that stopped it.

    `cluster` is where its searches are done this time, instead of where its configuration says.
    """
    if cluster is not None:
        cluster_named(cluster)
    check_out(out)
    wanted = config
    if isinstance(wanted, str):
        wanted = read_config(wanted, settings)
    if wanted is None and not (out / MANIFEST).exists():
        raise InputError(
            f"{out} holds no run", hint="begin one with --config from-nothing, or a .toml file"
        )
    if config is None and settings:
        raise InputError(
            f"{out} holds a run already, and its settings are frozen",
            hint="leave out --set, or begin another run with --out",
        )
    with locked(out, warn) as lock:
        asked = _open(out, wanted, warn)
        if cluster is not None:
            asked = replace(asked, cluster=replace(asked.cluster, address=cluster))
        with watching(partial(_planned, out, asked)) as watcher:
            came = job(rounds.Work(out, asked, lock, watcher, stopped))
        return rounds.history(out, asked), came


def _planned(out: Path, config: Config, number: int) -> list[tuple[Stage, str]]:
    done = read_standing(out, config)
    return [(stage, done.get(stage.key, "")) for stage in stages(config, number, done)]


def _open(out: Path, wanted: Config | None, warn: Callable[[str], None]) -> Config:
    """The configuration of the run: frozen when it begins, and not to be changed since."""
    if not (out / MANIFEST).exists():
        assert wanted is not None
        freeze(out, rounds.manifest(wanted, _toolchain(wanted)))
        return wanted
    config, manifest = read_run(out)
    if wanted is not None:
        if "embeddings" not in manifest["config"]:  # begun by a burn-qed that did not measure them
            wanted = replace(wanted, embeddings=config.embeddings)
        before = manifest | {"config": as_content(config)}  # as this version writes it down
        _refuse_changes(out, before, rounds.manifest(wanted, manifest["toolchain"]))
        config = wanted  # the same, with files where they are now
    _compare(manifest, rounds.manifest(config, _toolchain(config)), warn)
    return config


def _toolchain(config: Config) -> str:
    asked = LeanConfig(toolchain=config.run.toolchain, project=config.run.project)
    return leans.set_up(asked, ("Init",)).label


def _refuse_changes(out: Path, frozen: dict[str, Any], wanted: dict[str, Any]) -> None:
    before, now = _by_content(frozen), _by_content(wanted)
    changed = [
        f"{key} was {before.get(key)!r}, now {value!r}"
        for key, value in now.items()
        if before.get(key) != value and key not in _OF_THE_MACHINE
    ]
    if changed:
        raise InputError(
            f"the run in {out} is another one: {', '.join(changed)}",
            hint="leave out --config and --set, or begin another run with --out",
        )


def _by_content(manifest: dict[str, Any]) -> dict[str, Any]:
    """Each setting, with checksums for files: what a file is does not depend on where it lies."""
    known: dict[str, str] = manifest["checksums"]

    def content(value: Any) -> Any:
        if isinstance(value, list):
            return [content(one) for one in value]
        return known.get(value, value) if isinstance(value, str) else value

    def every(place: str, own: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for key, value in own.items():
            if isinstance(value, dict):
                yield from every(f"{place}{key}.", value)
            else:
                yield place + key, content(value)

    return dict(every("", manifest["config"]))


def _compare(before: dict[str, Any], now: dict[str, Any], warn: Callable[[str], None]) -> None:
    """What may not change under a run's feet, and what may, but is to be known."""
    for name, checksum in now["checksums"].items():
        if not checksum:
            raise InputError(
                f"{name} is not on this machine, and the run needs it",
                hint="put it there, or name its new place with --config; it has to be the same file",
            )
        if checksum not in before["checksums"].values():
            raise InputError(
                f"{name} is not what it was when the run began",
                hint="put the old one back, or begin another run",
            )
    if before["toolchain"] != now["toolchain"]:
        raise InputError(
            f"the run was begun with {before['toolchain']}, and here is {now['toolchain']}",
            hint="proofs of two Leans do not mix: install that one, or begin another run",
        )
    for package, old in before["versions"].items():
        if now["versions"].get(package) != old:
            warn(f"{package} was {old} when the run began, and is {now['versions'].get(package)}")
