"""`burn-qed data trace` on whole proofs: rows of text become Lean files, and these are traced."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.progress import CountedProgress
from burnqed.core.runs import check_out, open_run
from burnqed.core.stopping import Stopping
from burnqed.data.drift import Sorter
from burnqed.data.fix_rules import load_fixes
from burnqed.data.known_names import known_names
from burnqed.data.sources.open import open_source
from burnqed.data.sources.rows import BadRows, Notes
from burnqed.lean.pool import Pool, run_sync
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig


def trace_whole_proofs(
    given: str, out: Path, config: LeanConfig, seconds: float, judge: bool, resume: bool, shown: bool
) -> dict[str, Any]:
    """Trace the whole proofs of a source into a directory, and give its report."""
    from burnqed.data.trace_store import FileTrace
    from burnqed.data.whole_proofs import LEAN, lay_out, refuse_nothing, trace_proofs

    check_out(out)
    source = open_source(given)
    bad = BadRows()
    proofs = source.proofs(Notes(tables.warn, bad.add))
    lean = leans.set_up(config, ["Init"])
    asked = {
        "command": "data trace", "source": source.info.name, "sha256": source.checksum(),
        "file_seconds": seconds, "judge": judge, "imports": list(config.imports),
        "toolchain": lean.toolchain.label,
    }  # fmt: skip
    open_run(out, asked, resume=resume)
    laid = lay_out(proofs, out / LEAN)
    refuse_nothing(laid)
    for problem in bad.first:
        tables.warn(problem)
    modules = [*config.imports, *leans.loadable(config, laid.imports)]
    # What others publish may be about Mathlib without a word of it.
    absent = ("Mathlib",) if source.is_published and "Mathlib" not in modules else ()
    lean = leans.set_up(config, list(dict.fromkeys(["Init", *modules])))

    async def work() -> tuple[signal.Signals | None, dict[str, Any] | None]:
        stop = Stopping()
        enough = stop.event()
        bar = CountedProgress("proofs", len(laid.files), shown=shown)

        def count(file: FileTrace) -> None:
            steps = sum(theorem.steps for theorem in file.theorems)
            bar.add({"steps": steps, "skipped": bool(file.problem)})

        with bar.shown():
            async with Pool(lean.spec, config.workers) as pool, Pool(lean.spec, 2) as judges:
                sorter = Sorter(await known_names(pool), load_fixes(), absent)
                told = await trace_proofs(
                    out, laid, pool, judges if judge else None, sorter, seconds, tables.warn, count,
                    enough,
                )  # fmt: skip
        return stop.signal, told

    stopped, told = run_sync(work())
    if told is None:
        raise stopping.stopped(stopped or signal.SIGTERM)
    return told


def print_proofs(told: Mapping[str, Any], out: Path) -> None:
    proofs, theorems = told["proofs"], told["theorems"]
    facts = {
        "proofs": f"{proofs['compile']:,} of {proofs['in']:,} compile",
        **{f"left out, {why}": count for why, count in proofs["left_out"].items()},
        "recorded": f"{theorems['recorded']} of {theorems['with_tactics']} theorems with tactics",
        "steps": told["steps"],
        "proved by terms": theorems["proved_by_terms"],
        **{f"not recorded, {why}": count for why, count in theorems["not_recorded"].items()},
    }
    tables.print_facts(str(out), facts)
    if told["does_not_compile"]:
        table = tables.folding("does not compile", "proofs", "such as", "because")
        for kind, some in told["does_not_compile"].items():
            first = some["examples"][0]
            table.add_row(
                kind, str(some["proofs"]), first["theorem"], first["why"].split("\n")[0][:200]
            )
        tables.console().print(table)
    typer.echo(f"{out / 'report.json'} has it all")
