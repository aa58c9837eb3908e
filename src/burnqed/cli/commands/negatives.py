"""`burn-qed negatives`: what lies beside the proofs of a run, searched until it is given up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import sets, stopping, tables
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured
from burnqed.core.runs import SUMMARY, publish
from burnqed.prover.config import NegativesConfig
from burnqed.prover.negatives import negatives
from burnqed.trajectories.schema import TRAJECTORIES


@configured(NegativesConfig)
def negatives_command(
    theorems: sets.SetArgument,
    runs: Annotated[
        list[Path],
        typer.Option(
            "--data", metavar="RUN", help="A run of `burn-qed search` on SET, with proofs; repeatable."
        ),
    ],
    out: OutOption,
    config: NegativesConfig,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search beside the proofs of a run, for states that a value model learns to tell from them.

    At each state of an accepted proof the policy's tactics are tried again. Where one leads elsewhere
    than the proof, the state it leads to gets a search of its own: if that is spent without a proof,
    the state is a negative; if the judge accepts what it finds, a positive. Walks take some steps at
    random first. What was not searched stays unknown.

    DIR/trajectories gets the same Parquet rows as `burn-qed search` writes, with the origins probe and
    walk; `burn-qed train value --data RUN --data DIR` learns from both. Ctrl-C saves, --resume goes on.

    Example:

        burn-qed negatives library.json --data runs/teacher --out runs/beside

    Exit codes: 0 all proofs were looked at, 1 there is none that is long enough, 2 bad input, 3 some
    could not be because Lean failed or a proof no longer replays, 130 or 143 stopped by a signal.
    """
    from burnqed.trajectories.store import read_records

    watch = sets.SetWatch(shown=not as_json)
    whole = negatives(runs, theorems, out, config, watch, resume=resume)
    records = read_records(out / TRAJECTORIES, on_problem=tables.warn)
    # Where it was stopped before anything was saved, there is nothing beside the proofs yet.
    saved = [out] if any((out / TRAJECTORIES).glob("part-*.parquet")) else []
    statistics = _contrasts([*runs, *saved])
    if as_json:
        typer.echo(json.dumps(statistics))
    else:
        tables.print_facts("to learn from", statistics)
    if not whole:
        raise stopping.stopped(watch.signal)
    publish(out / SUMMARY, json.dumps(statistics) + "\n")
    raise sets.end({r.reason for r in records if r.outcome == "error"})


def _contrasts(runs: list[Path]) -> dict[str, int]:
    """What there now is to learn from."""
    from burnqed.trajectories.store import find_trajectories, iter_rows
    from burnqed.value.groups import contrasts

    return contrasts(*(iter_rows(find_trajectories(run), tables.warn) for run in runs)).statistics
