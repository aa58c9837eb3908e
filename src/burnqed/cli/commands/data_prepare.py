"""`burn-qed data prepare`: from steps of any source to files that a policy is trained on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, configured, source_argument
from burnqed.cli.prepared_tables import print_prepared
from burnqed.cli.progress import counted, in_stages
from burnqed.core.errors import InputError
from burnqed.data.sources.open import open_source
from burnqed.prover.data_config import PrepareConfig
from burnqed.prover.preparing import Preparing


@configured(PrepareConfig)
def prepare_command(
    inputs: Annotated[
        list[str],
        source_argument(
            "Steps",
            "; NAME=PATH names what is read. The first input that has a pair keeps it",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory to make.")],
    config: PrepareConfig,
    as_json: JsonOption = False,
) -> None:
    """Turn steps of proofs into clean training pairs: what `burn-qed train policy --data` reads.

    Published sets are read as `burn-qed data sources` lists them; rows of our own are {"state",
    "tactic", "theorem", "depth"}, as JSON lines or Parquet. A theorem with a sorry,
    admit or cheat anywhere is dropped whole, and so is one of --without. Then rows with long states or
    tactics go, then pairs that were there already, then most of what is bare automation. The rest is
    split by theorem, so that no theorem is on two sides, whichever sources it comes from.

    A row keeps its `premises`, the constants that its tactic names, and `mathlib` lists the tactics in
    it that core Lean does not have (`linarith`, `ring`, `cases'`, …), by the words of the text.

    DIR gets tactic_pairs/train.jsonl, val.jsonl and test.jsonl, contrastive_pool.jsonl (whole proofs
    that are deep, for the value model) and report.json: every rule with the rows it dropped, by source.
    DIR is there whole or not at all; a second run with the same settings says that it is done.

    Examples:

        burn-qed data prepare traced/ --without minif2f-test --out data/mine

        burn-qed data prepare leandojo lean-github=lg.parquet mine=b.jsonl --out data/all

        burn-qed train policy --data data/mine/tactic_pairs/train.jsonl
        --val data/mine/tactic_pairs/val.jsonl --base nano --out models/mine

    Exit codes: 0 prepared, 2 bad input, or prepared without some rows that could not be read, 130
    interrupted, and nothing is left behind.
    """
    preparing = Preparing(config, out)
    found = [open_source(one) for one in inputs]
    _refuse_twice([one.given for one in found])
    preparing.load()
    with counted("checksums", len(found), shown=not as_json) as advance:
        report = preparing.earlier(found, lambda: advance(1))
    done_before = report is not None
    if report is None:
        with in_stages(shown=not as_json) as on_rows:
            report = preparing.run(found, on_rows, tables.warn)
    for one in report["malformed"]:
        for problem in one["first"]:
            tables.warn(problem)
        if one["rows"] > len(one["first"]):
            tables.warn(f"{one['input']}: and {one['rows'] - len(one['first'])} more such rows")
    if as_json:
        typer.echo(
            json.dumps({"out": str(out), "done_before": done_before, **report}, ensure_ascii=False)
        )
    else:
        print_prepared(report)
        said = (
            "was prepared before, from the same input with the same settings" if done_before else "made"
        )
        typer.echo(f"{out}: {said}; report.json has it all")
    raise typer.Exit(2 if report["malformed"] else 0)


def _refuse_twice(given: Sequence[str]) -> None:
    twice = next((one for place, one in enumerate(given) if one in given[:place]), None)
    if twice is not None:
        raise InputError(f"{twice} is given twice", hint="name every input once")
