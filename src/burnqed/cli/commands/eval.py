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
from burnqed.cli.options import ClusterOption, JsonOption, OutOption, ResumeOption, configured
from burnqed.cli.watch import Watch
from burnqed.cluster.named import cluster_named
from burnqed.evaluation.compare import compare
from burnqed.prover.config import EvalConfig
from burnqed.prover.evaluating import Ablated, Evaluated, Stopped, evaluate
from burnqed.prover.sites import LOCAL
from burnqed.trajectories.summary import summarize


@configured(EvalConfig)
def eval_command(
    theorems: sets.SetArgument,
    out: OutOption,
    config: EvalConfig,
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="An earlier evaluation to compare with.")
    ] = None,
    cluster: ClusterOption = LOCAL,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Evaluate the prover on a benchmark: how many theorems it proves within each budget.

    Each theorem is proved (the judge accepted the proof), exhausted (a budget ran out) or an error. All
    three count in the denominator. A budget is a number of nodes, states at which tactics are tried,
    and not seconds: so the same seed gives the same result. One search with the largest budget gives
    exact results for the smaller ones.

    DIR gets result.json, summary.json and the trajectories of each attempt. `burn-qed report DIR` makes
    a page with plots, and `burn-qed compare DIR OTHER` tests whether two results differ. Ctrl-C saves.
    --resume continues, and may add attempts at the same --temperature.

    With --ablate, DIR/with-value and DIR/without-value are two evaluations that differ only in --value.
    DIR/ablation.json lists the theorems that only one of them proves, with the p-value of the
    difference.

    Examples:

        burn-qed eval qed-core --budgets 10,30,100 --pass-n 2 --out runs/first

        burn-qed eval core-300 --policy mix --model models/nano --out runs/mix

        burn-qed eval library.json --leak-rule self --out runs/library --against runs/earlier

        burn-qed eval core-300 --budgets 10,30 --value models/value --ablate --out runs/ablation

        burn-qed eval core-300 --cluster ray --out runs/on-all-nodes

    Exit codes: 0 every theorem was searched (proved or not), 2 some statements are wrong, 3 some could
    not be searched because Lean failed, 130 or 143 stopped by a signal.
    """
    watch = Watch(shown=not as_json)
    done = evaluate(
        theorems, out, config, watch, resume=resume, against=against, cluster=cluster_named(cluster)
    )
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


def _print_so_far(stopped: Stopped, received: signal.Signals, as_json: bool) -> None:
    """Theorems that were not reached are neither errors nor unproved: they are not counted."""
    summary = summarize(stopped.records)
    done, total = len(stopped.records), stopped.asked
    if as_json:
        content = {"stopped": received.name, "searches_done": done, "searches_asked": total}
        so_far = json.loads(summary.to_json(lines=False))
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
