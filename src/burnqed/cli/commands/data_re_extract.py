"""`burn-qed data re-extract`: a set of steps with the states that this Lean prints."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured
from burnqed.cli.progress import CountedProgress
from burnqed.core.runs import check_out, open_run
from burnqed.core.stopping import Stopping
from burnqed.data.drift import Sorter
from burnqed.data.fix_rules import load_fixes
from burnqed.data.known_names import known_names
from burnqed.data.re_extract import REPORT, STEPS, re_extract, refuse_nothing
from burnqed.data.sampled_proofs import census
from burnqed.data.sources.open import open_source
from burnqed.data.sources.rows import BadRows, Notes
from burnqed.data.steps import Step
from burnqed.data.validation import stated_by, stated_in
from burnqed.lean.pool import Pool, run_sync
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig
from burnqed.prover.sets import chosen


@configured(LeanConfig)
def re_extract_command(
    given: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Steps: a source that was fetched, SOURCE=PATH, a trace, or a file or folder whose "
            "columns say what it is.",
        ),
    ],
    out: OutOption,
    config: LeanConfig,
    theorems: Annotated[
        str | None,
        typer.Option(
            "--theorems",
            metavar="SET",
            help="A benchmark or index with the statements, by name. Else a trace's own context, or "
            "what the first state of a proof says.",
        ),
    ] = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Replay every proof of a set of steps in this Lean, and write its states as a new set.

    For data that `burn-qed data validate` calls re-extract: it replays, and states print otherwise
    here. A theorem keeps all of its steps, or is dropped with its reason: steps are missing, it has no
    statement to start from, or it does not replay (by category, as validate sorts them).

    DIR gets steps.jsonl, which every `burn-qed data` command reads; proofs.jsonl, a line for each
    theorem; and report.json. Ctrl-C keeps what is done, and --resume goes on.

    Example:

        burn-qed data re-extract old-steps.jsonl --out new

        burn-qed data prepare new/steps.jsonl --out data/new

    Exit codes: 0 written, 2 bad input, or nothing replays, 3 Lean failed on some theorems, 130 or 143
    stopped by a signal.
    """
    check_out(out)
    source = open_source(given)
    bad = BadRows()
    found = census(source.steps(Notes(tables.warn, bad.add)))
    for problem in bad.first:
        tables.warn(problem)
    index = None if theorems is None else chosen(theorems)
    stated, needed = stated_in(source, tables.warn)
    if index is not None:
        stated = {**stated, **stated_by(index)}
        needed = (*needed, *index.imports)
    modules = ["Init", *config.imports, *leans.loadable(config, needed)]
    modules = list(dict.fromkeys(modules))
    absent = tuple(module for module in dict.fromkeys(needed) if module not in modules)
    lean = leans.set_up(config, modules)
    asked = {
        "command": "data re-extract", "source": source.info.name, "sha256": source.checksum(),
        "theorems": index.checksum if index else None, "modules": modules,
        "toolchain": lean.toolchain.label,
    }  # fmt: skip
    open_run(out, asked, resume=resume)

    def read() -> Iterator[Step]:
        return source.steps(Notes(on_bad=lambda _told_already: None))

    async def work() -> tuple[signal.Signals | None, dict[str, Any] | None]:
        stop = Stopping()
        enough = stop.event()
        bar = CountedProgress("replaying", len(found.whole), shown=not as_json)
        with bar.shown():
            async with Pool(lean.spec, config.workers) as pool:
                sorter = Sorter(await known_names(pool), load_fixes(), absent)
                told = await re_extract(
                    out, read, found, stated, pool, sorter, tables.warn,
                    lambda row: bar.add({str(row["outcome"]): 1}), enough,
                )  # fmt: skip
        return stop.signal, told

    stopped, told = run_sync(work())
    if told is None:
        raise stopping.stopped(stopped or signal.SIGTERM)
    refuse_nothing(told, given)
    if as_json:
        typer.echo(json.dumps({"out": str(out), **told}, ensure_ascii=False))
    else:
        _print(told, out)
    raise typer.Exit(3 if told["errors"] else 0)


def _print(told: Mapping[str, Any], out: Path) -> None:
    theorems, steps = told["theorems"], told["steps"]
    facts = {
        "theorems": f"{theorems['out']:,} of {theorems['in']:,}",
        **{f"dropped, {why}": count for why, count in theorems["dropped"].items()},
        "printed otherwise before": theorems["printed_otherwise"],
        "steps": f"{steps['out']:,} of {steps['in']:,} of proofs that were whole",
    }
    tables.print_facts(str(out), facts)
    for error in told["errors"][:5]:
        tables.warn(f"Lean failed on {error['theorem']}: {error['why']}; --resume tries it again")
    typer.echo(f"{out / STEPS} has the steps, {out / REPORT} the rest")
