"""`burn-qed data validate`: does data still say what this Lean says?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured
from burnqed.cli.watch import Watch
from burnqed.prover.data_config import ValidateConfig

_MEANING = {
    "use": "it replays and prints as recorded: use it",
    "re-extract": "it replays, and this Lean prints states otherwise: extract the states again",
    "re-trace": "too little of it replays: trace its sources with this Lean, or migrate them",
    "none": "nothing of it could be tried",
}
_WHOLE = {
    "use": "the judge accepts it: use it",
    "migrate": "too little of it is accepted: `burn-qed data migrate` changes by rules what fails",
    "none": "nothing of it could be tried",
}


@configured(ValidateConfig)
def validate_command(
    given: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Steps or whole proofs: a source that was fetched, SOURCE=PATH, a trace, or a file or "
            "folder whose columns say what it is.",
        ),
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
        _print(told, out)
    else:
        _print_whole(told, out)
    if told["errors"]:
        raise typer.Exit(3)
    raise typer.Exit({"use": 0, "none": 2}.get(told["verdict"], 1))


def _print(told: Mapping[str, Any], out: Path) -> None:
    screen = tables.console()
    table = tables.folding("steps of the proof", "theorems", "tried", "replay", "print as recorded")
    for name, one in told["strata"].items():
        if one["there"]:
            table.add_row(name, *(f"{one[key]:,}" for key in ("there", "tried", "replay", "equal")))
    there = sum(one["there"] for one in told["strata"].values())
    table.add_row("all", f"{there:,}", *(f"{told[key]:,}" for key in ("tried", "replay", "equal")))
    screen.print(table)
    wrong = {name: one for name, one in told["categories"].items() if one["theorems"]}
    if wrong:
        table = tables.folding("what is wrong", "theorems", "such as", "because")
        for name, one in sorted(wrong.items(), key=lambda item: -item[1]["theorems"]):
            example = one["examples"][0]
            table.add_row(name, str(one["theorems"]), example["theorem"], example["detail"])
        screen.print(table)
    if told["judged"]:
        asked = sum(told["judged"].values())
        typer.echo(f"{told['judged'].get('accepted', 0)} of {asked} judged proofs are accepted")
    for why, number in told["no_statement"].items():
        typer.echo(f"{number} could not be started: {why}")
    for why, number in told["not_drawn"].items():
        typer.echo(f"{number} were not drawn from: {why}")
    if told["absent"]:
        typer.echo(f"not loaded here: {', '.join(told['absent'])}")
    for error in told["errors"][:5]:
        tables.warn(f"Lean failed on {error['theorem']}: {error['why']}")
    rates = (
        ""
        if told["replay_rate"] is None
        else f" ({told['replay_rate']:.1%} replay, {told['equal_rate']:.1%} print as recorded)"
    )
    typer.echo(f"{told['verdict']}: {_MEANING[told['verdict']]}{rates}")
    typer.echo(f"{out / 'report.json'} has it all")


def _print_whole(told: Mapping[str, Any], out: Path) -> None:
    facts = {
        "whole proofs": told["there"],
        "tried": told["tried"],
        "accepted by the judge": told["accepted"],
        "without a proof": told["without_a_proof"] or None,
        "Lean failed": told["errors"] or None,
    }
    tables.print_facts(told["given"], facts)
    if told["causes"]:
        table = tables.folding("what is wrong", "proofs", "such as", "because")
        for cause, number in sorted(told["causes"].items(), key=lambda one: -one[1]):
            shown = [one for one in told["failures"] if (one["cause"] or "error") == cause]
            example = shown[0] if shown else {"theorem": "", "reason": ""}
            said = str(example["reason"]).split("\n")[0][:200]
            table.add_row(cause, str(number), str(example["theorem"]), said)
        tables.console().print(table)
    rate = "" if told["accepted_rate"] is None else f" ({told['accepted_rate']:.1%} accepted)"
    typer.echo(f"{told['verdict']}: {_WHOLE[told['verdict']]}{rate}")
    typer.echo(f"{out / 'report.json'} has it all")
