"""`burn-qed data`: theorem sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import compose
from burnqed.data.index import write_index
from burnqed.data.library import library_entries, sample
from burnqed.lean.pool import Pool, run_sync

app = typer.Typer(no_args_is_help=True, help="Theorem sets: what is to be proved.")


@app.command()
def index(
    out: Annotated[Path, typer.Option("--out", metavar="INDEX.json", help="The index to write.")],
    module: Annotated[
        list[str],
        typer.Option("--module", metavar="PREFIX", help="Theorems of modules that begin like this."),
    ],
    size: Annotated[
        int | None, typer.Option("--sample", min=1, metavar="N", help="Only N of them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Which N: same seed, same sample.")] = 0,
    leak_rule: Annotated[
        str,
        typer.Option(help="What a new proof may use: module (earlier modules), self (all but it)."),
    ] = "module",
    toolchain: compose.ToolchainOption = None,
    project: compose.ProjectOption = None,
) -> None:
    """Write an index of the running Lean's own theorems, to be proved again.

    While one of them is searched it is hidden from automation, and a step that breaks the leak rule is
    rejected; the judge checks the finished proof once more.

    Example: burn-qed data index --module Init --module Std --sample 300 --out library.json
    """
    rule = compose.leak_rule(leak_rule)
    _, spec = compose.lean(toolchain, project, tuple(dict.fromkeys(["Init", *module])))

    async def work() -> list[dict[str, Any]]:
        async with Pool(spec, 1) as pool:
            return await library_entries(pool, module, rule)

    entries = run_sync(work())
    chosen = entries if size is None else sample(entries, size, seed)
    write_index(out, out.stem, chosen)
    typer.echo(f"{len(chosen)} of {len(entries)} theorems in {out}")
