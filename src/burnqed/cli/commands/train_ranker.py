"""`burn-qed train ranker`: which lemmas a state needs, and in which order to try things."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import compose, sets, tables
from burnqed.cli.watch import Watch
from burnqed.core.errors import InputError
from burnqed.core.runs import read_manifest
from burnqed.policy.models.strict import need_libraries


def ranker_command(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="RUN", help="A run of search or eval; repeatable.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="The training's directory.")],
    without: sets.WithoutOption = None,
    val_share: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Of the theorems, not learnt from: these choose.")
    ] = 0.1,
    epochs: Annotated[int, typer.Option(min=1, help="Times through the decisions, at most.")] = 40,
    lemma_epochs: Annotated[
        int, typer.Option(min=1, help="Times through the lemmas that were used.")
    ] = 20,
    seed: Annotated[int, typer.Option(help="Same seed, same training.")] = 0,
    workers: compose.WorkersOption = None,
    toolchain: compose.ToolchainOption = None,
    project: compose.ProjectOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Train a ranker: which lemmas of the library a state needs, and what to try there first.

    It proposes what the portfolio's rules propose, and what can be done with lemmas that look as if
    they were needed: those that share words with the state, and those whose words went together with
    the state's in proofs before. The order in which it is tried is learnt from the states of judged
    proofs, where it is known what worked and what did not. Tables of numbers, a few megabytes: it needs
    no GPU, neither to learn nor to be asked.

    OUT gets best/ (the ranker, for --model) and result.json: how often a lemma that was needed is among
    the first found, and how often what worked is tried first, on theorems that were not learnt from,
    before and after. All of it is there at the end, or nothing.

    Example:

        burn-qed search --theorems train.json --policy ranked --nodes 1 --out runs/taught

        burn-qed train ranker --data runs/taught --without core-300 --out rankers/first

        burn-qed eval core-300 --model rankers/first/best --out runs/ranked

    Exit codes: 0 trained, 1 there is not enough to learn from, 2 the data or an option is wrong, 3 a
    package or Lean failed, 130 or 143 stopped by a signal.
    """
    sets.check_out(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is there already, and not empty", hint="give another --out")
    need_libraries()
    from burnqed.training import order, retrieval
    from burnqed.training.ranker import Job, train_ranker

    held = tuple(sets.chosen(one, None, None) for one in without or ())
    modules = _modules(data)
    found, spec = compose.lean(toolchain, project, modules)
    library = compose.library(found, spec, modules, project, workers)
    job = Job(
        data=tuple(data),
        without=held,
        val_share=val_share,
        retrieval=retrieval.Effort(epochs=lemma_epochs, seed=seed),
        order=order.Effort(epochs=epochs, seed=seed),
    )
    with Watch[Any](lambda told: "", shown=not as_json) as watch:
        result = train_ranker(job, library, out, watch)
    if result is None:
        raise typer.Exit(128 + (watch.stopping.signal or signal.SIGTERM))
    _print(result, out, as_json)


def _modules(runs: list[Path]) -> list[str]:
    """What Lean had loaded when these runs were made: all of it together."""
    found: dict[str, None] = {}
    for run in runs:
        found |= dict.fromkeys(read_manifest(run).get("modules", ()))
    return list(found) or ["Init"]


def _print(result: dict[str, Any], out: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    figures = {key: value for key, value in result.items() if not isinstance(value, dict)}
    tables.print_facts(f"trained: {out / 'best'}", {**result["data"], **figures})
