"""`burn-qed lean install | info | bundle | clean`: the embedded Lean and other toolchains."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.core.cache import cache_root
from burnqed.core.errors import InputError, SetupError
from burnqed.lean import toolchain
from burnqed.lean.embedded import bundle as bundles
from burnqed.lean.embedded import clean as cleaning
from burnqed.lean.embedded import install as installing
from burnqed.lean.embedded import package, snapshot, unbundle
from burnqed.lean.embedded.progress import Terminal
from burnqed.prover import bundling

app = typer.Typer(
    no_args_is_help=True, help="Install Lean, show what is installed, bundle it, clean up."
)
ModulesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="MODULE…", help="Modules to load into a snapshot; by default Init."),
]


@app.command()
def install(
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
        table = Table("what", "name", "MB", "state")
        for thing, new in found:
            state = "unpacked" if new else "already there"
            table.add_row(thing.kind, thing.name, f"{thing.size / 1e6:.1f}", state)
        tables.console().print(table)
    typer.echo(f"Lean {package.LEAN_VERSION} is ready: {memory}")


def _bundles(given: Sequence[Path]) -> list[Path]:
    """Each bundle once, even if several of its parts were named."""
    return list({bundles.whole_name(path): path for path in given}.values())


@app.command()
def info(as_json: JsonOption = False) -> None:
    """Show which Leans are installed, and where."""
    found = [_embedded(), _native(), _pantograph()]
    if as_json:
        typer.echo(json.dumps({"cache": str(cache_root()), "toolchains": found}))
        return
    table = Table("toolchain", "version", "state", "where")
    for entry in found:
        table.add_row(entry["kind"], entry["version"], entry["state"], entry["where"])
    tables.console().print(table)


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
def clean(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be removed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove leftovers of the embedded Lean from the cache.

    These are installations and snapshots of other versions, snapshots made with options, remains of
    interrupted installations, and lock files without an owner. The installation and the snapshots of
    this version stay, and so does anything that a running process uses. Everything that is removed can
    be made again.

    Exit codes: 0 removed (or shown, or nothing to remove), 1 you declined, or something is in use, 2
    there is no terminal to confirm on, 3 removing failed.
    """
    found = cleaning.leftovers()
    free = [one for one in found if not one.holder]
    if not as_json:
        _print_leftovers(found)
    if free and not dry_run and not yes:
        if as_json or not sys.stdin.isatty():
            raise InputError(
                "there is no terminal to confirm on", hint="--yes removes it, --dry-run shows it"
            )
        if not typer.confirm(f"Remove {_megabytes(free)}?"):
            raise typer.Exit(1)
    removed = free if dry_run else [one for one in free if cleaning.remove(one)]
    kept = [one for one in found if one not in removed]
    if as_json:
        entries = [
            {
                "kind": one.kind,
                "name": one.name,
                "paths": [str(path) for path in one.paths],
                "bytes": one.size,
                "removed": one in removed and not dry_run,
                "held_by": one.holder,
            }
            for one in found
        ]
        typer.echo(json.dumps({"cache": str(cache_root()), "dry_run": dry_run, "found": entries}))
    elif found:
        typer.echo(f"{'would remove' if dry_run else 'removed'} {_megabytes(removed)}")
    if kept and not dry_run:
        raise typer.Exit(1)


def _print_leftovers(found: Sequence[cleaning.Leftover]) -> None:
    if not found:
        typer.echo("there is nothing to remove")
        return
    table = Table("what", "name", "MB", "state")
    for one in found:
        state = f"in use by {one.holder}" if one.holder else "not used"
        table.add_row(one.kind, one.name, f"{one.size / 1e6:.1f}", state)
    tables.console().print(table)


def _megabytes(found: Sequence[cleaning.Leftover]) -> str:
    items = "1 item" if len(found) == 1 else f"{len(found)} items"
    return f"{sum(one.size for one in found) / 1e6:.1f} MB ({items})"


@app.command()
def bundle(
    output: Annotated[Path, typer.Argument(help="The archive to write, e.g. offline.tar.")],
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--theorems",
            metavar="SET",
            help="Include a theorem set: an INDEX.json or a benchmark. Benchmarks that are on this "
            "machine are included by default.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="DIR",
            help="Include a model: a directory, a .gguf file, smollm2, or a name on the hub.",
        ),
    ] = None,
    values: Annotated[
        list[Path] | None,
        typer.Option("--value", metavar="DIR", help="Include a value model of `burn-qed train value`."),
    ] = None,
    with_lean: Annotated[
        bool,
        typer.Option(
            "--lean/--no-lean",
            help="--no-lean: only the named sets and models, for a machine that has Lean.",
        ),
    ] = True,
    part_size: Annotated[
        str,
        typer.Option(
            "--part-size", metavar="SIZE", help="Split into parts of 60MB, 64MiB, …; 0: one file."
        ),
    ] = "0",
    level: Annotated[
        int, typer.Option(min=0, max=9, help="Compression level of xz: 0 is fastest, 9 is smallest.")
    ] = bundles.LEVEL,
    as_json: JsonOption = False,
) -> None:
    """Write an archive for a machine without a network, with what searching and training need there.

    It contains the prepared Lean, the Node that runs it, benchmarks, and the sets and models that you
    name. It does not contain Python, burn-qed and its packages (docs/offline.md has the pip commands),
    Mathlib or a native Lean. Copy runs separately.

    On the other machine, run `burn-qed lean install --from FILE`. The table shows the names that models
    have there.

    Examples:

        burn-qed lean bundle offline.tar --part-size 60MB

        burn-qed lean bundle offline.tar --model runs/nano --theorems train.json
    """
    if not output.absolute().parent.is_dir() or output.is_dir():
        raise InputError(f"cannot write {output}", hint="name a file in a folder that exists")
    if bundles.whole_name(output) != output:
        raise InputError(
            f"{output} looks like one part of a bundle", hint="name the whole, such as offline.tar"
        )
    limit = bundling.part_bytes(part_size)
    items = bundling.items_of(
        sets or (), models or (), values or (), tables.warn, every_benchmark=with_lean
    )
    if not with_lean and not items:
        raise InputError("there is nothing to bundle", hint="give --theorems, --model or --value")
    with Terminal() as progress:
        if with_lean:
            items = bundles.lean_items(installing.ensure(progress, thorough=True)) + items
        written = bundles.pack(items, output, limit, progress, level)
    inside: list[dict[str, Any]] = [
        {"kind": item.kind, "name": item.name, "files": len(item.files), "bytes": _size(item)}
        for item in items
    ]
    files = {str(path): path.stat().st_size for path in written}
    if as_json:
        typer.echo(json.dumps({"inside": inside, "written": files}))
        return
    table = Table("inside", "name there", "files", "MB")
    for entry in inside:
        megabytes = f"{entry['bytes'] / 1e6:.1f}"
        table.add_row(entry["kind"], entry["name"], str(entry["files"]), megabytes)
    tables.console().print(table)
    for name, size in files.items():
        typer.echo(f"{name}  {size / 1e6:.1f} MB")
    typer.echo("not inside: Python, burn-qed and its packages (docs/offline.md), Mathlib, runs")


def _size(item: bundles.Item) -> int:
    return sum(path.stat().st_size for path in item.files.values())
