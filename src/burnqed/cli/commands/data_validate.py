"""`burn-qed data validate`: does data still say what this Lean says?"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from burnqed.cli import stopping, validation_tables
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured, source_argument
from burnqed.cli.watch import Watch
from burnqed.prover.data_config import ValidateConfig


@configured(ValidateConfig)
def validate_command(
    given: Annotated[
        str,
        source_argument("Steps or whole proofs"),
    ],
    out: OutOption,
    config: ValidateConfig,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Replay recorded proofs in this Lean, and compare each state with the recorded one.

    Theorems are drawn by the length of their proofs, as many short as long ones. Each is started, its
    tactics are applied in order, and what Lean prints is compared with the data. What fails is sorted:
    lemma rename, tactic API change, missing import, missing open; what only prints otherwise is
    pretty-printer drift. Theorems without a statement to start from are counted apart.

    With --judge a proof that replays must be accepted by the judge as well, or it counts as failing.

    The verdict: at least 80% replay and print as recorded: use. At least 80% replay: re-extract. Else
    re-trace. Whole proofs are shown to the judge as they are: use if it accepts at least 80%, else
    migrate.

    DIR gets proofs.jsonl, a line for each theorem, and report.json. Ctrl-C keeps what is done, and
    --resume goes on.

    Examples:

        burn-qed data validate traces/mine --out seen/mine

        burn-qed data validate traces/library --judge --seed 1 --out seen/library

        burn-qed data validate lean-workbook-steps --project ~/mathlib --import Mathlib --out seen/lw

    Exit codes: 0 use it, 1 re-extract, re-trace or migrate, 2 bad input, or nothing could be tried, 3
    Lean failed on some theorems, 130 or 143 stopped by a signal.
    """
    from burnqed.prover.validating import validate  # it loads pyarrow

    watch = Watch(shown=not as_json)
    told = validate(given, out, config, watch, resume=resume)
    if told is None:
        raise stopping.stopped(watch.signal)
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
    elif "strata" in told:
        validation_tables.print_validated(told, out)
    else:
        validation_tables.print_validated_whole(told, out)
    if told["errors"]:
        raise typer.Exit(3)
    raise typer.Exit({"use": 0, "none": 2}.get(told["verdict"], 1))
