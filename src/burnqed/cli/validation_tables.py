"""Recorded proofs that were tried on this Lean, as tables: validated, migrated, extracted again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from burnqed.cli import tables

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


def print_validated(told: Mapping[str, Any], out: Path) -> None:
    """Print what a sample of steps is good for here, and what is wrong with the rest."""
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


def print_validated_whole(told: Mapping[str, Any], out: Path) -> None:
    """Print how many whole proofs the judge accepts, and why not the others."""
    facts = {
        "whole proofs": told["there"],
        "tried": told["tried"],
        "accepted by the judge": told["accepted"],
        "without a proof": told["without_a_proof"] or None,
        "Lean failed": told["errors"] or None,
    }
    tables.print_facts(told["given"], facts)
    if told["causes"]:
        tables.console().print(_causes(told, "what is wrong", "because"))
    rate = "" if told["accepted_rate"] is None else f" ({told['accepted_rate']:.1%} accepted)"
    typer.echo(f"{told['verdict']}: {_WHOLE[told['verdict']]}{rate}")
    typer.echo(f"{out / 'report.json'} has it all")


def print_migrated(told: Mapping[str, Any], out: Path, target: float, reached: bool) -> None:
    """Print how many proofs survive, what the rules did, and why the others failed."""
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
        screen.print(_causes(told, "failed because", "Lean says"))
    said = "reached" if reached else "not reached"
    typer.echo(
        f"the target is {said}; {out / 'proofs.jsonl'} has the proofs, {out / 'report.json'} the rest"
    )


def print_extracted(told: Mapping[str, Any], out: Path) -> None:
    """Print what was kept of a set of steps, and what was dropped."""
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
    typer.echo(f"{out / 'steps.jsonl'} has the steps, {out / 'report.json'} the rest")


def _causes(told: Mapping[str, Any], what: str, because: str) -> Table:
    """A line for each cause, with one proof that it stopped."""
    table = tables.folding(what, "proofs", "such as", because)
    for cause, number in sorted(told["causes"].items(), key=lambda one: -one[1]):
        shown = [one for one in told["failures"] if (one["cause"] or "error") == cause]
        example = shown[0] if shown else {"theorem": "", "reason": ""}
        said = str(example["reason"]).split("\n")[0][:200]
        table.add_row(cause, str(number), str(example["theorem"]), said)
    return table
