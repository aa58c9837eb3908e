"""`burn-qed negatives`: siblings of the states of a run's proofs, searched until a budget runs out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import sets, stopping, tables
from burnqed.cli.options import ClusterOption, JsonOption, OutOption, ResumeOption, configured
from burnqed.cli.watch import Watch
from burnqed.cluster.named import cluster_named
from burnqed.prover.config import NegativesConfig
from burnqed.prover.negatives import negatives
from burnqed.prover.sites import LOCAL


@configured(NegativesConfig)
def negatives_command(
    theorems: sets.SetArgument,
    runs: Annotated[
        list[Path],
        typer.Option(
            "--data",
            metavar="RUN",
            help="A directory of `burn-qed search` on SET that has proofs; repeatable.",
        ),
    ],
    out: OutOption,
    config: NegativesConfig,
    cluster: ClusterOption = LOCAL,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find hard negatives for a value model: states near a proof from which no proof was found.

    At each state of an accepted proof, the policy's tactics are tried again. A tactic that leaves the
    proof leads to a sibling state, and a search of its own decides about that: a negative if its budget
    runs out, a positive if the judge accepts its proof. Walks first take some random steps away from
    the proof. States that were not searched stay unknown.

    DIR/trajectories gets Parquet rows like those of `burn-qed search`, with the origins probe and walk.
    `burn-qed train value --data RUN --data DIR` learns from both. Ctrl-C saves, --resume continues.

    Examples:

        burn-qed negatives library.json --data runs/teacher --out runs/beside

        burn-qed negatives library.json --data runs/teacher --out runs/beside --cluster ray

    Exit codes: 0 done, 1 no proof is long enough, 2 bad input, 3 Lean failed or a proof no longer
    replays, 130 or 143 stopped by a signal.
    """
    watch = Watch(shown=not as_json)
    looked = negatives(
        runs, theorems, out, config, watch, resume=resume, cluster=cluster_named(cluster)
    )
    if as_json:
        typer.echo(json.dumps(looked.statistics))
    else:
        tables.print_facts("to learn from", looked.statistics)
    if not looked.whole:
        raise stopping.stopped(watch.signal)
    raise sets.end(set(looked.errors))
