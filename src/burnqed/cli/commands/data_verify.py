"""`burn-qed data verify`: the statements of a set, looked at."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, get_args

import typer
from rich.text import Text

from burnqed.cli import sets, tables
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.progress import counted
from burnqed.data.verify import Verdict, Verified, verify
from burnqed.lean.pool import Pool, run_sync
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig
from burnqed.prover.sets import chosen


@configured(LeanConfig)
def verify_command(
    theorems: sets.SetArgument,
    config: LeanConfig,
    split: Annotated[str | None, typer.Option(help="Only the theorems of this split.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check the statements of a set: each is fine, does not elaborate (why), or is trivially false.

    A statement is called false only when the kernel has accepted a proof of its negation; the search
    for one is short, so "fine" does not say that a statement is true.

    Exit codes: 0 all are fine, 1 some are not, 2 bad input, 3 Lean failed on some, which says nothing
    about them.
    """
    index = chosen(theorems, split=split)
    spec = leans.set_up(config, leans.modules_of(config, index.imports)).spec

    async def work() -> list[Verified]:
        with counted("verifying", len(index.entries), shown=not as_json) as advance:
            async with Pool(spec, config.workers) as pool:
                return await verify(pool, index.theorems, lambda _: advance(1))

    found = run_sync(work())
    counts = Counter(dict.fromkeys(get_args(Verdict), 0))
    counts.update(v.verdict for v in found)
    if as_json:
        told = [dataclasses.asdict(v) for v in found]
        summary = {"set": index.name, "checksum": index.checksum, "counts": counts, "theorems": told}
        typer.echo(json.dumps(summary, ensure_ascii=False))
    else:
        _print_verified(found)
        said = ", ".join(f"{name} {count}" for name, count in (+counts).items())
        typer.echo(f"{len(found)} theorems of {index.name}: {said}")
    if counts["error"]:
        raise typer.Exit(3)
    raise typer.Exit(0 if counts["fine"] == len(found) else 1)


def _print_verified(found: Sequence[Verified]) -> None:
    wrong = [v for v in found if v.verdict != "fine"]
    if not wrong:
        return
    table = tables.folding("theorem", "verdict", "why")
    for v in wrong:
        table.add_row(Text(v.name), Text(v.verdict, style="red"), Text(v.why))
    tables.console().print(table)
