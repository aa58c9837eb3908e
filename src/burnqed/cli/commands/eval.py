"""`burn-qed eval`: how good a prover is on a benchmark."""

from __future__ import annotations

import dataclasses
import json
import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from burnqed.cli import result_tables, sets, stopping, tables
from burnqed.cli.comparison_tables import print_comparison
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured
from burnqed.evaluation.compare import compare
from burnqed.prover.config import EvalConfig
from burnqed.prover.evaluating import Ablated, Evaluated, Stopped, evaluate
from burnqed.trajectories.summary import summarize


@configured(EvalConfig)
def eval_command(
    theorems: sets.SetArgument,
    out: OutOption,
    config: EvalConfig,
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="An earlier result, to print the difference to.")
    ] = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Evaluate the prover on a benchmark: how many theorems it proves, at which budget.

    Each theorem ends as proved (the judge accepted the proof), exhausted (which budget) or error
    (which), and all three count in every denominator. Smaller budgets are read off the search with the
    largest, which is exact. Budgets are nodes and not seconds, so the same seed gives the same result.

    DIR gets result.json, summary.json and, for each attempt, the trajectories. `burn-qed report DIR`
    draws it, `burn-qed compare DIR OTHER` says whether two differ. Ctrl-C saves; --resume goes on, also
    with more attempts of the same --temperature.

    With --ablate, DIR/with-value and DIR/without-value are two evaluations that differ in nothing but
    --value, and DIR/ablation.json says which theorems only one of them proves, and how likely it is
    that chance did it.

    Examples:

        burn-qed eval qed-core --budgets 10,30,100 --pass-n 2 --out runs/first

        burn-qed eval core-300 --policy mix --model models/nano --out runs/mix

        burn-qed eval library.json --leak-rule self --out runs/library --against runs/earlier

        burn-qed eval core-300 --budgets 10,30 --value models/value --ablate --out runs/ablation

    Exit codes: 0 every theorem was searched (proved or not), 2 some statements are wrong, 3 some could
    not be searched because Lean failed, 130 or 143 stopped by a signal.
    """
    watch = sets.SetWatch(shown=not as_json)
    done = evaluate(theorems, out, config, watch, resume=resume, against=against)
    match done:
        case Stopped():
            _print_so_far(done, watch.signal, as_json)
            raise stopping.stopped(watch.signal)
        case Ablated() if as_json:
            typer.echo(done.comparison.to_json())
        case Ablated():
            print_comparison(done.comparison)
        case Evaluated() if as_json:
            typer.echo(json.dumps(_json(done), ensure_ascii=False))
        case Evaluated():
            result_tables.print_result(done.result, done.earlier)
    raise sets.end(set(done.errors))


def _print_so_far(stopped: Stopped, came: signal.Signals, as_json: bool) -> None:
    """What was not reached is neither an error nor unproved: it is not counted."""
    summary = summarize(stopped.records)
    done, total = len(stopped.records), stopped.asked
    if as_json:
        content = {"stopped": came.name, "searches_done": done, "searches_asked": total}
        so_far = json.loads(tables.summary_json(summary))
        typer.echo(json.dumps({**content, "so_far": so_far}, ensure_ascii=False))
    else:
        tables.print_summary(summary, as_json=False)
        typer.echo(f"{done} of {total} searches were done; there is no result yet", err=True)


def _json(done: Evaluated) -> dict[str, Any]:
    content = dataclasses.asdict(done.result)
    if done.earlier is not None:
        comparison = compare([("the earlier", done.earlier), ("this", done.result)])
        content["against"] = json.loads(comparison.to_json())
    return content
