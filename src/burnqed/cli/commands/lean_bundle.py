"""`burn-qed lean bundle`: an archive for a machine without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.lean.embedded import bundle as bundles
from burnqed.lean.embedded.progress import Terminal
from burnqed.prover import bundling


def bundle_command(
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
    with Terminal() as progress:
        items, written = bundling.write_bundle(
            output, sets or (), models or (), values or (), with_lean=with_lean,
            limit=bundling.part_bytes(part_size), level=level, progress=progress, warn=tables.warn,
        )  # fmt: skip
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
