"""`burn-qed data migrate`: whole proofs of another Lean version, brought to this one."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.progress import CountedProgress
from burnqed.core.files import publish, publish_json
from burnqed.core.runs import check_out, open_run
from burnqed.core.stopping import Stopping
from burnqed.data.drawn_proofs import DrawnProofs
from burnqed.data.fix_rules import load_fixes
from burnqed.data.ledger import Ledger, open_ledger
from burnqed.data.migration import TARGET, migrate, report, survivors
from burnqed.data.sources.open import open_source
from burnqed.data.sources.rows import Notes
from burnqed.lean.pool import run_sync
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig

RESULTS, MIGRATED, REPORT = "results.jsonl", "proofs.jsonl", "report.json"


@configured(LeanConfig, without=("imports",))
def migrate_command(
    given: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Whole proofs: a source that was fetched, SOURCE=PATH, or a file or folder whose "
            "columns say what it is.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory of the run.")],
    config: LeanConfig,
    renames: Annotated[
        list[Path] | None,
        typer.Option(
            "--renames",
            metavar="FILE",
            help="A table of renames and rules (TOML or JSON), before those that are here; repeatable.",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--sample", min=1, help="Only so many proofs, drawn by the seed.")
    ] = None,
    target: Annotated[
        float, typer.Option(min=0, max=1, help="The share of proofs that has to survive.")
    ] = TARGET,
    seed: Annotated[int, typer.Option(help="Same seed, same sample.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring whole proofs to this Lean: judge all, change by rules what fails, judge again.

    A rename table and fix rules propose; the judge decides. Rules change proofs. A statement stays word
    by word as it is, unless this Lean does not understand it: then names that are gone may be renamed,
    and the report lists it before and after.

    DIR gets results.jsonl, a line for each proof with what was done; proofs.jsonl, the proofs that
    survive, as `burn-qed data` reads them; and report.json: survival, what each rule fixed, what failed
    by cause. Ctrl-C keeps what is done, and --resume goes on.

    Examples:

        burn-qed data migrate old.jsonl --out moved

        burn-qed data migrate goedel-workbook --project ~/mathlib --sample 500 --renames mine.toml
        --out moved/goedel

    Exit codes: 0 the target is reached, 1 it is not, 2 bad input, 3 Lean failed on some proofs, 130 or
    143 stopped by a signal.
    """
    check_out(out)
    source = open_source(given)
    source.proofs(Notes())  # has it any?
    fixes = load_fixes(renames or ())
    lean = leans.set_up(config, ["Init"])
    asked = {
        "command": "data migrate", "source": source.info.name, "sha256": source.checksum(),
        "sample": count, "seed": seed, "rules": fixes.digest(), "toolchain": lean.toolchain.label,
    }  # fmt: skip
    open_run(out, asked, resume=resume)
    proofs = DrawnProofs(source, count, seed, tables.warn)

    async def work() -> signal.Signals | None:
        stop = Stopping()
        enough = stop.event()
        with open_ledger(out / RESULTS, tables.warn) as ledger:
            bar = CountedProgress("judging", proofs.count, shown=not as_json)
            with bar.shown():
                await migrate(
                    partial(leans.with_judges, config), proofs,
                    partial(leans.loaded_by, lean.toolchain), fixes, ledger,
                    lambda row: bar.add({row["outcome"]: 1}), enough,
                )  # fmt: skip
            if stop.signal is None:
                _write(out, ledger, proofs, asked)
        return stop.signal

    stopped = run_sync(work())
    if stopped is not None:
        raise stopping.stopped(stopped)
    told = json.loads((out / REPORT).read_text(encoding="utf-8"))
    reached = told["survival"] is not None and told["survival"] >= target
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        _print(told, out, target, reached)
    if told["error"]:
        raise typer.Exit(3)
    raise typer.Exit(0 if reached else 1)


def _write(out: Path, ledger: Ledger, proofs: DrawnProofs, asked: Mapping[str, Any]) -> None:
    rows = (asdict(proof) for proof in survivors(ledger, proofs()))
    publish(out / MIGRATED, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    told = {"settings": dict(asked), **report(ledger.rows())}
    publish_json(out / REPORT, told)


def _print(told: Mapping[str, Any], out: Path, target: float, reached: bool) -> None:
    survival = told["survival"]
    before = told["compiled_as_it_was"]
    facts = {
        "proofs": told["proofs"],
        "compile as they were": None if before is None else f"{told['unchanged']} ({before:.1%})",
        "fixed": told["fixed"],
        "failed": told["failed"],
        "without a proof": told["empty"] or None,
        "Lean failed": told["error"] or None,
        "statements changed": len(told["statements_changed"]) or None,
        "survive": None if survival is None else f"{survival:.1%}, the target is {target:.0%}",
    }
    tables.print_facts(str(out), facts)
    screen = tables.console()
    if told["rules"]:
        table = tables.folding("rule", "what it did", "proofs")
        for one in told["rules"][:20]:
            table.add_row(one["rule"], one["what"], str(one["proofs"]))
        screen.print(table)
    if told["causes"]:
        table = tables.folding("failed because", "proofs", "such as", "Lean says")
        for cause, number in sorted(told["causes"].items(), key=lambda one: -one[1]):
            shown = [one for one in told["failures"] if (one["cause"] or "error") == cause]
            example = shown[0] if shown else {"theorem": "", "reason": ""}
            said = str(example["reason"]).split("\n")[0][:200]
            table.add_row(cause, str(number), str(example["theorem"]), said)
        screen.print(table)
    said = "reached" if reached else "not reached"
    typer.echo(f"the target is {said}; {out / MIGRATED} has the proofs, {out / REPORT} the rest")
