"""`burn-qed lean install`: the embedded Lean, from the network or from a bundle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.lean import toolchain
from burnqed.lean.embedded import bundle, package, snapshot, unbundle
from burnqed.lean.embedded import install as installing
from burnqed.lean.embedded.progress import Terminal

ModulesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="MODULE…", help="Modules to load into a snapshot; by default Init."),
]


def install_command(
    modules: ModulesArgument = None,
    force: Annotated[
        bool, typer.Option("--force", help="Install again even if nothing is wrong.")
    ] = False,
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Install from a bundle, or one of its parts, instead of the network; repeatable.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Download, verify and prepare the embedded Lean in the user's cache.

    Other commands do this on first use. Every file is checked against its SHA-256, and missing or
    damaged files are made again. With --from nothing is downloaded: the content of the bundle is
    checked and unpacked into the cache, except what is there already.

    Exit codes: 0 ready, 2 the bundle is for another kind of machine or version, or parts are missing,
    3 the download failed, or the bundle is damaged.
    """
    with Terminal() as progress:
        found: list[tuple[unbundle.Thing, bool]] = []
        for source in _bundles(sources or ()):
            found += unbundle.unpack(source, progress, anew=force)
        installation = installing.ensure(progress, thorough=True, anew=force and not sources)
        wanted = snapshot.Wanted(tuple(modules or toolchain.DEFAULT_MODULES))
        memory = snapshot.ensure(installation, wanted, progress, thorough=True)
    if as_json:
        brought = [{"kind": t.kind, "name": t.name, "bytes": t.size, "new": new} for t, new in found]
        where = {"lean": package.LEAN_VERSION, "root": str(installation.root), "snapshot": str(memory)}
        typer.echo(json.dumps({**where, "brought": brought}))
        return
    if found:
        _print_brought(found)
    typer.echo(f"Lean {package.LEAN_VERSION} is ready: {memory}")


def _bundles(given: Sequence[Path]) -> list[Path]:
    """Each bundle once, even if several of its parts were named."""
    return list({bundle.whole_name(path): path for path in given}.values())


def _print_brought(found: Sequence[tuple[unbundle.Thing, bool]]) -> None:
    table = Table("what", "name", "MB", "state")
    for thing, new in found:
        state = "unpacked" if new else "already there"
        table.add_row(thing.kind, thing.name, f"{thing.size / 1e6:.1f}", state)
    tables.console().print(table)
