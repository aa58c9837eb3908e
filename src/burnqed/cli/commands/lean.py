"""`burn-qed lean install | info | bundle | clean`: the embedded Lean and what else was found."""

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
from burnqed.prover import carrying

app = typer.Typer(
    no_args_is_help=True, help="Set up Lean, say what was found, carry it elsewhere, tidy up."
)
ModulesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="MODULE…", help="Modules to have ready; default Init.")
]


@app.command()
def install(
    modules: ModulesArgument = None,
    force: Annotated[bool, typer.Option("--force", help="Make it anew even if it is whole.")] = False,
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A bundle (or one of its parts) instead of the network; may be given again.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch, verify and prepare the embedded Lean in the user's cache.

    Not needed before other commands: they do it by themselves. Every file is checked against its
    SHA-256; what is missing or damaged is made again. With --from nothing is fetched: all that the
    bundle holds is checked and put into the cache, and what is there already is left alone.

    Exit codes: 0 it is ready, 2 the bundle is another machine's or version's, or parts are missing,
    3 it could not be fetched, or is damaged.
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
            state = "unpacked" if new else "was there already"
            table.add_row(thing.kind, thing.name, f"{thing.size / 1e6:.1f}", state)
        tables.console().print(table)
    typer.echo(f"Lean {package.LEAN_VERSION} is ready: {memory}")


def _bundles(given: Sequence[Path]) -> list[Path]:
    """Each bundle once, however many of its parts were named."""
    return list({bundles.whole_name(path): path for path in given}.values())


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
    """Remove what this version does not use of the embedded Lean's folder in the cache.

    That is: installations of other versions, snapshots of other versions or with options, what
    interrupted set-ups left, and lock files of what is gone. What a running process uses stays. All of
    it can be made again; the installation and the snapshots of this version are not touched.

    Exit codes: 0 it is removed (or shown, or there is nothing), 1 you said no, or something is in use
    and stays, 2 nobody could be asked, 3 it could not be removed.
    """
    found = cleaning.leftovers()
    free = [one for one in found if not one.holder]
    if not as_json:
        _print_leftovers(found)
    if free and not dry_run and not yes:
        if as_json or not sys.stdin.isatty():
            raise InputError("nobody can be asked here", hint="--yes removes it, --dry-run shows it")
        if not typer.confirm(f"Remove {_megabytes(free)}?"):
            raise typer.Exit(1)
    removed = free if dry_run else [one for one in free if cleaning.remove(one)]
    kept = [one for one in found if one not in removed]
    if as_json:
        said = [
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
        typer.echo(json.dumps({"cache": str(cache_root()), "dry_run": dry_run, "found": said}))
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
    return f"{sum(one.size for one in found) / 1e6:.1f} MB ({len(found)} of them)"


@app.command()
def bundle(
    output: Annotated[Path, typer.Argument(help="The archive to write, e.g. offline.tar.")],
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--theorems",
            metavar="SET",
            help="A theorem set: an INDEX.json, or a benchmark that must be inside. Benchmarks that "
            "are on this machine are inside anyway.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="DIR", help="A model: a directory, a .gguf file, smollm2, a hub's name."
        ),
    ] = None,
    values: Annotated[
        list[Path] | None,
        typer.Option("--value", metavar="DIR", help="A value model that `burn-qed train value` made."),
    ] = None,
    with_lean: Annotated[
        bool,
        typer.Option(
            "--lean/--no-lean",
            help="--no-lean: only what is named, for a machine that has Lean already.",
        ),
    ] = True,
    part_size: Annotated[
        str,
        typer.Option("--part-size", metavar="SIZE", help="Parts of 60MB, 64MiB, …; 0: one file."),
    ] = "0",
    level: Annotated[
        int, typer.Option(min=0, max=9, help="Of xz: 0 is fastest, 9 is smallest.")
    ] = bundles.LEVEL,
    as_json: JsonOption = False,
) -> None:
    """Write an archive with all that a machine without a network needs to search and to train.

    Inside: the prepared Lean, the Node that runs it, benchmarks, and the sets and models that are
    named. Not inside: Python, burn-qed and the packages it needs (docs/offline.md has the pip lines),
    Mathlib, a native Lean, and runs, which are copied as they are.

    There: `burn-qed lean install --from FILE`, and a model is named as the table says.

    Examples:

        burn-qed lean bundle offline.tar --part-size 60MB

        burn-qed lean bundle offline.tar --model runs/nano --theorems train.json
    """
    if not output.absolute().parent.is_dir() or output.is_dir():
        raise InputError(f"cannot write {output}", hint="name a file in a folder that is there")
    if bundles.whole_name(output) != output:
        raise InputError(f"{output} is the name of a part", hint="such as offline.tar")
    limit = carrying.part_bytes(part_size)
    items = carrying.carried(
        sets or (), models or (), values or (), tables.warn, every_benchmark=with_lean
    )
    if not with_lean and not items:
        raise InputError("there is nothing to carry", hint="name --theorems, --model or --value")
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
