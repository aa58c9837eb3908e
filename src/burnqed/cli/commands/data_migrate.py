"""`burn-qed data migrate`: whole proofs of another Lean version, brought to this one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured
from burnqed.cli.watch import Watch
from burnqed.prover.data_config import MigrateConfig


@configured(MigrateConfig, without=("imports",))
def migrate_command(
    given: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Whole proofs: a source that was fetched, SOURCE=PATH, or a file or folder whose "
            "columns say what it is.",
        ),
    ],
    out: OutOption,
    config: MigrateConfig,
    resume: ResumeOption = False,
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
    from burnqed.prover.validating import migrate  # it loads pyarrow

    watch = Watch(shown=not as_json)
    told = migrate(given, out, config, watch, resume=resume)
    if told is None:
        raise stopping.stopped(watch.signal)
    reached = told["survival"] is not None and told["survival"] >= config.target
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        _print(told, out, config.target, reached)
    if told["error"]:
        raise typer.Exit(3)
    raise typer.Exit(0 if reached else 1)


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
    typer.echo(
        f"the target is {said}; {out / 'proofs.jsonl'} has the proofs, {out / 'report.json'} the rest"
    )
