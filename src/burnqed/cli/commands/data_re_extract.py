"""`burn-qed data re-extract`: a set of steps with the states that this Lean prints."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from burnqed.cli import stopping, validation_tables
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured, source_argument
from burnqed.cli.watch import Watch
from burnqed.prover.data_config import ReExtractConfig


@configured(ReExtractConfig)
def re_extract_command(
    given: Annotated[
        str,
        source_argument("Steps"),
    ],
    out: OutOption,
    config: ReExtractConfig,
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
    from burnqed.prover.validating import re_extract  # it loads pyarrow

    watch = Watch(shown=not as_json)
    told = re_extract(given, out, config, watch, resume=resume)
    if told is None:
        raise stopping.stopped(watch.signal)
    if as_json:
        typer.echo(json.dumps({"out": str(out), **told}, ensure_ascii=False))
    else:
        validation_tables.print_extracted(told, out)
    raise typer.Exit(3 if told["errors"] else 0)
