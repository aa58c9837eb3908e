"""`burn-qed pairs`: the steps of what searches proved, as a file to train on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, configured
from burnqed.prover.data_config import PairsConfig
from burnqed.prover.pairs import pairs


@configured(PairsConfig)
def pairs_command(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Runs of `burn-qed search` or `eval`, with proofs."),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="PAIRS.jsonl", help="The file to write; PAIRS.json beside.")
    ],
    config: PairsConfig,
    as_json: JsonOption = False,
) -> None:
    """Gather the steps of judged proofs of several runs: what `train policy` learns from.

    Of each theorem the proof with the fewest steps is taken, as it was shortened; a pair of state and
    tactic comes once. What `burn-qed negatives` found beside proofs is left out. Theorems of --without
    are known by their names, and by what they state as far as text tells.

    PAIRS.jsonl gets rows {"state", "tactic", "theorem", "depth"}, and PAIRS.json beside it says what
    was read, what was left out and why. The same runs in the same order give the same files.

    Example:

        burn-qed pairs runs/search-0 runs/noise-0 --without core-300 --out pairs.jsonl

        burn-qed train policy --data base.jsonl --extra-data pairs.jsonl --base nano --out models/first

    Exit codes: 0 written, 1 no proof is left, 2 bad input, 3 a run is damaged.
    """
    report = pairs(runs, out, config, tables.warn)
    if as_json:
        typer.echo(json.dumps({"out": str(out), **report}, ensure_ascii=False))
        return
    _print(report, out)
    typer.echo(
        f"{out}: {report['pairs']} pairs; {out.with_suffix('.json')} says what became of the rest"
    )


def _print(report: dict[str, Any], out: Path) -> None:
    table = tables.folding("run", "searched", "proved", "found by negatives", "taken", title="read")
    for run in report["runs"]:
        figures = ("searched", "proved", "proved_beside", "taken")
        table.add_row(run["run"], *(f"{run[key]:,}" for key in figures))
    tables.console().print(table)
    depths = ", ".join(f"{depth}: {count:,}" for depth, count in report["pairs_by_depth"].items())
    heads = ", ".join(f"{head} {count:,}" for head, count in report["tactics"].items())
    theorems = {f"theorems {key.replace('_', ' ')}": n for key, n in report["theorems"].items()}
    facts = {
        **theorems,
        "needless steps dropped": report["needless_steps"],
        "pairs there already": report["duplicate_pairs"],
        "pairs": report["pairs"],
        "pairs by depth": depths,
        "tactics": heads,
    }
    tables.print_facts(str(out), facts)
