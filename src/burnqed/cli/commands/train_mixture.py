"""`burn-qed train mixture`: how far to follow a model, and how far rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.watch import Watch
from burnqed.prover.config import MixtureConfig
from burnqed.prover.mixing import train_mixture


@configured(MixtureConfig, without=("seconds", "temperature", "depth", "heartbeats", "seed"))
def mixture_command(
    data: Annotated[
        list[Path], typer.Option("--data", help="A run of search with --policy mix; repeatable.")
    ],
    config: MixtureConfig,
    as_json: JsonOption = False,
) -> None:
    """Learn how far --policy mix follows a model, and how far rules, at each kind of goal.

    At each state of a judged proof both are asked once more, and the share is found that makes what
    worked likeliest: for equations, for what begins with ∀, and so on. It is written beside the model's
    weights as mixture.json, and --policy mix takes it from there. Take runs of the mixture itself: what
    only one of the two was asked for says nothing about the other.

    Example:

        burn-qed search train.json --policy mix --model models/a --ranker core --out runs/mixed

        burn-qed train mixture --data runs/mixed --model models/a --ranker core --without core-300

    Exit codes: 0 learnt, 2 the data or an option is wrong, 3 a package or Lean failed, 130 or 143
    stopped by a signal.
    """
    with Watch(shown=not as_json) as watch:
        result = train_mixture(config, data, watch)
    if result is None:
        raise typer.Exit(128 + watch.signal)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    own = {key: value for key, value in result.items() if key not in ("data", "kinds", "goals")}
    shares = {
        f"share at {kind}": f"{share:.2f} ({result['goals'][kind]} goals)"
        for kind, share in result["kinds"].items()
    }
    tables.print_facts("the model's share", {**result["data"], **own, **shares})
