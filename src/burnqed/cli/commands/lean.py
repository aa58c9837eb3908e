"""`burn-qed lean install | info | bundle`: the embedded Lean and what else was found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from burnqed.cli.compose import JsonOption
from burnqed.core.cache import cache_root
from burnqed.core.errors import InputError, SetupError
from burnqed.lean import toolchain
from burnqed.lean.embedded import bundle as bundles
from burnqed.lean.embedded import install as installing
from burnqed.lean.embedded import package, snapshot
from burnqed.lean.embedded.progress import Terminal

app = typer.Typer(no_args_is_help=True, help="Set up Lean, say what was found, carry it elsewhere.")
ModulesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="MODULE…", help="Modules to have ready; default Init.")
]


@app.command()
def install(
    modules: ModulesArgument = None,
    force: Annotated[bool, typer.Option("--force", help="Make it anew even if it is whole.")] = False,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="A bundle (its first part) instead of the network."),
    ] = None,
) -> None:
    """Fetch, verify and prepare the embedded Lean in the user's cache.

    Not needed before other commands: they do it by themselves. Every file is checked against its
    SHA-256; what is missing or damaged is made again.
    """
    root = installing.location()
    if force and root.exists():
        shutil.rmtree(root)
    with Terminal() as progress:
        if source is not None:
            bundles.unpack(source, progress)
        installation = installing.ensure(progress, thorough=True)
        memory = snapshot.ensure(
            installation, modules or toolchain.DEFAULT_MODULES, progress, thorough=True
        )
    typer.echo(f"Lean {package.LEAN_VERSION} is ready: {memory}")


@app.command()
def info(as_json: JsonOption = False) -> None:
    """Say which Leans there are, and where."""
    found = [_embedded(), _native(), _pantograph()]
    if as_json:
        typer.echo(json.dumps({"cache": str(cache_root()), "toolchains": found}))
        return
    table = Table("toolchain", "version", "state", "where")
    for entry in found:
        table.add_row(entry["kind"], entry["version"], entry["state"], entry["where"])
    Console().print(table)


def _embedded() -> dict[str, Any]:
    root = installing.location()
    wrong = installing.faults(root)
    state = "not set up" if not root.exists() else "ready" if not wrong else f"damaged: {wrong[0]}"
    snapshots = sorted(p.name for p in root.glob("snapshots/*.memory") if snapshot.is_whole(p))
    return {
        "kind": "embedded",
        "version": package.LEAN_VERSION,
        "state": state,
        "where": str(root),
        "snapshots": snapshots,
    }


def _native() -> dict[str, Any]:
    if toolchain.native_lean() is None:
        return {"kind": "native", "version": "", "state": "not found", "where": ""}
    try:
        found = toolchain.native()
    except SetupError as error:
        return {"kind": "native", "version": "", "state": error.message, "where": ""}
    return {"kind": "native", "version": found.version, "state": "ready", "where": str(found.where)}


def _pantograph() -> dict[str, Any]:
    where = shutil.which("pantograph-repl")
    state = "ready" if where else "not found"
    return {"kind": "pantograph", "version": "", "state": state, "where": where or ""}


@app.command()
def bundle(
    output: Annotated[Path, typer.Argument(help="The archive to write, e.g. lean.tar.xz.")],
    modules: ModulesArgument = None,
    part_mb: Annotated[
        int, typer.Option("--part-size", min=0, help="Split into parts of this many MB; 0: one file.")
    ] = 0,
) -> None:
    """Write an archive with Node, Lean and a snapshot, for a machine without a network.

    There: `burn-qed lean install --from FILE` (for parts: the first of them).
    """
    if not output.absolute().parent.is_dir() or output.is_dir():
        raise InputError(f"cannot write {output}", hint="name a file in a folder that is there")
    with Terminal() as progress:
        installation = installing.ensure(progress)
        memory = snapshot.ensure(installation, modules or toolchain.DEFAULT_MODULES, progress)
        written = bundles.pack(installation, memory, output, part_mb * 1_000_000, progress)
    for path in written:
        typer.echo(f"{path}  {path.stat().st_size / 1e6:.1f} MB")
