"""`burn-qed lean clean`: leftovers of the Leans, removed from the cache."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.core.cache import cache_root
from burnqed.core.errors import InputError
from burnqed.lean.embedded import clean as cleaning
from burnqed.lean.native import clean as native


def clean_command(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be removed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove leftovers of the Leans from the cache.

    These are installations and snapshots of other versions, snapshots made with options, REPLs that
    were compiled for a native Lean that is gone, remains of interrupted installations, and lock files
    without an owner. The installation and the snapshots of this version stay, and so does anything that
    a running process uses. Everything that is removed can be made again.

    Exit codes: 0 removed (or shown, or nothing to remove), 1 you declined, or something is in use, 2
    there is no terminal to confirm on, 3 removing failed.
    """
    found = [*cleaning.leftovers(), *native.leftovers()]
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
        entries = [_entry(one, removed=one in removed and not dry_run) for one in found]
        typer.echo(json.dumps({"cache": str(cache_root()), "dry_run": dry_run, "found": entries}))
    elif found:
        typer.echo(f"{'would remove' if dry_run else 'removed'} {_megabytes(removed)}")
    if kept and not dry_run:
        raise typer.Exit(1)


def _entry(one: cleaning.Leftover, removed: bool) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "name": one.name,
        "paths": [str(path) for path in one.paths],
        "bytes": one.size,
        "removed": removed,
        "held_by": one.holder,
    }


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
