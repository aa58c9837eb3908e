"""`burn-qed search`: a set of theorems, every attempt kept."""

from __future__ import annotations

from burnqed.cli import sets, stopping, tables
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured
from burnqed.core.runs import SUMMARY, publish
from burnqed.prover.config import SearchConfig
from burnqed.prover.searching import search
from burnqed.trajectories.schema import TRAJECTORIES


@configured(SearchConfig)
def search_command(
    theorems: sets.SetArgument,
    out: OutOption,
    config: SearchConfig,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search a set of theorems, several at a time, and keep everything that was tried.

    DIR/trajectories gets Parquet files with a row per tried step, saved every 50 theorems, every minute
    and when the run is stopped (Ctrl-C, SIGTERM); --resume goes on where it was stopped or killed, and
    searches no theorem twice but those that Lean failed. `burn-qed summary DIR` prints what is there.

    Example:

        burn-qed search qed-core --nodes 30 --out runs/first

    Exit codes: 0 every theorem was searched (proved or not), 2 some statements are wrong, 3 some could
    not be searched because Lean failed, 130 or 143 stopped by a signal.
    """
    watch = sets.SetWatch(shown=not as_json)
    whole = search(theorems, out, config, watch, resume=resume)
    summary = tables.summed_up(out / TRAJECTORIES)
    tables.print_summary(summary, as_json)
    if not whole:
        raise stopping.stopped(watch.signal)
    publish(out / SUMMARY, tables.summary_json(summary) + "\n")
    tables.refuse_damage(summary)
    raise sets.end(set(summary.errors))
