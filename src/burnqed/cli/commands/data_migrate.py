"""`burn-qed data migrate`: whole proofs of another Lean version, brought to this one."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from burnqed.cli import stopping, validation_tables
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured, source_argument
from burnqed.cli.watch import Watch
from burnqed.prover.data_config import MigrateConfig


@configured(MigrateConfig, without=("imports",))
def migrate_command(
    given: Annotated[
        str,
        source_argument("Whole proofs"),
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
        validation_tables.print_migrated(told, out, config.target, reached)
    if told["error"]:
        raise typer.Exit(3)
    raise typer.Exit(0 if reached else 1)
