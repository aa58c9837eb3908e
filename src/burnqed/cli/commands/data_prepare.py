"""`burn-qed data prepare`: from steps of any source to files that a policy is trained on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.progress import counted
from burnqed.core.errors import InputError
from burnqed.core.stopping import Stopping
from burnqed.data.prepare import RULES
from burnqed.data.sources.open import open_source
from burnqed.prover.data_config import PrepareConfig
from burnqed.prover.preparing import Preparing

_COLUMNS = 6  # of sources in a table; of more, report.json tells
_WHY = {
    "malformed": "not a row of a step",
    "cheat": "its theorem has a sorry, admit or cheat",
    "without_name": "its theorem is one of --without, by name",
    "without_statement": "its theorem states what one of --without states",
    "mathlib": "its tactic has one that core Lean does not have",
    "state_chars": "the state has --state-chars or more",
    "prompt_tokens": "the prompt has too many tokens",
    "tactic_tokens": "the tactic has too many tokens",
    "ends_tactic": "the tactic has in it what ends one in this prompt",
    "duplicate": "the pair was there already, in the same source",
    "overlap": "the pair was there already, in an earlier source",
    "trivial": "bare automation, beyond its share",
}


@configured(PrepareConfig)
def prepare_command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Steps: a source that was fetched, SOURCE=PATH, a trace, or a file or folder whose "
            "columns say what it is; NAME=PATH names what is read. Where two have the same pair, the "
            "one named first keeps it.",
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
        with watched(shown=not as_json) as on_rows:
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


@contextmanager
def watched(shown: bool) -> Iterator[Callable[[str, int], None]]:
    """A bar for each stage; Ctrl-C ends the work between two batches, and what was made goes away."""
    read = 0
    bars: dict[str, Callable[[int], None]] = {}
    with Stopping(shown=False) as stop, ExitStack() as open_bars:

        def tell(stage: str, rows: int) -> None:
            nonlocal read
            if stop.asked():
                raise KeyboardInterrupt
            if stage not in bars:
                open_bars.close()
                bars[stage] = open_bars.enter_context(counted(stage, read or None, shown))
            read += rows if stage == "reading" else 0
            bars[stage](rows)

        yield tell


def print_prepared(report: dict[str, Any]) -> None:
    every = report["sources"]
    sources = every if len(every) <= _COLUMNS else {}
    table = tables.folding("rows", "all", *sources, "why")
    rows = report["rows"]
    table.add_row("in", f"{rows['in']:,}", *(f"{one['in']:,}" for one in sources.values()), "")
    for rule in ("malformed", *RULES):
        if rows["dropped"][rule]:
            cells = [f"{one['dropped'].get(rule, 0):,}" for one in sources.values()]
            table.add_row(f"- {rule}", f"{rows['dropped'][rule]:,}", *cells, _WHY[rule])
    for what in ("out", "train", "val", "test"):
        style = "green" if what == "out" else ""
        cells = [f"{one[what]:,}" for one in sources.values()]
        table.add_row(Text(what, style=style), f"{rows[what]:,}", *cells, "")
    pool = [f"{one['pool_rows']:,}" for one in sources.values()]
    why = f"steps of {report['pool']['theorems']:,} whole proofs that are deep"
    for what, of in (
        ("with premises", [one["with_premises"] for one in every.values()]),
        ("Mathlib's tactics", [one["mathlib"]["rows"] for one in every.values()]),
    ):
        cells = [f"{n:,}" for n in of] if sources else []
        table.add_row(what, f"{sum(of):,}", *cells, "of the rows that came in")
    table.add_row("contrastive pool", f"{report['pool']['rows']:,}", *pool, why)
    tables.console().print(table)
    for one in sorted(report["overlaps"], key=lambda one: -one["pairs"])[:_COLUMNS]:
        typer.echo(f"{one['pairs']:,} pairs of {one['later']} are in {one['first']} already")
