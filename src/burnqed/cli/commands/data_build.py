"""`burn-qed data build`: from sources to a training set, by a recipe."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.cli.prepared_tables import print_built
from burnqed.cli.progress import counted, in_stages
from burnqed.cli.watch import Watch


def build_command(
    recipe: Annotated[
        Path, typer.Argument(metavar="RECIPE.toml", help="Which sources, and what is done with them.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="The directory; one that is there is gone on with."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Build a training set from its sources: fetch, validate, migrate, trace, re-extract, prepare.

    A section [sources.NAME] of the recipe names a source. Lean files are traced. Whole proofs are
    validated, migrated if that is due, and traced. Steps are validated, and their states extracted
    again if that is due. What replays too rarely is left out. Then all of it is prepared together,
    without the held-out sets.

    DIR/data gets what `burn-qed data prepare` makes; DIR/theorems.json what the proofs of the
    contrastive pool prove, as a set to search; DIR/report.json what came in and what was dropped, step
    by step.

    Ctrl-C keeps what is done. The same command goes on where it was stopped or killed. The same recipe
    on the same sources gives the same files.

    Examples:

        burn-qed data build recipes/leandojo.toml --out data/leandojo

        burn-qed train policy --data data/leandojo/data/tactic_pairs/train.jsonl --base nano --out M

    Exit codes: 0 built, 2 bad input, or built without some rows that could not be read, 3 a source
    could not be fetched, or Lean failed, 130 or 143 stopped by a signal.
    """
    from burnqed.prover.building import build, read_recipe

    view = _View(shown=not as_json)
    told = build(read_recipe(recipe), out, view)
    if told is None:
        typer.echo("stopped; the same command goes on", err=True)
        raise typer.Exit(128 + view.signal)
    for one in told["malformed"]:
        tables.warn(f"{one['rows']} rows of {one['source']} cannot be read: see {out}/data/report.json")
    if as_json:
        typer.echo(json.dumps({"out": str(out), **told}, ensure_ascii=False))
    else:
        print_built(told, out)
    raise typer.Exit(2 if told["malformed"] else 0)


class _View(Watch):
    """And bars of what comes before Lean, and after it."""

    def looking(self) -> AbstractContextManager[Callable[[int], None]]:
        return counted("looking through the sources", None, self.shown)

    def preparing(self) -> AbstractContextManager[Callable[[str, int], None]]:
        return in_stages(shown=self.shown)
